"""A kernel as tasks: GPU kernels launched in order by one host function.

A `for` at the kernel's outermost scope is a separate task, with a thread an iteration; the statements between two
such loops are one task of a single thread. All tasks stay open until the kernel is traced, because the values that an
earlier one has to pass on (a variable, the value of an expression) are only known when a later one asks for them: they
then go through the kernel's scratch memory. Values of the host function (arguments, field addresses) become parameters
of the tasks that use them. A serial task without effects is left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dsl.core import kernel_parameter, trace
from dsl.core.control_flow.text import result_names
from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int8, Int32, Int64, Numeric, is_dynamic
from dsl.core.number.operators import operate, select
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.pytree import RawValue
from dsl.core.state import Stack
from dsl.gpu.threads import index
from dsl.quadrants.errors.errors import QuadrantsRuntimeError
from dsl.quadrants.functions.sections import Pause, Sections
from dsl.span import here


class Fixed:
    """One hidden slot that all calls have alike: the address of a field, or of scratch memory."""

    def __init__(self, read: Callable[[], int]):
        self.read = read


BLOCK_DIM = 128  # threads of a block. Quadrants user guide, Loop Configuration
MOST_BLOCKS = 1 << 10  # of a loop whose number of iterations the host does not know


class OnDevice(Exception):
    """An expression that is evaluated on the host needs the device's memory."""


class Task(trace.KernelTrace):
    """One GPU kernel being traced: its `prologue` brings what comes from outside, its `body` does the work.

    `block` has the threads of a block along x, y and z; the host may choose them at the launch, at most BLOCK_DIM
    together. `grid` is set when it is known. `number` gives the number of a thread where that is not its position.
    """

    def __init__(self, program: Program, block: tuple, is_parallel: bool):
        name = f"{program.name}_{len(program.tasks)}"
        attributes = {"nvvm.kernel": mlir.unit_attr(), **_bounds(block)}
        self.operation, entry = program.host.device.function(name, [], None, attributes, attached=False)
        super().__init__(name, program.host.device, entry=entry)
        with mlir.inside(entry):
            self.marker = mlir.op("arith.constant", [mlir.i1], [], {"value": mlir.int_attr(0, mlir.i1)})
        self.body, self.prologue = entry, mlir.Before(self.marker)
        self.program, self.block, self.is_parallel, self.place = program, block, is_parallel, here()
        self.grid: Any = 1
        self.number: Callable[[], Numeric] | None = None
        self.section = program.sections.count - 1 if program.sections else 0
        self.is_repeated = program.sections is not None and program.sections.is_repeated
        self.has_effects = False
        self.effects = 0  # how many there were so far
        self.params: list = []  # the host's values, in order
        self.adopted: dict[mlir.Value, mlir.Value] = {}

    def thread_number(self) -> Numeric:
        """The number of this thread in the grid: of an iteration, its place in the loop's order."""
        return self.number() if self.number else position()

    def effect(self) -> None:
        """Note that running this task makes a difference."""
        self.has_effects = True
        self.effects += 1

    def adopt(self, value: mlir.Value, owner: Any) -> mlir.Value:
        """A value of the host function or of an earlier task, as this task has it."""
        adopted = self.adopted.get(value)
        if adopted is None:
            if owner is self.program.host:
                adopted = self._parameter(value)
            elif isinstance(owner, Task) and owner.program is self.program:
                adopted = self._handed_over(value, owner)
            else:
                mlir.check_owner(owner)
            self.adopted[value] = adopted
        return adopted

    def _parameter(self, value: mlir.Value) -> mlir.Value:
        constant = mlir.constant_of(value)
        if constant is not None:
            with trace.within(self, self.prologue):
                return mlir.result("arith.constant", value.type, value=constant)
        leaf = RawValue(value)
        _, _, type_ = kernel_parameter.of(leaf)
        assert self.entry is not None
        with mlir.context, mlir.location():
            argument = self.entry.add_argument(type_, mlir.location())
        self.params.append(leaf)
        return self._number(argument, value.type)

    def _handed_over(self, value: mlir.Value, owner: Task) -> mlir.Value:
        """Through scratch memory: stored where the task that computed it ends, loaded where this one begins."""
        offset_bytes = self.program.reserve()
        stored = RawValue(value)
        with trace.within(owner, owner.body):
            mlir.store(kernel_parameter.stored(stored), self.program.scratch_address(offset_bytes), 8)
        owner.effect()
        with trace.within(self, self.prologue):
            loaded = mlir.load(self.program.scratch_address(offset_bytes), kernel_parameter.of(stored)[2], 8)
        return self._number(loaded, value.type)

    def _number(self, value: mlir.Value, type_: mlir.Type) -> mlir.Value:
        """A parameter as the value it carries: a Boolean is a byte there."""
        if type_ != mlir.i1:
            return value
        with trace.within(self, self.prologue):
            return mlir.result("arith.trunci", mlir.i1, value)

    def end(self) -> None:
        """Add the terminators, and the task to the module."""
        self.marker.erase()
        order = kernel_parameter.sort(self.body, self.program.host_entry, [leaf.value for leaf in self.params])
        self.params = [self.params[position] for position in order]
        with trace.within(self, self.body):
            mlir.op("llvm.return")
            mlir.set_inputs(self.operation, [argument.type for argument in self.body.arguments])
            for name, names in result_names.of_values(
                self.program.names.get(leaf.value, "") for leaf in self.params
            ).items():
                self.operation.attributes[name] = names
            self.module.body.append(self.operation)
            trace.finish(self.operation, self)


def position() -> Int32:
    """The position of this thread in a grid of one dimension."""
    return index.block_idx()[0] * index.block_dim()[0] + index.thread_idx()[0]


def _bounds(block: tuple) -> dict[str, Any]:
    """The attribute that tells the compiler how many threads a block has."""
    if any(map(is_dynamic, block)):
        return {"nvvm.maxntid": mlir.i32_array_attr([BLOCK_DIM, 1, 1])}
    return {"nvvm.reqntid": mlir.i32_array_attr(list(block))}


@dataclass
class LoopConfig:
    """The options that `qd.loop_config` sets for the next loop."""

    block_dim: int | None = None
    serialize: bool = False


@dataclass
class Program:
    """A kernel being traced."""

    name: str
    host: trace.HostTrace
    tasks: list[Task] = field(default_factory=list)
    names: dict[mlir.Value, str] = field(default_factory=dict)  # what the author calls the kernel's arguments
    nest: list[str] = field(default_factory=list)  # the run-time statements around, outermost first
    returns: list = field(default_factory=list)  # the return annotations of the real_funcs around
    config: LoopConfig = field(default_factory=LoopConfig)
    debug: bool = False
    is_graph: bool = False  # of @qd.kernel(graph=True)
    checkpoints: bool = False
    sections: Sections | None = None  # where not all tasks are launched once
    loops: list[tuple[Any, int, int]] = field(default_factory=list)  # open: flag, offset of its copy, first task
    pauses: list[tuple[Any, Pause]] = field(default_factory=list)  # of the open checkpoint
    unrolling_limit: int = 32
    most_blocks: int = MOST_BLOCKS
    random_numbers: dict[int, Any] = field(default_factory=dict)  # by task: how many each thread took
    results: list = field(default_factory=list)  # (dtype, offset in bytes) of what the kernel returns
    shape: Callable | None = None  # what makes Python's value of them
    hidden: list = field(default_factory=list)  # what brings the hidden slots, in order (captured)
    ways: dict[int, tuple] = field(default_factory=dict)  # by id: an object that is reached, and its Way
    parameters: Sequence[str] = ()
    loaded: dict = field(default_factory=dict)  # by Way: the traced value that every call brings
    scratch_bytes: int = 0
    scratch: Pointer | None = None
    sources: dict[int, tuple[Any, Pointer]] = field(default_factory=dict)
    inside: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def task(self) -> Task:
        """The task being traced. Raises OnDevice where the host evaluates."""
        state = trace.current()
        if not isinstance(state, Task):
            raise OnDevice
        return state

    @property
    def host_entry(self) -> mlir.Block:
        """The block of the host function, whose first argument is the argument block."""
        assert self.host.entry is not None
        return self.host.entry

    @property
    def is_top(self) -> bool:
        """Whether this is the kernel's outermost scope."""
        return not self.nest

    # --- what comes from outside ---

    def pointer(self, source: Any, dtype: type[Numeric], address: Callable[[], int]) -> Pointer:
        """A pointer to the memory of `source` (a field...), whose address every call brings."""
        source_pointer = self.sources.get(id(source))
        if source_pointer is None:
            source_pointer = self.sources[id(source)] = source, self._hidden(dtype, address)
        return source_pointer[1]

    def _hidden(self, dtype: type[Numeric], address: Callable[[], int]) -> Pointer:
        with trace.within(self.host, self.host_entry):
            self.hidden.append(Fixed(address))
            self.host.slots.append("P")
            at = mlir.gep(self.host_entry.arguments[0], mlir.i8, trace.SLOT_BYTES * len(self.host.slots))
            return Pointer(dtype, mlir.load(at, mlir.ptr(1), 8), AddressSpace.gmem)

    def reserve(self, size_bytes: int = 8) -> int:
        """The offset of `size_bytes` more of scratch memory."""
        if self.scratch is None:
            self.scratch = self._hidden(Int8, lambda: self.scratch_at)
        self.scratch_bytes += -(-size_bytes // 8) * 8
        return self.scratch_bytes - -(-size_bytes // 8) * 8

    scratch_at: int = 0

    def scratch_address(self, offset_bytes: int) -> mlir.Value:
        """The address of what `reserve` gave."""
        assert self.scratch is not None
        return mlir.gep(self.scratch.ir(), mlir.i8, offset_bytes)

    # --- tasks one after the other ---

    def open(self, block: tuple = (1, 1, 1), is_parallel: bool = False) -> Task:
        """Begin a task; ops go there until it is closed."""
        task = Task(self, block, is_parallel)
        self.tasks.append(task)
        self.inside.enter_context(trace.within(task, task.body))
        return task

    def close(self) -> None:
        """End the open task."""
        self.inside.pop_all().close()

    @contextlib.contextmanager
    def nested(self, kind: str) -> Iterator[None]:
        """Inside a run-time statement: "if", "for", "while" or "parallel"."""
        self.nest.append(kind)
        try:
            yield
        finally:
            self.nest.pop()

    def on_entry(self, number: Numeric) -> Numeric:
        """A static number as a run-time value that the host function knows too."""
        with trace.within(self.host, self.host_entry):
            return type(number)(number.ir())

    def on_host(self, evaluate: Callable[[], Any]) -> Any | None:
        """The value of `evaluate()` in the host function; None where it needs a value that only the device has."""
        try:
            with trace.within(self.host, self.host_entry):
                return evaluate()
        except (OnDevice, DSLUserCodeError):
            return None

    def finish(self) -> None:
        """Close the last task, end them all and let the host function launch them."""
        self.close()
        tasks = [task for task in self.tasks if task.has_effects]
        if self.sections is None:
            return self._launch(tasks)
        with trace.within(self.host, self.host_entry):
            self.hidden.append(0)  # the number of the section: each call sets it
            self.host.slots.append("q")
            at = mlir.gep(self.host_entry.arguments[0], mlir.i8, trace.SLOT_BYTES * len(self.host.slots))
            wanted = Int64(mlir.load(at, mlir.i64, 8))
        for number in range(self.sections.count):
            flag = operate("eq", wanted, Int64(number))
            branch = mlir.op("scf.if", [], [flag.ir()], regions=2)
            with mlir.inside(branch.regions[0].blocks.append()):
                self._launch([task for task in tasks if task.section == number])
                mlir.op("scf.yield")

    def _launch(self, tasks: list[Task]) -> None:
        for task in tasks:
            task.end()
            params = tuple(kernel_parameter.of(leaf)[:2] for leaf in task.params)
            kernel = trace.Kernel(task.name, params, task.smem_bytes, tuple(task.allocations), task.place)
            config = trace.Launch((task.grid, 1, 1), task.block)
            trace.emit_launch(self.host, kernel, config, trace.triple(config.block, "block"), task.params)


def blocks_for(count: Any, block_dim: int) -> Any:
    """Blocks for a thread an iteration: on the host, at least one."""
    if not is_dynamic(count):
        return max(1, -(-int(count) // block_dim))
    wide = Int64(count)
    many = operate("floordiv", wide + (block_dim - 1), Int64(block_dim))
    return Int32(select(many < 1, Int64(1), many))


_open: Stack[Program] = Stack()


def dynamic(number: Numeric) -> Numeric:
    """A number as an SSA value, so that nothing takes it for known while compiling; the host function knows it too."""
    return number if isinstance(number.value, mlir.Value) else program().on_entry(number)


def program() -> Program:
    """The kernel being traced. Raises QuadrantsRuntimeError in plain Python."""
    current = _open.top()
    if current is None:
        raise QuadrantsRuntimeError("this works in a kernel or func only", "call it in a @qd.kernel")
    return current


def active() -> bool:
    """Whether a kernel is being traced."""
    return bool(_open)


@contextlib.contextmanager
def tracing(traced: Program) -> Iterator[None]:
    with _open.pushed(traced):
        try:
            yield
        except BaseException:
            trace.never_free(traced.tasks)
            raise
        finally:
            traced.inside.close()
