"""Imports ONNX files, runs them in MONET's interpreter, and compares with other implementations.

    python import_vs_onnxruntime.py <run_import> [--all] [model.onnx …]

Without files: the operator cases of the onnx package, each with the outputs of ONNX's own reference. A case is run as
it is, and again with its inputs stored in the file where the operator needs to know them (shapes, axes). Cases of
operators MONET only estimates do not count. With files: each against onnxruntime, on random inputs and with symbolic
dimensions set to 2, numbers of the outputs and shapes of everything in between; dropout is taken out. Exit code 1 if
anything differs, 77 if a package is missing.
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError:
    print("skipped: the onnx package is not installed")
    sys.exit(77)

NEWEST_OPSET = 25
# What differs on purpose.
KNOWN = {
    # The operator draws numbers: ours are others.
    **{f"test_training_dropout{suffix}": "random" for suffix in ("", "_default", "_mask", "_default_mask")},
    # Running variances are unbiased, as frameworks keep them; ONNX's reference divides by n.
    "test_batchnorm_example_training_mode": "unbiased variance",
    "test_batchnorm_epsilon_training_mode": "unbiased variance",
    # 0 / 0 is not a number.
    "test_l2normalization_axis_0": "division by zero",
}


def run_import(binary, model, feeds, settings=()):
    """Outputs, shapes by tensor name, and the number of estimated nodes; a string says why there are none."""
    stored = {tensor.name for tensor in model.graph.initializer}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        onnx.save(model, path / "model.onnx")
        arguments = [binary, path / "model.onnx", path, *settings]
        for i, (name, values) in enumerate(feeds.items()):
            if name not in stored:
                values.astype(numpy.float64).tofile(path / f"input_{i}")
                arguments.append(f"{name}={path / f'input_{i}'}")
        ran = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
        if ran.returncode not in (0, 2):
            raise RuntimeError(f"exit code {ran.returncode}: {ran.stderr[-300:]}")
        if ran.returncode == 2:
            return ran.stderr
        lines = ran.stdout.splitlines()
        if lines[0] != "fallbacks 0":
            return "estimated"
        shapes = {}
        for line in lines[1:]:
            _, _, shape, name = line.split(" ", 3)
            shapes[name] = [int(extent) for extent in shape[1:-1].split(",") if extent]
        outputs = [numpy.fromfile(path / f"output_{i}.f64") for i in range(len(model.graph.output))]
        return outputs, shapes


def agree(found, expected, tolerance):
    expected = numpy.asarray(expected)
    if found.size != expected.size:
        return False
    expected = expected.astype(numpy.float64).reshape(-1)
    return numpy.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def variants(case):
    """The case with none, all but the first, and all of its inputs stored in the file."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx"):
            opset.version = min(opset.version, NEWEST_OPSET)
    inputs, expected = case.data_sets[0]
    if any(isinstance(value, (list, type(None))) for value in [*inputs, *expected]):
        return  # sequences and optionals
    feeds = {value.name: numpy.asarray(array) for value, array in zip(model.graph.input, inputs)}
    if any(array.dtype.kind not in "fiub" for array in feeds.values()):
        return
    for kept in (len(feeds), 1, 0):
        variant = onnx.ModelProto()
        variant.CopyFrom(model)
        names = list(feeds)[kept:]
        variant.graph.initializer.extend(numpy_helper.from_array(feeds[name], name) for name in names)
        for value in [value for value in variant.graph.input if value.name in names]:
            variant.graph.input.remove(value)
        yield variant, feeds, expected


def check_case(binary, case):
    """One of "ok", "estimated", "refused", "skipped" or "wrong"."""
    verdict = "skipped"
    for model, feeds, expected in variants(case):
        result = run_import(binary, model, feeds)
        if isinstance(result, str):
            verdict = "estimated" if result == "estimated" else "refused"
            continue
        outputs, shapes = result
        for value, found, array in zip(model.graph.output, outputs, expected):
            array = numpy.asarray(array)
            if array.dtype.kind not in "fiub":
                return "skipped"
            if not agree(found, array, 2e-3):  # half precision cases are compared with a double
                return "wrong"
            if shapes.get(value.name, list(array.shape)) != list(array.shape):
                return "wrong"
        return "ok"
    return verdict


def check_cases(binary, show_all):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    count, wrong = collections.Counter(), []
    for case in cases:
        verdict = check_case(binary, case)
        if verdict == "wrong" and case.name in KNOWN:
            verdict = "known"
        count[verdict] += 1
        if verdict == "wrong":
            wrong.append(case.name)
        if show_all:
            print(verdict, case.name)
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items())))
    for name in wrong:
        print("wrong:", name)
    return not wrong and count["ok"] > 500  # so that a runner that refuses everything does not pass


def without_dropout(model):
    ratios = {node.input[1] for node in model.graph.node if node.op_type == "Dropout" and len(node.input) > 1}
    zero = numpy.float32(0)
    for node in model.graph.node:
        if node.op_type == "Constant" and node.output[0] in ratios:
            node.attribute[0].t.CopyFrom(numpy_helper.from_array(zero))
    for tensor in model.graph.initializer:
        if tensor.name in ratios:
            tensor.CopyFrom(numpy_helper.from_array(zero, tensor.name))


def check_file(binary, path):
    import onnxruntime

    model = onnx.load(path)
    without_dropout(model)
    stored = {tensor.name for tensor in model.graph.initializer}
    random = numpy.random.default_rng(1)
    feeds, settings = {}, []
    for value in model.graph.input:
        if value.name in stored:
            continue
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = 2
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        integer = value.type.tensor_type.elem_type == onnx.TensorProto.INT64
        feeds[value.name] = (random.integers(0, 10, shape) if integer else random.standard_normal(shape)).astype(
            numpy.int64 if integer else numpy.float32
        )
    result = run_import(binary, model, feeds, settings)
    if isinstance(result, str):
        return f"did not run: {result.strip()}"
    outputs, shapes = result
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    known = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name in shapes and name not in known and node.op_type != "Constant":
                wide.graph.output.append(onnx.ValueInfoProto(name=name))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(wide.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    for value, array in zip(session.get_outputs(), expected):
        if array.size and shapes.get(value.name, list(array.shape)) != list(array.shape):
            return f"'{value.name}' has shape {shapes[value.name]}, not {list(array.shape)}"
    for value, found, array in zip(model.graph.output, outputs, expected):
        if not agree(found, array, 1e-4):
            return f"output '{value.name}' differs"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_import")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--all", action="store_true", help="name every case")
    arguments = parser.parse_args()
    if not arguments.models:
        return 0 if check_cases(arguments.run_import, arguments.all) else 1
    failed = False
    for path in arguments.models:
        fault = check_file(arguments.run_import, path)
        failed |= bool(fault)
        print(f"{path}: {fault or 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
