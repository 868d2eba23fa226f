"""Runs ZigZag (PyPI zigzag-dse) on one layer and one accelerator and states what it computed as plain data.

The records have the keys of the golden files: `inputs` (accelerator, layer, spatial mapping, search), `derived` (what
ZigZag made of them), `outputs` (accesses, energy, latency) and `run`. ZigZag is used as a black box through its stages;
what it refuses or crashes on is reported as an error with its class.
"""
import contextlib
import copy
import logging
import signal
import time

import zigzag
from zigzag.datatypes import LayerDim
from zigzag.hardware.architecture.imc_array import ImcArray
from zigzag.mapping.data_movement import DataDirection, DataMoveAttr
from zigzag.mapping.temporal_mapping import TemporalMappingType
from zigzag.opt.loma.engine import LomaEngine
from zigzag.opt.loma.memory_allocator import MemoryAllocator
from zigzag.parser.accelerator_factory import AcceleratorFactory
from zigzag.parser.accelerator_validator import AcceleratorValidator
from zigzag.parser.mapping_validator import MappingValidator
from zigzag.parser.workload_factory import LayerNodeFactory
from zigzag.parser.workload_validator import WorkloadValidator
from zigzag.stages.evaluation.cost_model_evaluation import CostModelStage
from zigzag.stages.mapping.spatial_mapping_generation import SpatialMappingGeneratorStage
from zigzag.stages.mapping.temporal_mapping_generator_stage import TemporalMappingGeneratorStage
from zigzag.stages.results.reduce_stages import MinimalEDPStage, MinimalEnergyStage, MinimalLatencyStage
from zigzag.stages.stage import Stage

logging.disable(logging.CRITICAL)

REDUCTIONS = {"energy": MinimalEnergyStage, "latency": MinimalLatencyStage, "EDP": MinimalEDPStage}
DIRECTIONS = [
    DataDirection.RD_OUT_TO_LOW,
    DataDirection.WR_IN_BY_LOW,
    DataDirection.RD_OUT_TO_HIGH,
    DataDirection.WR_IN_BY_HIGH,
]


def even_by_position(allocator, counts, operands):
    """Whether no loop is taken by one operand and left by another, loops told apart by their place in the ordering."""
    taken, left = set(), set()
    for operand, count in zip(operands, counts):
        start = sum(1 for loop in allocator.allocated[operand] if loop.loop_type == "temporal")
        end = start + len(allocator.unallocated[operand])
        taken.update(range(start, start + count))
        left.update(range(start + count, end))
    return not taken & left


# The golden data are of a commit between 3.8.5 and 3.8.6, which balances the first and last transfers as the former but
# already has the latter's rule for even mappings; 3.8.5 takes any two loops of one dimension and size for the same.
if zigzag.__version__ == "3.8.5":
    MemoryAllocator.is_valid_idx_combination_for_even_mapping_type = even_by_position


class Refused(Exception):
    """The input does not pass ZigZag's own validation."""


class TookTooLong(Exception):
    """Not a verdict of ZigZag: the case is dropped."""


@contextlib.contextmanager
def time_limit(seconds):
    def stop(_signal, _frame):
        raise TookTooLong

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def build_accelerator(facts):
    facts = copy.deepcopy(facts)
    # 3.8.5 as published does not know this key; the commit of the golden data reads it and does nothing with it.
    if "force_double_buffering" not in AcceleratorValidator.SCHEMA["memories"]["valuesrules"]["schema"]:
        for memory in facts["memories"].values():
            memory.pop("force_double_buffering", None)
    validator = AcceleratorValidator(facts)
    if not validator.validate():
        raise Refused("accelerator")
    return AcceleratorFactory(validator.normalized_data).create()


def build_layer(inputs):
    workload = WorkloadValidator([copy.deepcopy(inputs["layer"])])
    if not workload.validate():
        raise Refused("workload")
    entry = {"name": "default", "memory_operand_links": dict(inputs["memory_operand_links"])}
    keys = {
        "spatial_mapping": "spatial_mapping_user",
        "spatial_mapping_hint": "spatial_mapping_hint",
        "temporal_ordering": "temporal_ordering_user_inner_to_outer",
    }
    for key, ours in keys.items():
        if inputs.get(ours) is not None:
            entry[key] = copy.deepcopy(inputs[ours])
    mapping = MappingValidator([entry])
    if not mapping.validate():
        raise Refused("mapping")
    mapping_data = mapping.normalized_data
    for data in mapping_data:
        data.setdefault("spatial_mapping", None)
    return LayerNodeFactory(workload.normalized_data[0], mapping_data).create()


def given_ordering(ordering):
    """A stage like ZigZag's generator of temporal mappings, for one ordering."""

    class GivenOrdering(Stage):
        def __init__(self, callables, *, accelerator, layer, spatial_mapping, temporal_mapping_type, **kwargs):
            super().__init__(callables, **kwargs)
            self.arguments = (accelerator, layer, spatial_mapping)
            self.mapping_type = temporal_mapping_type

        def run(self):
            accelerator, layer, spatial_mapping = self.arguments
            loops = [(LayerDim(name), size) for name, size in ordering]
            mapping = MemoryAllocator(accelerator, layer, spatial_mapping, loops, self.mapping_type).run()
            stage = self.list_of_callables[0](
                self.list_of_callables[1:],
                accelerator=accelerator,
                layer=layer,
                spatial_mapping=spatial_mapping,
                temporal_mapping=mapping,
                **self.kwargs,
            )
            yield from stage.run()

    return GivenOrdering


class Counted(Stage):
    """Counts the evaluations that pass; `counter` is shared through the keyword arguments."""

    def __init__(self, callables, *, counter, **kwargs):
        super().__init__(callables, **kwargs)
        self.counter = counter

    def run(self):
        for result, extra in self.list_of_callables[0](self.list_of_callables[1:], **self.kwargs).run():
            self.counter.append(result.layer.spatial_mapping)
            yield result, extra


def temporal_loops(accelerator, inputs):
    """Per spatial mapping that ZigZag would try: the loops left over for time."""
    found = []

    class Probe(Stage):
        def __init__(self, callables, *, accelerator, layer, spatial_mapping, temporal_mapping_type, **kwargs):
            super().__init__(callables, **kwargs)
            engine = LomaEngine(
                accelerator=accelerator,
                layer=layer,
                spatial_mapping=spatial_mapping,
                mapping_type=temporal_mapping_type,
                loma_lpf_limit=None,
            )
            found.append({str(dim): int(size) for dim, size in engine.get_temporal_loops().items()})

        def run(self):
            return iter(())

        def is_leaf(self):
            return True

    search = inputs["search"]
    stage = SpatialMappingGeneratorStage(
        [Probe],
        accelerator=accelerator,
        layer=build_layer(inputs),
        temporal_mapping_type=TemporalMappingType(search["mapping_type"]),
        nb_mappings_generated=search["nb_spatial_mappings"],
        enable_mix_spatial_mapping_generation=search["mixed_spatial"],
    )
    for _ in stage.run():
        pass
    return found


def run_case(accelerator, inputs, full=False):
    """derived, outputs and run of one case; raises what ZigZag raises."""
    search = inputs["search"]
    ordering = inputs.get("temporal_ordering_inner_to_outer")
    reduce = REDUCTIONS[search["criterion"]]
    temporal = TemporalMappingGeneratorStage if ordering is None else given_ordering(ordering)
    counter = []
    wall, cpu = time.time(), time.process_time()
    stage = reduce(
        [SpatialMappingGeneratorStage, reduce, temporal, Counted, CostModelStage],
        accelerator=accelerator,
        layer=build_layer(inputs),
        temporal_mapping_type=TemporalMappingType(search["mapping_type"]),
        loma_lpf_limit=search["lpf_limit"],
        nb_mappings_generated=search["nb_spatial_mappings"],
        enable_mix_spatial_mapping_generation=search["mixed_spatial"],
        access_same_data_considered_as_no_access=True,
        counter=counter,
    )
    result = next(iter(stage.run()))[0]
    run = {
        "evaluated_mappings": len(counter),
        "wall_s": round(time.time() - wall, 3),
        "cpu_s": round(time.process_time() - cpu, 3),
    }
    return {"derived": derived_of(result, full), "outputs": outputs_of(result), "run": run}


def plain(value):
    if hasattr(value, "item"):
        value = value.item()
    return value


def four(movement):
    return {str(direction): plain(movement.get(direction)) for direction in DIRECTIONS}


def loops_of(levels):
    return [[[str(dim), plain(size)] for dim, size in level] for level in levels]


def derived_of(result, full):
    operands = result.layer.layer_operands
    per_operand = lambda table: {str(op): [plain(x) for x in table[op]] for op in operands}
    memories = result.accelerator.memory_hierarchy
    spatial = result.layer.spatial_mapping
    derived = {
        "spatial_mapping_after_limiting": {
            str(dim): {str(name): plain(size) for name, size in loops.items()} for dim, loops in spatial.items()
        },
        "spatial_loops_per_arch_level_fractional": {
            str(op): loops_of(result.spatial_mapping.mapping_dict_origin[op]) for op in operands
        },
        "spatial_loops_per_arch_level_integer": {
            str(op): loops_of(result.spatial_mapping_int.mapping_dict_origin[op]) for op in operands
        },
        "temporal_loops_per_memory_level": {
            str(op): loops_of(result.temporal_mapping.mapping_dic_origin[op]) for op in operands
        },
        "temporal_loops_per_memory_level_after_stationary_merge": {
            str(op): loops_of(result.temporal_mapping.mapping_dic_stationary[op]) for op in operands
        },
        "mac_level_stationary_cycles": {
            str(op): plain(result.temporal_mapping.mac_level_data_stationary_cycle[op]) for op in operands
        },
        "memory_levels": {
            str(op): [
                level.memory_instance.name
                for level in memories.get_memory_levels(result.memory_operand_links.layer_to_mem_op(op))
            ]
            for op in operands
        },
    }
    if full:
        derived |= full_of(result, operands, per_operand)
    derived["double_buffer"] = per_operand(result.double_buffer_true)
    derived["psum_flag"] = list(result.mapping.psum_flag)
    derived["stall_slack_per_port"] = [
        {"memory": level.memory_instance.name, "ports": {name: plain(stall) for name, stall in ports.items()}}
        for level, ports in zip(result.mem_level_list, result.stall_slack_comb_collect)
    ]
    return derived


def full_of(result, operands, per_operand):
    movement = {}
    for op in operands:
        movement[str(op)] = [
            {str(attr.value): four(level.get_attribute(attr)) for attr in DataMoveAttr}
            for level in result.mapping_int.unit_mem_data_movement[op]
        ]
    cycles = lambda table: {str(op): [four(level) for level in table[op]] for op in operands}
    return {
        "operand_size_elem": {str(op): plain(result.layer.operand_size_elem[op]) for op in operands},
        "pr_dim_sizes": {str(dim): plain(size) for dim, size in result.layer.pr_layer_dim_sizes.items()},
        "unit_count_fractional": per_operand(result.mapping.spatial_mapping.unit_count),
        "unit_unique_int": per_operand(result.mapping_int.spatial_mapping.unit_unique),
        "data_bits_per_level_per_instance": per_operand(result.mapping.data_bit_per_level_unrolled),
        "data_movement_int": movement,
        "real_transfer_cycles": cycles(result.real_data_trans_cycle),
        "allowed_transfer_cycles": cycles(result.allowed_mem_update_cycle),
    }


def outputs_of(result):
    operands = result.layer.layer_operands
    per_operand = lambda table: {str(op): [plain(x) for x in table[op]] for op in operands}
    outputs = {
        "word_accesses": {str(op): [four(level) for level in result.memory_word_access[op]] for op in operands},
        "mem_energy_pJ": per_operand(result.mem_energy_breakdown),
        "mem_energy_total_pJ": plain(result.mem_energy),
        "mac_energy_pJ": plain(result.mac_energy),
        "energy_total_pJ": plain(result.energy_total),
        "total_mac_count": plain(result.layer.total_mac_count),
        "ideal_cycles": plain(result.ideal_cycle),
        "ideal_temporal_cycles": plain(result.ideal_temporal_cycle),
        "stall_cycles": plain(result.stall_slack_comb),
        "onload_cycles": plain(result.data_onloading_cycle),
        "offload_cycles": plain(result.data_offloading_cycle),
        "latency_total0": plain(result.latency_total0),
        "latency_total1": plain(result.latency_total1),
        "latency_total2": plain(result.latency_total2),
        "mac_spatial_utilization": plain(result.mac_spatial_utilization),
        "mac_utilization_total": plain(result.mac_utilization2),
        "mem_utilization_individual": per_operand(result.mem_utili_individual),
        "mem_utilization_shared": per_operand(result.mem_utili_shared),
    }
    if isinstance(result.accelerator.operational_array, ImcArray):
        outputs["imc_tclk"] = plain(result.tclk)
        outputs["imc_area_total"] = plain(result.area_total)
        outputs["imc_mac_energy_breakdown"] = {k: plain(v) for k, v in result.mac_energy_breakdown.items()}
    return outputs
