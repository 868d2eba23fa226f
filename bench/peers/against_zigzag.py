#!/usr/bin/env python3
"""ZigZag (PyPI zigzag-dse) and monet on the same searches, one thread each, in one run.

    build/peers/bin/python bench/peers/against_zigzag.py [--monet build/release/monet] [--runs 3] [--layers 200]

Two measurements, as CPU seconds of the process:
  evaluation  orderings allocated and costed per second. ZigZag: one search of ResNet-18's second convolution on a
              TPU-like core, 720 orderings. monet: the same search over many layers that differ in their image size
              (each has 720 orderings too), so that neither its start nor a cache of results is what is measured.
  network     ResNet-18, all 31 layers searched on that core (lpf_limit 6, criterion latency), from files to totals.
Prints one JSON object. Without --monet its half is null.
"""
import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

CONV = "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]"
ADD = "O[b][g][oy][ox]=W[b][g][oy][ox]+I[b][g][oy][ox]"
POOL = "O[b][g][oy][ox]+=W[fx][fy]*I[b][g][iy][ix]"
LINKS = {"O": "O", "W": "I2", "I": "I1"}
PRECISION = {"W": 8, "I": 8, "O": 16, "O_final": 8}


# ---- The facts: ZigZag's example core tpu_like and its hand-written ResNet-18 ----


def port(kind, number, narrowest, widest, uses):
    prefix = {"read": "r", "write": "w", "read_write": "rw"}[kind]
    return {
        "name": f"{prefix}_port_{number}",
        "type": kind,
        "bandwidth_min": narrowest,
        "bandwidth_max": widest,
        "allocation": uses,
    }


def memory(size, read, write, operands, ports, served):
    return {
        "size": size,
        "r_cost": read,
        "w_cost": write,
        "area": 0,
        "latency": 1,
        "operands": operands,
        "ports": ports,
        "served_dimensions": served,
    }


def tpu_like():
    dims = ["D1", "D2"]
    everything = [f"{op}, {way}" for op in ("I1", "I2", "O") for way in ("fh", "tl")] + ["O, fl", "O, th"]
    return {
        "name": "tpu_like",
        "operational_array": {"unit_energy": 0.04, "unit_area": 1, "dimensions": dims, "sizes": [32, 32]},
        "memories": {
            "rf_128B": memory(
                1024,
                0.095,
                0.095,
                ["I2"],
                [port("read", 1, 8, 8, ["I2, tl"]), port("write", 1, 8, 8, ["I2, fh"])],
                [],
            ),
            "rf_2B": memory(
                16,
                0.021,
                0.021,
                ["O"],
                [
                    port("read", 1, 16, 16, ["O, tl"]),
                    port("read", 2, 16, 16, ["O, th"]),
                    port("write", 1, 16, 16, ["O, fh"]),
                    port("write", 2, 16, 16, ["O, fl"]),
                ],
                [],
            ),
            "sram_2MB": memory(
                1 << 24,
                416.16,
                378.4,
                ["I1", "O"],
                [
                    port("read", 1, 64, 2048, ["I1, tl", "O, tl", "O, th"]),
                    port("write", 1, 64, 2048, ["I1, fh", "O, fh", "O, fl"]),
                ],
                dims,
            ),
            "dram": memory(
                10**10, 700, 750, ["I1", "I2", "O"], [port("read_write", 1, 64, 64, everything)], dims
            ),
        },
    }


def mapping():
    across = {"spatial_mapping": {"D1": ["G, 32"], "D2": ["C, 1"]}, "memory_operand_links": LINKS}
    ordering = [["OX", 112], ["OY", 112], ["FX", 7], ["FY", 7], ["K", 2]]
    return [
        {"name": "default", "spatial_mapping": {"D1": ["K, 32"], "D2": ["C, 32"]}, "memory_operand_links": LINKS},
        {"name": "Add"} | across,
        {"name": "Pooling"} | across,
        {
            "name": "first",
            "spatial_mapping": {"D1": ["C, 32"], "D2": ["K, 32"]},
            "temporal_ordering": ordering,
            "memory_operand_links": LINKS,
        },
    ]


def convolution(number, source, k, c, height, width, kernel, stride, operator="Conv"):
    return {
        "id": number,
        "operator_type": operator,
        "equation": CONV,
        "dimension_relations": [f"ix={stride}*ox+1*fx", f"iy={stride}*oy+1*fy"],
        "loop_dims": ["B", "K", "C", "OY", "OX", "FY", "FX"],
        "loop_sizes": [1, k, c, height, width, kernel, kernel],
        "operand_precision": PRECISION,
        "operand_source": {"I": source, "W": number},
    }


def pooling(number, source, channels, size, kernel, stride):
    return {
        "id": number,
        "operator_type": "Pooling",
        "equation": POOL,
        "dimension_relations": [f"ix={stride}*ox+1*fx", f"iy={stride}*oy+1*fy"],
        "loop_dims": ["B", "G", "OY", "OX", "FX", "FY"],
        "loop_sizes": [1, channels, size, size, kernel, kernel],
        "operand_precision": PRECISION | {"W": 0},
        "operand_source": {"I": source, "W": number},
    }


def addition(number, first, second, channels, size):
    return {
        "id": number,
        "operator_type": "Add",
        "equation": ADD,
        "dimension_relations": [],
        "loop_dims": ["B", "G", "OY", "OX"],
        "loop_sizes": [1, channels, size, size],
        "operand_precision": PRECISION,
        "operand_source": {"W": first, "I": second},
    }


def resnet18():
    layers = [convolution(0, 0, 64, 3, 112, 112, 7, 2) | {"name": "first"}, pooling(1, 0, 64, 56, 3, 2)]
    last = 1
    for stage, (channels, size) in enumerate([(64, 56), (128, 28), (256, 14), (512, 7)]):
        for block in range(2):
            shrinks = stage > 0 and block == 0
            number, shortcut = len(layers), last
            before = channels // 2 if shrinks else channels
            layers.append(convolution(number, last, channels, before, size, size, 3, 2 if shrinks else 1))
            layers.append(convolution(number + 1, number, channels, channels, size, size, 3, 1))
            if shrinks:
                # The file gives the projection a 3x3 kernel.
                shortcut = number + 2
                layers.append(convolution(shortcut, last, channels, before, size, size, 3, 2, "Conv_downsample"))
            layers.append(addition(len(layers), shortcut, number + 1, channels, size))
            last = layers[-1]["id"]
    layers.append(pooling(29, last, 512, 1, 7, 1))
    layers.append(convolution(30, 29, 1000, 512, 1, 1, 1, 1))
    return layers


def variants(count):
    """Convolutions of different image sizes with one temporal factor per dimension: 720 orderings each."""
    sizes = [(height, width) for height in range(33, 70) for width in range(33, 70)]
    return [convolution(i, i, 64, 64, *sizes[i], 3, 1) | {"name": f"conv{i}"} for i in range(count)]


def write(folder, name, data):
    path = Path(folder) / name
    path.write_text(json.dumps(data))  # JSON is YAML
    return str(path)


# ---- ZigZag ----


def zigzag_evaluation(runs):
    """The figures, and the search as a case of the golden format."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "oracle"))
    import zigzag_runner

    inputs = {
        "accelerator": "tpu_like",
        "layer": convolution(0, 0, 64, 64, 56, 56, 3, 1),
        "memory_operand_links": LINKS,
        "spatial_mapping_user": {"D1": ["K, 32"], "D2": ["C, 32"]},
        "spatial_mapping_hint": None,
        "temporal_ordering_user_inner_to_outer": None,
        "search": {
            "criterion": "latency",
            "lpf_limit": 6,
            "mapping_type": "uneven",
            "nb_spatial_mappings": 3,
            "mixed_spatial": False,
        },
    }
    best = None
    for _ in range(runs):
        accelerator = zigzag_runner.build_accelerator(tpu_like())
        start = time.process_time()
        result = zigzag_runner.run_case(accelerator, inputs)
        seconds = time.process_time() - start
        best = seconds if best is None else min(best, seconds)
    orderings = result["run"]["evaluated_mappings"]
    figures = {
        "orderings": orderings,
        "cpu_s": round(best, 4),
        "per_second": round(orderings / best, 2),
        "energy_pj": result["outputs"]["energy_total_pJ"],
        "latency_cycles": result["outputs"]["latency_total2"],
    }
    return figures, {"id": "search/tpu_like/conv2", "inputs": inputs} | result


def zigzag_network(folder):
    from zigzag.api import get_hardware_performance_zigzag

    logging.disable(logging.CRITICAL)
    start = time.process_time()
    energy, latency, _ = get_hardware_performance_zigzag(
        write(folder, "resnet18.yaml", resnet18()),
        write(folder, "tpu_like.yaml", tpu_like()),
        write(folder, "mapping.yaml", mapping()),
        opt="latency",
        lpf_limit=6,
        dump_folder=str(Path(folder) / "out"),
        pickle_filename=str(Path(folder) / "out" / "list.pickle"),
        loma_show_progress_bar=False,
    )
    seconds = time.process_time() - start
    return {"layers": 31, "cpu_s": round(seconds, 3), "energy_pj": energy, "latency_cycles": latency}


# ---- monet ----


def call(monet, folder, *words):
    """(CPU seconds of the process, its JSON)."""
    command = [str(Path(monet).resolve()), *words, "--json"]
    with open(Path(folder) / "monet.json", "w+") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, json.load(out)


def monet_map(monet, folder, workload):
    """One search of every layer of a workload file, as ZigZag does it."""
    core = write(folder, "tpu_like.yaml", tpu_like())
    entries = write(folder, "mapping.yaml", mapping())
    options = "--criterion latency --lpf 6 --quirks zigzag --threads 1".split()
    return call(monet, folder, "map", workload, "--on", core, "--mapping", entries, *options)


def monet_half(monet, folder, case, layers, runs):
    cases = write(folder, "cases.json", {"cases": [case]})
    cores = write(folder, "accelerators.json", {"accelerators": {"tpu_like": tpu_like()}})
    _, verdict = call(monet, folder, "validate", "zigzag", "--cases", cases, "--accelerators", cores)
    one = write(folder, "one.yaml", variants(1))
    many = write(folder, "many.yaml", variants(layers))
    start = min(monet_map(monet, folder, one)[0] for _ in range(runs))
    all_of_them = min(monet_map(monet, folder, many)[0] for _ in range(runs))
    seconds = max(all_of_them - start, 1e-9)
    orderings = 720 * (layers - 1)
    network, answer = min(
        (monet_map(monet, folder, write(folder, "resnet18.yaml", resnet18())) for _ in range(runs)), key=lambda r: r[0]
    )
    return {
        "evaluation": {
            "orderings": orderings,
            "cpu_s": round(seconds, 6),
            "per_second": round(orderings / seconds, 2),
            "cpu_s_of_one_layer_with_start": round(start, 6),
        },
        "network": {"layers": 31, "cpu_s": round(network, 6), "answer": answer},
        "same_search": verdict,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--monet", help="the binary to compare with")
    parser.add_argument("--runs", type=int, default=3, help="the fastest of this many runs counts, on both sides")
    parser.add_argument("--layers", type=int, default=200, help="layers in monet's evaluation run")
    parser.add_argument("--skip-network", action="store_true", help="leave out ZigZag's ResNet-18 (two minutes)")
    parser.add_argument("--brief", action="store_true", help="figures only, without monet's whole answers")
    arguments = parser.parse_args()
    import zigzag

    figures, case = zigzag_evaluation(arguments.runs)
    result = {"zigzag": {"version": zigzag.__version__, "evaluation": figures}, "monet": None}
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.skip_network:
            result["zigzag"]["network"] = zigzag_network(folder)
        if arguments.monet:
            result["monet"] = monet_half(arguments.monet, folder, case, arguments.layers, arguments.runs)
            ours, theirs = result["monet"], result["zigzag"]
            result["times_faster"] = {
                "evaluation": round(ours["evaluation"]["per_second"] / theirs["evaluation"]["per_second"], 1)
            }
            if "network" in theirs:
                result["times_faster"]["network"] = round(theirs["network"]["cpu_s"] / ours["network"]["cpu_s"], 1)
    if arguments.brief and result["monet"]:
        result["monet"].pop("same_search", None)
        result["monet"].get("network", {}).pop("answer", None)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
