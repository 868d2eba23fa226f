"""Random accelerators, layers and mappings in ZigZag's words, for zigzag_cases.py. Everything is drawn from the
random.Random that is passed in; nothing here needs ZigZag."""
import math

SLOTS = ["I1", "I2", "O"]
SIZES = [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 16, 24, 28, 32, 56, 64]

# name, operator type, equation, relations, dimensions in the order of the file
CONV = "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]"
CONV_DIMS = ["B", "K", "C", "OY", "OX", "FY", "FX"]
RELATIONS = ["ix={s}*ox+{d}*fx", "iy={s}*oy+{d}*fy"]
KINDS = {
    "conv": ("Conv", CONV, RELATIONS, CONV_DIMS),
    "conv1d": ("Conv", "O[b][k][ox]+=W[k][c][fx]*I[b][c][ix]", RELATIONS[:1], ["B", "K", "C", "OX", "FX"]),
    "pointwise": ("Conv", "O[b][k][oy][ox]+=W[k][c]*I[b][c][oy][ox]", [], ["B", "K", "C", "OY", "OX"]),
    "depthwise": (
        "Conv",
        "O[b][g][oy][ox]+=W[g][fy][fx]*I[b][g][iy][ix]",
        RELATIONS,
        ["B", "G", "OY", "OX", "FY", "FX"],
    ),
    "grouped": (
        "Conv",
        "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
        RELATIONS,
        ["B", "G", "K", "C", "OY", "OX", "FY", "FX"],
    ),
    "gemm": ("Gemm", "O[b][k]+=W[k][c]*I[b][c]", [], ["B", "K", "C"]),
    "gemm_inputs_first": ("Gemm", "O[d0][d1]+=I[d0][d2]*W[d2][d1]", [], ["D0", "D1", "D2"]),
    "batched_matmul": ("Gemm", "O[b][m][n]+=I[b][m][k]*W[b][k][n]", [], ["B", "M", "N", "K"]),
    "add": ("Add", "O[b][g][oy][ox]=W[b][g][oy][ox]+I[b][g][oy][ox]", [], ["B", "G", "OY", "OX"]),
    "pooling": ("Pooling", "O[b][g][oy][ox]+=W[fx][fy]*I[b][g][iy][ix]", RELATIONS, ["B", "G", "OY", "OX", "FY", "FX"]),
    "weight_gradient": ("Conv", "O[k][c][fy][fx]+=W[b][k][oy][ox]*I[b][c][iy][ix]", RELATIONS, CONV_DIMS),
    "gemm_weight_gradient": ("Gemm", "O[k][c]+=W[b][k]*I[b][c]", [], ["B", "K", "C"]),
    "depthwise_weight_gradient": (
        "Conv",
        "O[g][fy][fx]+=W[b][g][oy][ox]*I[b][g][iy][ix]",
        RELATIONS,
        ["B", "G", "OY", "OX", "FY", "FX"],
    ),
    # The output is where the relation is: each product is added to the input pixel it came from.
    "data_gradient_scatter": ("Conv", "O[b][c][iy][ix]+=W[k][c][fy][fx]*I[b][k][oy][ox]", RELATIONS, CONV_DIMS),
    # The flipped convolution of stride 1 with the channels swapped.
    "data_gradient_gather": (
        "Conv",
        "O[b][c][iy][ix]+=W[k][c][fy][fx]*I[b][k][oy][ox]",
        ["ox={s}*ix+{d}*fx", "oy={s}*iy+{d}*fy"],
        ["B", "C", "K", "IY", "IX", "FY", "FX"],
    ),
    "gemm_data_gradient": ("Gemm", "O[b][c]+=W[k][c]*I[b][k]", [], ["B", "C", "K"]),
}
SMALL_DIMS = {"FY": [1, 2, 3, 3, 5], "FX": [1, 2, 3, 3, 5, 7], "B": [1, 1, 2, 3, 4, 8]}


# ---- Accelerators ----


def ports_of(random_, operands):
    """Ports of one memory: a single read-write port, one per kind, or several."""
    uses = [(op, way) for op in operands for way in (["fh", "tl"] if op != "O" else ["fh", "tl", "fl", "th"])]
    style = random_.choice(["rw", "r+w", "r+w", "r+w+w", "r+r+w", "per operand", "split", "rw+rw"])
    groups = {}
    for op, way in uses:
        kind = "read" if way in ("tl", "th") else "write"
        if style == "rw":
            key = ("read_write", 0)
        elif style == "rw+rw":
            key = ("read_write", random_.randrange(2))
        elif style == "r+w":
            key = (kind, 0)
        elif style == "per operand":
            key = (kind, operands.index(op))
        elif style == "split":
            key = (kind, random_.randrange(2))
        else:
            key = (kind, random_.randrange(2) if style.count(kind[0]) == 2 else 0)
        groups.setdefault(key, []).append(f"{op}, {way}")
    prefix = {"read": "r", "write": "w", "read_write": "rw"}
    ports, numbers = [], {}
    for (kind, _), allocation in sorted(groups.items()):
        widest = random_.choice([8, 16, 32, 32, 64, 64, 128, 128, 256, 512, 1024, 4096])
        narrowest = random_.choice([widest, widest, max(8, widest // 4), min(64, widest), min(widest, 24)])
        numbers[kind] = numbers.get(kind, 0) + 1
        ports.append(
            {
                "name": f"{prefix[kind]}_port_{numbers[kind]}",
                "type": kind,
                "bandwidth_min": narrowest,
                "bandwidth_max": widest,
                "allocation": allocation,
            }
        )
    return ports


def memory_of(random_, rank, operands, served):
    size = {
        0: [8, 16, 32, 48, 64, 128, 256, 512, 1024, 1024, 4096],
        1: [256, 1024, 2048, 8192, 16384, 65536],
        2: [8192, 65536, 262144, 1 << 20],
        3: [1 << 34, 1 << 34, 1 << 34, 1 << 34, 1 << 22, 1 << 18],
    }[rank]
    energy = [0.01, 0.2, 10, 500][rank]
    return {
        "size": random_.choice(size),
        "r_cost": round(energy * random_.uniform(0.5, 3), 4),
        "w_cost": round(energy * random_.uniform(0.5, 3), 4),
        "area": 0,
        "latency": 1,
        "operands": operands,
        "ports": ports_of(random_, operands),
        "served_dimensions": served,
    }


def random_accelerator(random_, name, roomy=False):
    count = random_.choice([1, 2, 2, 2, 3, 4])
    sizes = [1]
    while math.prod(sizes) < 2 or math.prod(sizes) > 600:
        sizes = [random_.choice([1, 2, 3, 4, 5, 6, 8, 12, 14, 16, 32]) for _ in range(count)]
    dims = [f"D{i + 1}" for i in range(count)]
    memories = {}
    below = {op: set() for op in SLOTS}  # array dimensions already served, per operand
    for rank in range(4):
        if rank == 3:
            groups = [SLOTS] if random_.random() < 0.85 else [["I1", "O"], ["I2"]]
        else:
            present = [op for op in SLOTS if random_.random() < [0.7, 0.5, 0.5][rank]]
            random_.shuffle(present)
            groups = []
            for op in present:
                if groups and random_.random() < [0.2, 0.5, 0.7][rank]:
                    random_.choice(groups).append(op)
                else:
                    groups.append([op])
        for index, group in enumerate(groups):
            group = list(group)
            random_.shuffle(group)
            served = set().union(*(below[op] for op in group))
            served |= {dim for dim in dims if random_.random() < [0.35, 0.6, 0.8, 1.0][rank]}
            if random_.random() < 0.03:
                served = {dim for dim in dims if random_.random() < 0.5}
            for op in group:
                below[op] |= served
            memories[f"{['rf', 'buffer', 'sram', 'dram'][rank]}_{index}"] = memory_of(
                random_, rank, group, [dim for dim in dims if dim in served]
            )
    if roomy:
        for memory in memories.values():
            memory["size"] *= 256
    array = {
        "unit_energy": round(random_.uniform(0.01, 1), 3),
        "unit_area": 1,
        "dimensions": dims,
        "sizes": sizes,
    }
    return {"name": name, "memories": memories, "operational_array": array}


def random_imc(random_, name):
    """An in-memory-compute core: cells of weights in an array of word lines (D1) and bit lines (D2)."""
    analog = random_.random() < 0.5
    weight, activation = random_.choice([4, 8]), random_.choice([4, 8])
    serial = random_.choice([bits for bits in (1, 2, 4, 8) if bits <= activation])
    sizes = [random_.choice([8, 16, 32, 64, 128]) for _ in range(2)]
    array = {
        "is_imc": True,
        "imc_type": "analog" if analog else "digital",
        "input_precision": [activation, weight],
        "bit_serial_precision": serial,
        "dimensions": ["D1", "D2"],
        "sizes": sizes,
    }
    if analog:
        array["adc_resolution"] = random_.choice([4, 5, 6, 8])
    port = lambda kind, number, bits, uses: {
        "name": f"{ {'read': 'r', 'write': 'w', 'read_write': 'rw'}[kind] }_port_{number}",
        "type": kind,
        "bandwidth_min": bits,
        "bandwidth_max": bits,
        "allocation": uses,
    }
    memory = lambda size, cost, operands, ports, served: {
        "size": size,
        "r_cost": cost,
        "w_cost": cost,
        "area": 0,
        "latency": 1,
        "operands": operands,
        "ports": ports,
        "served_dimensions": served,
    }
    depth = random_.choice([1] * 9 + [2])  # ZigZag crashes where more than one weight shares a multiplier
    memories = {
        "cells": memory(weight * depth, 0, ["I2"], [port("read_write", 1, weight, ["I2, fh", "I2, tl"])], []),
        "rf_in": memory(
            activation,
            0.021,
            ["I1"],
            [port("read", 1, activation, ["I1, tl"]), port("write", 1, activation, ["I1, fh"])],
            ["D1"],
        ),
        "rf_out": memory(
            16,
            0.021,
            ["O"],
            [
                port("read", 1, 16, ["O, tl"]),
                port("read", 2, 16, ["O, th"]),
                port("write", 1, 16, ["O, fh"]),
                port("write", 2, 16, ["O, fl"]),
            ],
            ["D2"],
        ),
        "sram": memory(
            random_.choice([32768, 262144]),
            400.0,
            ["I1", "O"],
            [
                port("read", 1, 512, ["I1, tl", "O, tl", "O, th"]),
                port("write", 1, 512, ["I1, fh", "O, fh", "O, fl"]),
            ],
            ["D1", "D2"],
        ),
        "dram": memory(
            10**10,
            700.0,
            ["I1", "I2", "O"],
            [port("read_write", 1, 64, [f"{op}, {way}" for op in SLOTS for way in ("fh", "tl")] + ["O, fl", "O, th"])],
            ["D1", "D2"],
        ),
    }
    memories["cells"]["w_cost"] = 0.095
    return {"name": name, "memories": memories, "operational_array": array}


# ---- Layers and mappings ----


def random_layer(random_, kinds=tuple(KINDS)):
    kind = random_.choice(kinds)
    operator, equation, relations, dims = KINDS[kind]
    stride, dilation = random_.choice([1, 1, 1, 2, 2, 3]), random_.choice([1, 1, 1, 2])
    if kind == "data_gradient_gather":
        stride, dilation = 1, random_.choice([1, 1, 2])
    while True:
        sizes = [random_.choice(SMALL_DIMS.get(dim, SIZES)) for dim in dims]
        if 1 < math.prod(sizes) <= 4_000_000:
            break
    bits = random_.choice([4, 8, 8, 8, 16, 32])
    precision = {"W": bits, "I": random_.choice([bits, bits, 8, 16]), "O": random_.choice([2 * bits, 16, 32])}
    precision["O_final"] = random_.choice([bits, bits, precision["O"]])
    if kind == "pooling":
        precision["W"] = 0
    layer = {
        "id": 0,
        "operator_type": operator,
        "equation": equation,
        "dimension_relations": [text.format(s=stride, d=dilation) for text in relations],
        "loop_dims": dims,
        "loop_sizes": sizes,
        "operand_precision": precision,
        "operand_source": {"I": 0, "W": 0},
    }
    if relations and random_.random() < 0.3:
        layer["pr_loop_dims"] = [text.split("=")[0].upper() for text in relations]
        if random_.random() < 0.8:
            layer["padding"] = [[random_.randrange(2), random_.randrange(2)] for _ in relations]
        else:
            of = dict(zip(dims, sizes))
            taken = []
            for text in relations:
                first, second = text.split("=")[1].split("+")
                first, second = (of[part.split("*")[1].upper()] for part in (first, second))
                taken.append(max(1, stride * (first - 1) + dilation * (second - 1) + 1 - random_.randrange(3)))
            layer["pr_loop_sizes"] = taken
    return kind, layer


def random_spatial(random_, accelerator, layer):
    """Loops for the array dimensions; some too large, some of dimensions the layer does not have, some left out."""
    array = accelerator["operational_array"]
    sizes = dict(zip(layer["loop_dims"], layer["loop_sizes"]))
    spatial = {}
    for dim, size in zip(array["dimensions"], array["sizes"]):
        if random_.random() < 0.1:
            continue
        loops = {}
        for name in random_.sample(layer["loop_dims"], random_.choice([1, 1, 1, 2, 3])):
            room = max(1, size // math.prod(loops.values()))
            fits = min(room, sizes[name])
            loops[name] = random_.choice([fits, fits, room, random_.randint(1, fits)])
        if random_.random() < 0.08:
            loops[random_.choice(["K", "C", "G", "OX", "FX"])] = random_.choice([2, size])
        spatial[dim] = [f"{name}, {factor}" for name, factor in loops.items()]
    return spatial


def word_and_bit_lines(random_, accelerator, layer):
    """The mapping an in-memory array is made for: outputs along the word line, what is summed along the bit line."""
    across, along = accelerator["operational_array"]["sizes"]
    sizes = dict(zip(layer["loop_dims"], layer["loop_sizes"]))
    rows = {}
    for name in [name for name in ("FX", "FY", "C") if name in sizes]:
        room = along // math.prod(rows.values())
        rows[name] = random_.choice([min(room, sizes[name]), random_.randint(1, min(room, sizes[name]))])
    return {"D1": [f"K, {min(across, sizes['K'])}"], "D2": [f"{name}, {factor}" for name, factor in rows.items()]}


def random_hint(random_, accelerator, layer):
    hint = {}
    for dim in accelerator["operational_array"]["dimensions"]:
        if random_.random() < 0.8:
            hint[dim] = random_.sample(layer["loop_dims"], random_.choice([1, 1, 2]))
            if random_.random() < 0.1:
                hint[dim] = ["Z"]
    return hint


def prime_factors(number):
    factors, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return factors


def random_ordering(random_, loops, most=9):
    """The temporal loops split into random factors, in random order, inner to outer."""
    ordering = []
    for name, size in loops.items():
        factors = prime_factors(size)
        random_.shuffle(factors)
        while len(factors) > 1 and random_.random() < 0.6:
            factors.append(factors.pop() * factors.pop(0))
        ordering += [[name, factor] for factor in factors]
    while len(ordering) > most:
        repeated = [name for name in loops if sum(1 for loop in ordering if loop[0] == name) > 1]
        if not repeated:
            break
        name = random_.choice(repeated)
        first, second = [loop for loop in ordering if loop[0] == name][:2]
        ordering = [loop for loop in ordering if loop is not second]
        first[1] *= second[1]
    random_.shuffle(ordering)
    return ordering


def random_pattern(random_, loops):
    """A temporal ordering with holes: inner and outer loops pinned with or without their factor."""
    names = list(loops)
    if not names:
        return None
    random_.shuffle(names)
    pin = lambda name: [name, random_.choice(["*", "*", loops[name], prime_factors(loops[name])[0]])]
    inner = [pin(name) for name in names[: random_.choice([0, 1, 1, 2])]]
    outer = [pin(name) for name in names[len(inner) :][: random_.choice([0, 0, 1])]]
    if random_.random() < 0.15:
        return inner + outer
    return inner + [["*", "*"]] + outer


def orderings_of(loops, limit):
    """How many orderings the search would try, at most (the merging of factors only lowers it)."""
    factors = [(name, factor) for name, size in loops.items() for factor in prime_factors(size)]
    count = min(len(factors), max(limit, len(loops)))
    return math.factorial(count)


def random_inputs(random_, accelerator, kind, searched):
    name, layer = random_layer(random_) if kind is None else kind
    links = {"O": "O", "W": "I2", "I": "I1"}
    if random_.random() < 0.1:
        links = {"O": "O", "W": "I1", "I": "I2"}
    style = random_.choice(["user"] * 7 + ["hint", "none", "user+hint"])
    spatial = random_spatial(random_, accelerator, layer) if "user" in style else None
    hint = random_hint(random_, accelerator, layer) if "hint" in style else None
    return name, {
        "accelerator": accelerator["name"],
        "layer": layer,
        "memory_operand_links": links,
        "spatial_mapping_user": spatial,
        "spatial_mapping_hint": hint,
        "temporal_ordering_user_inner_to_outer": None,
        "search": {
            "criterion": random_.choice(["latency", "energy", "EDP"]),
            "lpf_limit": random_.choice([3, 4, 5, 6]),
            "mapping_type": random_.choice(["uneven", "uneven", "uneven", "even"]),
            "nb_spatial_mappings": random_.choice([1, 2, 3]) if searched else 1,
            "mixed_spatial": random_.random() < 0.15,
        },
    }
