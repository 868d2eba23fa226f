"""Runs exported ONNX files in onnxruntime and compares with what MONET's interpreter computed.

    MONET_EXPORT_DIR=<folder> unit_onnx --gtest_filter=ExportNumeric.EveryCaseRunsAndExports
    python export_vs_interpreter.py <folder> [--all]

Each case is a folder: model.onnx, tolerance.txt, input_<i>.f64 and output_<i>.f64 (raw doubles, in the order of the
file's inputs and outputs). An error is the largest difference over the largest expected magnitude. Every case runs
twice: what an iteration leaves behind (a random generator's state) must not show. Every file also passes the full check
of the onnx package and uses no operator outside the standard domain. Exit code 1 if anything fails.
"""

import argparse
import pathlib
import sys

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError:
    print("skipped: onnxruntime is not installed")
    sys.exit(0)


def deviation(found, expected):
    """Largest difference relative to the largest finite expected magnitude; infinite where they differ in kind."""
    found = numpy.asarray(found, dtype=numpy.float64).reshape(-1)
    if found.shape != expected.shape:
        return numpy.inf
    finite = numpy.isfinite(expected)
    if not numpy.array_equal(finite, numpy.isfinite(found)):
        return numpy.inf
    rest, expected_rest = found[~finite], expected[~finite]
    if not numpy.array_equal(rest, expected_rest, equal_nan=True):
        return numpy.inf
    if not finite.any():
        return 0.0
    difference = numpy.abs(found[finite] - expected[finite]).max()
    scale = numpy.abs(expected[finite]).max()
    # Where all is zero (differences that must vanish), single-precision rounding of numbers around one is allowed.
    return difference / scale if scale > 0 else difference * 100


def check(case):
    """The deviation of one case; raises what onnx or onnxruntime find wrong with it."""
    path = case / "model.onnx"
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    domains = {node.domain for node in model.graph.node} | {opset.domain for opset in model.opset_import}
    if domains != {""}:
        raise ValueError(f"operators outside the standard domain: {domains}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds, stored = {}, {tensor.name for tensor in model.graph.initializer}
    for i, value in enumerate(model.graph.input):
        if value.name in stored:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        numbers = numpy.fromfile(case / f"input_{i}.f64", dtype=numpy.float64).reshape(shape)
        feeds[value.name] = numbers.astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    names = [value.name for value in model.graph.output]
    worst = 0.0
    for _ in range(2):
        for i, found in enumerate(session.run(names, feeds)):
            shape = [dim.dim_value for dim in model.graph.output[i].type.tensor_type.shape.dim]
            if list(found.shape) != shape:
                raise ValueError(f"output '{names[i]}' has shape {list(found.shape)}, not {shape}")
            expected = numpy.fromfile(case / f"output_{i}.f64", dtype=numpy.float64)
            error = deviation(found, expected)
            if error > worst:
                worst, check.where = error, names[i]
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="print passing cases too")
    arguments = parser.parse_args()
    cases = sorted(path.parent for path in arguments.folder.glob("*/model.onnx"))
    if not cases:
        print(f"no cases in {arguments.folder}")
        return 1
    failed = 0
    for case in cases:
        tolerance = float((case / "tolerance.txt").read_text())
        check.where = ""
        try:
            error = check(case)
            verdict = "ok" if error <= tolerance else "FAILED"
            note = f"{error:.1e} {check.where}"
        except Exception as fault:  # whatever onnx or onnxruntime objects to is a failure of this case
            verdict, note = "FAILED", " ".join(str(fault).split())[:300]
        failed += verdict != "ok"
        if arguments.all or verdict != "ok":
            print(f"{case.name:40} {verdict:8} {note}")
    print(f"{len(cases) - failed} of {len(cases)} cases agree (onnxruntime {onnxruntime.__version__})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
