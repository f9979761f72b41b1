"""@qd.kernel: traced at the first call of each specialisation, compiled, called.

Each value of a template argument, and each element type and rank of an array, is a specialisation; a number never is.
Arguments, fields and the kernel's scratch memory reach the compiled host function as 8-byte slots.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import functools
import inspect
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dsl.core import number_rules, pytree, trace
from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.launch import session
from dsl.launch.call.compiling import compiler
from dsl.quadrants import runtime, streams
from dsl.quadrants.errors import error_conversion
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import (
    QuadrantsCompilationError,
    QuadrantsRuntimeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from dsl.quadrants.functions import annotations, binder, parameter_kinds, task
from dsl.quadrants.functions.annotations import MatrixAnnotation
from dsl.quadrants.functions.decorated_function import Function, argument_place
from dsl.quadrants.functions.sections import GraphStatus, Run
from dsl.quadrants.functions.signature import checked
from dsl.quadrants.functions.struct_types import StructType
from dsl.quadrants.memory import captured
from dsl.quadrants.memory.ndarray import ArrayView
from dsl.quadrants.memory.staging import staged
from dsl.quadrants.syntax import hooks, surface
from dsl.quadrants.values import dtypes as types, philox
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix
from dsl.quadrants.values.structure import Struct, made_of
from dsl.span import Span


class Specialised:
    """A kernel compiled for one specialisation."""

    def __init__(self, compiled: compiler.Compiled, program: task.Program, kinds: list, arguments: Sequence):
        self.compiled, self.shape = compiled, program.shape
        self.running, self.epoch = session.current(), runtime.Runtime.epoch
        self.device = self.running.device if compiled.launches else None
        self.scratch: runtime.Memory | None = None
        self.read_results: Callable[[], tuple] | None = None
        if program.scratch_bytes:
            self.scratch = runtime.Memory(program.scratch_bytes, f"variables of {program.name}")
            program.scratch_at = self.scratch.address
            if program.results:
                self.read_results = _reader(self.scratch, program.results)
        self.hidden = [part.read() if isinstance(part, task.Fixed) else part for part in program.hidden]
        self.sections = program.sections
        self.held = [source for source, _ in program.sources.values()]  # and live as long
        self.kinds, self.bind = kinds, binder.make(kinds, arguments, self.hidden, self.running.device)

    def is_alive(self) -> bool:
        """Whether the run it was compiled in goes on, and no field that it has was destroyed."""
        if any(getattr(source, "unusable", None) for source in self.held):
            return False
        self.epoch = runtime.Runtime.epoch
        return session.is_current(self.running)

    def hidden_slots(self, arguments: Sequence) -> list | None:
        """The further slots of a call; None where what its arguments lead to is of another type than was compiled."""
        all_slots: list = []
        for part in self.hidden:
            slots = [part] if isinstance(part, int) else part.slots(arguments)
            if slots is None:
                return None
            all_slots += slots
        changed = [part for part in self.hidden if isinstance(part, captured.Frozen) and part.has_changed]
        if changed:
            self.hidden = [part for part in self.hidden if part not in changed or not part.is_settled]
            self.bind = binder.make(self.kinds, arguments, self.hidden, self.running.device)
        return all_slots

    def run(self, slots: Sequence, storages: Sequence, first: int = 0) -> Any:
        """Launch the tasks, and return the value of the kernel. `slots`: of the arguments and the hidden ones; `first`:
        the stage at which a launch resumes."""
        launch = self.compiled.call if self.sections is None else functools.partial(self._launch_sections, first)
        status = None
        if self.device is not None:
            try:
                if storages and self.device.kind == "cuda":
                    with staged(self.device, slots, self.compiled.traced.slots, storages) as moved:
                        status = launch(moved, (), self.device)
                else:
                    status = launch(slots, storages, self.device)
            except Exception as error:
                raise error_conversion.of_launch(error) from None
        if self.sections is not None and self.sections.labels:
            return status or GraphStatus(False, None)
        if self.read_results is None or self.shape is None:
            return None
        return self.shape(self.read_results())

    def _launch_sections(self, first: int, slots: Sequence, storages: Sequence, device: Any) -> GraphStatus:
        numbered, sections, scratch = list(slots), self.sections, self.scratch
        assert sections is not None

        def launch(number: int) -> None:
            numbered[-1] = number
            self.compiled.call(numbered, storages, device)

        def flag(offset_bytes: int) -> int:
            assert scratch is not None
            return int.from_bytes(scratch.read(offset_bytes, 4), "little")

        run = Run(launch, flag, first)
        run.run(sections.parts)
        return run.status


def _reader(scratch: runtime.Memory, results: list) -> Callable[[], tuple]:
    """A function that reads a kernel's results from its scratch memory; `results`: (element type, offset in bytes)."""
    first = results[0][1]
    form = struct.Struct("<" + "".join(f"{runtime.format_of(dtype)}{8 - dtype.bytes}x" for dtype, _ in results))
    if scratch.device.kind == "emulator":  # its memory is host memory
        memory = (ctypes.c_char * form.size).from_address(scratch.address + first)
        return lambda: form.unpack_from(memory)
    return lambda: form.unpack(scratch.read(first, form.size))


def _named(name: str, value: Any, kind: Any) -> dict[mlir.Value, str]:
    """The author's names of an argument's values: `a` for the first, `a_1`, `a_2`... for the others, `s_x` of `s.x`."""
    if isinstance(kind, parameter_kinds.Parts):
        parts_of = [(f"{name}_{key}", kind.part(value, key), part) for key, part in kind.kinds.items()]
        return {value: text for each in parts_of for value, text in _named(*each).items()}
    parts = (
        [value.address, *value.shape] if isinstance(value, ArrayView) else pytree.flatten((value,), promote=False)[0]
    )
    return {part.ir(): name if not k else f"{name}_{k}" for k, part in enumerate(parts)}


class Kernel(Function):
    """A `@qd.kernel`."""

    grammar = surface.KERNEL

    def __init__(self, function: Callable, is_graph: bool = False, checkpoints: bool = False):
        super().__init__(function)
        self.is_graph, self.checkpoints = is_graph, checkpoints
        if checkpoints:
            self.grammar = surface.CHECKPOINTS
            if not is_graph:
                raise QuadrantsSyntaxError.at(
                    "@qd.kernel(checkpoints=True) requires graph=True",
                    "write @qd.kernel(graph=True, checkpoints=True)",
                    self.place(),
                )
        self._specialised: dict[tuple, list[Specialised]] = {}
        self._generation = -1
        self._kinds: list | None = None
        self._last: Specialised | None = None
        self._count = len(self.signature.parameters)
        for name, parameter in self.signature.parameters.items():
            self._check_parameter(name, parameter)

    def _check_parameter(self, name: str, parameter: inspect.Parameter) -> None:
        for wrong, text, fix in (
            (
                parameter.kind is parameter.VAR_KEYWORD,
                "Quadrants kernels do not support variable keyword parameters (i.e., **kwargs)",
                "name every parameter",
            ),
            (
                parameter.kind is parameter.VAR_POSITIONAL,
                "Quadrants kernels do not support variable positional parameters (i.e., *args)",
                "name every parameter",
            ),
            (
                parameter.default is not parameter.empty,
                "Quadrants kernels do not support default values for arguments",
                "drop the default, and pass the value at every call",
            ),
            (
                parameter.annotation is parameter.empty and name != "self",
                "Quadrants kernels parameters must be type annotated",
                f"for example `{name}: qd.i32`, `{name}: qd.types.ndarray()` or `{name}: qd.Template`",
            ),
        ):
            if wrong:
                raise QuadrantsSyntaxError.at(text, fix, self.parameter_place(name))

    def __get__(self, instance, owner=None):
        if instance is not None and not hasattr(instance, "_data_oriented"):
            name = type(instance).__name__
            raise QuadrantsSyntaxError.at(
                f"Please decorate class {name} with @qd.data_oriented",
                f"write `@qd.data_oriented` above `class {name}:`",
                also=((self.place(), "this kernel is a method of it"),),
            )
        bound = super().__get__(instance, owner)
        if instance is not None:
            vars(bound)["resume"] = functools.partial(self.resume, instance)
        return bound

    def resume(self, *arguments: Any, from_checkpoint: int, **keywords: Any) -> GraphStatus:
        """Launch again from the checkpoint with this label on: loops and checkpoints before it are left out.

        Raises QuadrantsRuntimeError where the kernel has no such checkpoint.
        """
        if not isinstance(from_checkpoint, int) or isinstance(from_checkpoint, bool):
            raise QuadrantsRuntimeError(
                f"from_checkpoint must be an int or IntEnum value, got {described(from_checkpoint)}",
                "pass `status.checkpoint` of the launch that paused",
            )
        if not self.checkpoints:
            raise QuadrantsRuntimeError(
                f"`{self.__name__}` has no checkpoints", "decorate it with @qd.kernel(graph=True, checkpoints=True)"
            )
        specialised, slots, storages = self._read(arguments, keywords)
        labels = specialised.sections.labels if specialised.sections is not None else {}
        if from_checkpoint not in labels:
            raise QuadrantsRuntimeError(
                f"from_checkpoint={from_checkpoint!r} does not match any qd.checkpoint(cp_id=...) in kernel "
                f"`{self.__name__}`",
                f"pass one of its labels: {', '.join(map(repr, labels)) or 'it has none'}",
            )
        return specialised.run(slots, storages, labels[from_checkpoint])

    @property
    def kinds(self) -> list:
        """The kind of each parameter."""
        if self._kinds is None:
            kinds = []
            for position, name in enumerate(self.signature.parameters):
                if name == "self" and position == 0 and name not in self.annotations:
                    kinds.append(annotations.TemplateKind())
                else:
                    with self._placed(self.parameter_place(name)):
                        kinds.append(parameter_kinds.kind_of(name, position, self.annotations.get(name), self.__name__))
            self._kinds = kinds
        return self._kinds

    @property
    def cuda_source(self) -> str:
        """The tasks of the specialisation called last as CUDA C++ (docs/readable-cuda.md).

        Raises QuadrantsRuntimeError where it was not called yet, DSLUserCodeError for what has no spelling in CUDA C++.
        """
        if self._last is None:
            raise QuadrantsRuntimeError(f"`{self.__name__}` was not called yet: a call compiles it", "call it first")
        from dsl.launch.call.compiling.readable_text import cuda_source  # most programs never ask

        return cuda_source(self._last.compiled.traced.device_mlir)

    def __call__(self, *arguments, **keywords):
        specialised = self._last
        if (
            specialised is not None
            and not keywords
            and specialised.epoch == runtime.Runtime.epoch
            and specialised.bind is not None
            and len(arguments) == self._count
            and session.is_current(specialised.running)
        ):
            bound = specialised.bind(*arguments)
            if bound is not None:
                return specialised.run(*bound)
        specialised, slots, storages = self._read(arguments, keywords)
        return specialised.run(slots, storages)

    def _read(self, arguments: tuple, keywords: dict) -> tuple[Specialised, list, list]:
        """The specialisation for a call, compiled where there is none yet, its slots, and the arrays of the host."""
        if task.active():
            raise QuadrantsSyntaxError.at("Kernels cannot call other kernels", fix=f"make `{self.__name__}` a @qd.func")
        if "qd_stream" in keywords and "qd_stream" not in self.signature.parameters:
            streams.check_launch(keywords.pop("qd_stream"), self.is_graph)
        if keywords or len(arguments) != len(self.signature.parameters):
            arguments = self._bound(arguments, keywords)
        if self._generation != runtime.Runtime.generation:
            runtime.check()
            self._specialised.clear()
            self._kinds, self._generation = None, runtime.Runtime.generation
        kinds = self.kinds
        key = tuple(self._each("key", kinds, arguments))
        specialised, hidden = self._fitting(key, arguments)
        slots: list = []
        storages: list = []
        self._each("read", kinds, arguments, slots, storages)
        self._last = specialised
        return specialised, slots + hidden, storages

    def _fitting(self, key: tuple, arguments: Sequence) -> tuple[Specialised, list]:
        """The specialisation for a call, compiled where there is none yet, and its further slots."""
        fitting = self._specialised.setdefault(key, [])
        fitting[:] = [each for each in fitting if each.is_alive()]
        for each in fitting:
            hidden = each.hidden_slots(arguments)
            if hidden is not None:
                return each, hidden
        runtime.check()
        specialised = self._specialise(arguments)
        fitting.append(specialised)
        hidden = specialised.hidden_slots(arguments)
        assert hidden is not None  # compiled for these arguments
        return specialised, hidden

    def _bound(self, arguments: tuple, keywords: dict) -> tuple:
        return tuple(self._arguments(arguments, keywords).values())

    def _each(self, step: str, kinds: list, arguments: tuple, *more) -> list:
        """`step` of every argument's kind. An error of one is reported at that argument of the call."""
        results = []
        try:
            for kind, value in zip(kinds, arguments):
                results.append(getattr(kind, step)(value, *more))
        except DSLUserCodeError as error:
            name = list(self.signature.parameters)[len(results)]
            error.place = argument_place(error.place, len(results) - self.is_method, name)
            error.also = ((self.parameter_place(name), f"`{name}` is declared here"),)
            raise
        return results

    @contextlib.contextmanager
    def _placed(self, place: Span) -> Iterator[None]:
        try:
            yield
        except DSLUserCodeError as error:
            error.place = place
            raise

    # --- compiling ---

    def _specialise(self, arguments: Sequence) -> Specialised:
        typed = [kind.typed(value) for kind, value in zip(self.kinds, arguments)]
        programs: list = []

        def body(*values):
            program = task.Program(trace.symbol(self.__name__), trace.host())
            programs.append(program)
            config = runtime.check()
            program.is_graph, program.checkpoints = self.is_graph, self.checkpoints
            program.debug, program.unrolling_limit = config.debug, config.unrolling_limit
            for name, value, kind in zip(self.signature.parameters, values, self.kinds):
                program.names.update(_named(name, value, kind))
            with task.tracing(program), number_rules.using(types.RULES):
                program.open()
                captured.begin(program, list(self.signature.parameters), self.kinds, arguments)
                returned = self.rewritten(*values)
                self._leave(program, returned)
                philox.advance(program)
                program.finish()

        with error_conversion.converted():
            compiled = compiler.compile(trace.trace_host(trace.symbol(self.__name__), body, typed))
        program = programs[0]
        return Specialised(compiled, program, self.kinds, arguments)

    def _leave(self, program: task.Program, value: Any) -> None:
        """Store the returned value of the kernel in its scratch memory, and note how Python reads it."""
        wanted = self.annotations.get("return")
        if value is None:
            if wanted is not None and wanted is not type(None) and "return" in self.annotations:
                raise QuadrantsSyntaxError.at(
                    "Kernel has a return type but does not have a return statement",
                    "return a value, or drop the annotation",
                    self.parameter_place("return"),
                )
            program.results, program.shape = [], None
            return
        if wanted is None:
            raise QuadrantsSyntaxError.at(
                "A kernel with a return value must be annotated with a return type",
                f"for example `def {self.__name__}(...) -> qd.f32:`",
                self.place(),
                self._returns(),
            )
        wanted = wanted.__args__ if getattr(wanted, "__origin__", None) is tuple else wanted
        parts = [(value, wanted)]
        if isinstance(wanted, tuple):
            values = value if isinstance(value, tuple) else (value,)
            if len(values) != len(wanted):
                raise QuadrantsCompilationError.at(
                    f"the kernel returns {len(values)} values, but {len(wanted)} are annotated",
                    "annotate each: `-> (qd.i32, qd.f32)`",
                    self.parameter_place("return"),
                    self._returns(),
                )
            parts = list(zip(values, wanted))
        numbers, makers = [], []
        for part, annotation in parts:
            parts_of, maker = self._result(part, annotation)
            makers.append((len(parts_of), maker))
            numbers += parts_of
        offset = program.reserve(8 * len(numbers))
        program.task.effect()
        program.results = []
        for k, (dtype, number) in enumerate(numbers):
            at = offset + 8 * k
            pointer = task.Pointer(dtype.core, program.scratch_address(at), task.AddressSpace.gmem)
            pointer.store(dtype.core(number))
            program.results.append((dtype, at))

        def shape(values: list) -> Any:
            remaining = iter(values)
            results = tuple(maker([next(remaining) for _ in range(count)]) for count, maker in makers)
            return results if isinstance(wanted, tuple) else results[0]

        program.shape = shape

    def _returns(self) -> tuple[tuple[Span, str], ...]:
        """Its `return`, as a further place of an error."""
        nodes = [] if self._definition is None else ast.walk(self._definition)
        node = next((node for node in nodes if isinstance(node, ast.Return) and node.value is not None), None)
        if node is None or node.end_col_offset is None:
            return ()
        file = self.function.__code__.co_filename
        place = Span(file, node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1)
        return ((place, "it is returned here"),)

    def _result(self, value: Any, annotation: Any) -> tuple[list, Callable]:
        value = hooks.copied(value)
        place, also = self.parameter_place("return"), self._returns()
        if isinstance(annotation, MatrixAnnotation):
            if not isinstance(value, Matrix) or value.shape != annotation.element_shape:
                raise QuadrantsTypeError.at(
                    f"the kernel must return a {annotation.described()}, got {described(value)}",
                    "return what is annotated, or annotate what is returned",
                    place,
                    also,
                )
            dtype = annotation.dtype or types.Defaults.fp
            return [(dtype, types.number(value_of(entry))) for entry in value.entries], lambda numbers: _of_numpy(
                numbers, dtype, annotation.element_shape
            )
        if isinstance(annotation, StructType):
            if not isinstance(value, Struct) or set(value.keys) != set(annotation.members):
                raise QuadrantsTypeError.at(
                    f"the kernel must return {annotation.described()}, got {described(value)}",
                    "return what is annotated, or annotate what is returned",
                    place,
                    also,
                )
            results = {name: self._result(value[name], part) for name, part in annotation.members.items()}
            return [number for numbers, _ in results.values() for number in numbers], lambda numbers: made_of(
                _taken(numbers, results), annotation.methods
            )
        dtype = types.of(annotation)
        if dtype is None:
            raise QuadrantsSyntaxError.at(
                f"a kernel cannot return {described(annotation)}",
                "annotate an element type, for example `-> qd.f32`, or a vector type",
                place,
            )
        number = types.number(value)
        if number is None:
            raise QuadrantsTypeError.at(
                f"the kernel must return {an(dtype)}, got {described(value)}", _return_fix(value), place, also
            )
        return [(dtype, number)], lambda numbers: numbers[0]


def _taken(numbers: Sequence, results: dict[str, tuple[list, Callable]]) -> dict[str, Any]:
    """The members of a returned struct, each made of its part of the numbers."""
    remaining = iter(numbers)
    return {name: make([next(remaining) for _ in parts]) for name, (parts, make) in results.items()}


def _return_fix(value: Any) -> str:
    if isinstance(value, Matrix):
        return (
            f"annotate its type: `-> qd.types.vector({value.n}, qd.f32)`"
            if value.ndim == 1
            else f"annotate its type: `-> qd.types.matrix({value.n}, {value.m}, qd.f32)`"
        )
    return "annotate each: `-> (qd.i32, qd.i32)`" if isinstance(value, tuple) else "return a number"


def _of_numpy(numbers: list, dtype: types.DataType, shape: tuple[int, ...]) -> Matrix:
    """A matrix whose numbers keep their type in Python."""
    import numpy

    return Matrix(list(numpy.array(numbers, dtype.numpy_name)), shape=shape)


@checked
def kernel(
    function: Callable | None = None,
    *,
    pure: bool | None = None,
    fastcache: bool = False,
    graph: bool = False,
    checkpoints: bool = False,
) -> Kernel | Callable[[Callable], Kernel]:
    """A function whose outermost loops run on the device, a thread an iteration.

    `graph` allows `qd.graph.do_while` and parallel sections; with `checkpoints` every call gives a GraphStatus. The
    other options change nothing.
    """
    if function is None:
        return functools.partial(kernel, pure=pure, fastcache=fastcache, graph=graph, checkpoints=checkpoints)
    return Kernel(_authors(function, "kernel"), bool(graph), bool(checkpoints))


def _authors(function: Any, word: str) -> Callable:
    """`function`, if the author wrote it. Raises QuadrantsTypeError."""
    if not hasattr(function, "__code__"):
        raise QuadrantsTypeError.at(
            f"@qd.{word} decorates a function, got {described(function)}", f"write @qd.{word} over a `def`"
        )
    return function


@checked
def data_oriented(cls: type | None = None, *, stable_members: bool = False, template_primitives: bool = True):
    """A class whose methods may be kernels: attributes that are numbers are known while compiling.

    With `template_primitives=False` they are run-time values, read at every call. `stable_members` promises that arrays
    are not replaced, which nothing here needs.
    """
    if cls is None:
        return functools.partial(data_oriented, stable_members=stable_members, template_primitives=template_primitives)
    if not isinstance(cls, type):
        raise QuadrantsTypeError.at(
            f"@qd.data_oriented decorates a class, got {described(cls)}", "write it over a class"
        )
    cls._data_oriented, cls._template_primitives = True, bool(template_primitives)
    return cls
