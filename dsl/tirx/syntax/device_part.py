"""The code after T.device_entry(): a kernel whose parameters are the host values it uses, and its launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dsl.core import kernel_parameter, pytree, trace
from dsl.core.control_flow.branches.merge import Scratch
from dsl.core.control_flow.text import result_names
from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Numeric, is_dynamic, numeric
from dsl.launch.call.limits import launch_limits
from dsl.span import Span, here
from dsl.tirx.functions import ids
from dsl.tirx.memory import memory
from dsl.tirx.syntax import signature
from dsl.tirx.values.divisor import op_of


@dataclass
class DevicePart(trace.KernelTrace):
    """A kernel being traced inside its host function: `adopt` makes a host value a parameter, or computes it again."""

    host: trace.HostTrace | None = None
    adopted: list[tuple[mlir.Value, mlir.Value]] = field(default_factory=list)  # of the host, in the kernel
    parameters: list[mlir.Value] = field(default_factory=list)  # of the host
    start: mlir.Before = field(init=False)  # after what `adopt` computes

    def __post_init__(self) -> None:
        with mlir.inside(self.entry):
            self.start = mlir.Before(mlir.op("arith.constant", [mlir.i1], [], {"value": mlir.int_attr(0, mlir.i1)}))

    def adopt(self, value: mlir.Value, owner: Any) -> mlir.Value:
        if owner is not self.host:
            mlir.check_owner(owner)
        for outside, inside in self.adopted:
            if outside == value:
                return inside
        op = op_of(value)
        if op is not None and op.name.startswith("arith."):
            operands = [self.adopt(operand, owner) for operand in op.operands]
            inside = self._computed(
                op.name, value.type, operands, {name: op.attributes[name] for name in op.attributes}
            )
        else:
            inside = self._parameter(value)
        self.adopted.append((value, inside))
        return inside

    def _parameter(self, value: mlir.Value) -> mlir.Value:
        assert self.entry is not None
        self.parameters.append(value)
        is_boolean = value.type == mlir.i1
        argument = self.entry.add_argument(mlir.i8 if is_boolean else value.type, mlir.location())
        return self._computed("arith.trunci", mlir.i1, [argument]) if is_boolean else argument

    def _computed(self, name: str, type_: mlir.Type, operands: list, attributes: dict | None = None) -> mlir.Value:
        with mlir.inside(self.start):
            return mlir.op(name, [type_], operands, attributes).results[0]

    def take(self, extent: Any) -> None:
        """Make the numbers of a launch extent parameters even if the kernel does not use them, as apache-tvm does."""
        number = numeric(extent)
        if number is not None and is_dynamic(number) and number.owner is self.host:
            self.adopt(number.value, number.owner)

    def finish(self, operation: mlir.Operation) -> None:
        """Give the kernel its parameters, in the order of the function's signature, and check it."""
        assert self.entry is not None and self.host is not None and self.host.entry is not None
        self.start.marker.erase()
        place_of = {argument: position for position, argument in enumerate(self.entry.arguments)}
        places = [place_of.get(inside) for _, inside in self.adopted]
        order = kernel_parameter.sort(self.entry, self.host.entry, self.parameters)
        self.parameters = [self.parameters[position] for position in order]
        arguments = dict(zip(order, self.entry.arguments))
        self.adopted = [
            (outside, inside if place is None else arguments[place])
            for (outside, inside), place in zip(self.adopted, places)
        ]
        operation.attributes[result_names.ATTRIBUTE] = mlir.string_attr(
            ",".join(signature.name_of(value) for value in self.parameters)
        )
        mlir.set_inputs(operation, [argument.type for argument in self.entry.arguments])
        trace.finish(operation, self)

    def leaves(self) -> list[pytree.RawValue]:
        """The host values that are its parameters, in their order."""
        return [pytree.RawValue(value) for value in self.parameters]

    def outside(self, extent: Any, place: Span) -> Any:
        """An extent of the launch, declared at `place`, computed in the host function."""
        number = numeric(extent)
        if number is None or not is_dynamic(number) or number.owner is self.host:
            return extent
        return type(number)(_Outside(self.adopted, place).computed(number.value))


class _Outside:
    """Writes once more in the host function what computes values of a kernel. `pairs`: (of the host, in the kernel)."""

    def __init__(self, pairs: list[tuple[mlir.Value, mlir.Value]], place: Span):
        self.pairs, self.place = list(pairs), place

    def computed(self, value: mlir.Value) -> mlir.Value:
        """A value of the kernel as one of the host function. Raises DSLUserCodeError for what only a kernel has."""
        for outside, inside in self.pairs:
            if value in (outside, inside):
                return outside
        op = op_of(value)
        if op is None or not op.name.startswith(("arith.", "scf.if")):
            raise DSLUserCodeError(
                "an extent of the launch must be known before the kernel runs, but this one is computed from "
                "what only the kernel has: its ids or the memory that it loads",
                place=self.place,
                id="LAUNCH_EXTENT",
                fix="compute it from the parameters of the function",
            )
        copy = self._branch(op) if op.name == "scf.if" else self._again(op)
        self.pairs += zip(copy.results, op.results)
        return next(outside for outside, inside in self.pairs if inside == value)

    def _again(self, op: mlir.Operation) -> mlir.Operation:
        attributes = {name: op.attributes[name] for name in op.attributes}
        return mlir.op(
            op.name, [result.type for result in op.results], list(map(self.computed, op.operands)), attributes
        )

    def _branch(self, op: mlir.Operation) -> mlir.Operation:
        """An `scf.if` whose arms compute without loading."""
        test, count = self.computed(op.operands[0]), len(self.pairs)
        arms = []
        for region in op.regions:
            scratch = Scratch()
            *_, end = (inner.operation for inner in region.blocks[0].operations)
            with mlir.inside(scratch.block):
                mlir.op("scf.yield", [], list(map(self.computed, end.operands)))
            del self.pairs[count:]
            arms.append(scratch)
        branch = mlir.op("scf.if", [result.type for result in op.results], [test], regions=2)
        for place, scratch in enumerate(arms):
            scratch.move_to(branch, place)
        return branch


_BOUNDS = {
    "tirx.launch_bounds_min_blocks_per_sm": "nvvm.minctasm",
    "tirx.launch_bounds_max_blocks_per_cluster": "nvvm.cluster_max_blocks",
}


def run(function: Callable, *arguments: Any) -> None:
    """Trace `function` as a kernel of the current host function, and launch it there."""
    signature.check_untouched()
    state = trace.host()
    place = here()
    unique = f"{state.name}_kernel" if not state.kernels else f"{state.name}_kernel_{len(state.kernels)}"
    operation, entry = state.device.function(unique, [], None, {"nvvm.kernel": mlir.unit_attr()})
    part = DevicePart(unique, state.device, entry=entry, host=state)
    with trace.tracing(part), mlir.inside(entry), ids.collecting() as extents:
        function(*arguments)
        launch = _launch(extents)
        mlir.op("llvm.return")
        memory.declare_static_arrays()
        block = launch.block
        if not any(map(is_dynamic, block)):
            operation.attributes["nvvm.reqntid"] = mlir.i32_array_attr([int(extent) for extent in block])
        for name, attribute in _BOUNDS.items():
            if name in extents.attributes:
                operation.attributes[attribute] = mlir.int_attr(int(extents.attributes[name]), mlir.i32)
        for extent in (*launch.grid, *launch.block, *launch.cluster):
            part.take(extent)
        part.finish(operation)
    launch.grid, launch.block, launch.cluster = (
        tuple(part.outside(extent, extents.place_of(extent, place)) for extent in axes)
        for axes in (launch.grid, launch.block, launch.cluster)
    )
    _check_limits(state.name, launch, extents)
    leaves = part.leaves()
    params = tuple(kernel_parameter.of(leaf)[:2] for leaf in leaves)
    kernel = trace.Kernel(unique, params, part.smem_bytes, tuple(part.allocations), place)
    trace.emit_launch(state, kernel, launch, [_extent(extent) for extent in launch.block], leaves)


_SAID_BY = {
    "grid": ("cta_id", "cluster_id"),
    "block": ("thread_id", "warp_id", "warpgroup_id", "lane_id"),
    "cluster": ("cta_id_in_cluster",),
}


def _check_limits(name: str, launch: trace.Launch, extents: ids.Extents) -> None:
    """Raise, at the id that sets it, for an extent over the limits of GPUs."""
    one = (1, 1, 1)
    for what, said in _SAID_BY.items():
        axes = {"grid": one, "block": one, "cluster": one, what: getattr(launch, what)}
        if what == "cluster":
            axes["grid"] = launch.grid
        try:
            launch_limits.check_launch(name, axes["grid"], axes["block"], axes["cluster"])
        except DSLUserCodeError as error:
            error.place = next((extents.declared[each][1] for each in said if each in extents.declared), error.place)
            raise


def _launch(extents: ids.Extents) -> trace.Launch:
    """The launch that the ids describe; a kernel without a block can be traced, and not compiled."""
    try:
        return extents.launch()
    except ids.NoBlock as error:
        signature.unlaunchable(error)
        return trace.Launch((1, 1, 1), (1, 1, 1))


def _extent(extent: Any) -> Numeric:
    return Int32(extent)
