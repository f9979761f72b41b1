"""@qd.kernel and @qd.func: traced at the first call of each specialisation, compiled, called.

Each value of a template argument, and each element type and rank of an array, is a specialisation; a number never is.
Arguments, fields and the kernel's scratch memory reach the compiled host function as 8-byte slots.
"""

from __future__ import annotations

import __future__
import ctypes
import functools
import inspect
import struct
import types as python_types
from collections.abc import Callable, Sequence

from dsl.core import mlir, rewrite, rules, trace
from dsl.core.source import find_definition
from dsl.launch import compile, session
from dsl.quadrants import annotations, binder, errors, hooks, runtime, task, dtypes as types
from dsl.quadrants.annotations import MatrixAnnotation
from dsl.quadrants.dense import Indexed
from dsl.quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.lvalue import Lvalue, value_of
from dsl.quadrants.matrix import Matrix
from dsl.span import Span


class _Function:
    """A decorated function: its signature with annotations as objects, and its rewritten code."""

    grammar = None

    def __init__(self, function: Callable):
        functools.update_wrapper(self, function)
        self.function = function
        self.signature = inspect.signature(function)
        if not function.__code__.co_flags & __future__.annotations.compiler_flag:
            if any(isinstance(value, str) for value in function.__annotations__.values()):
                _ = self.annotations                                # raises for one that means nothing
        self.is_method = "." in function.__qualname__ and "<locals>" not in function.__qualname__.rpartition(".")[0][-8:] \
            and next(iter(self.signature.parameters), "") == "self"

    @functools.cached_property
    def annotations(self) -> dict[str, object]:
        """Annotations, evaluated where they are text."""
        found = {}
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        names = {}
        for name, cell in cells:
            try:
                names[name] = cell.cell_contents
            except ValueError:
                continue
        for name, value in getattr(self.function, "__annotations__", {}).items():
            try:
                found[name] = eval(value, self.function.__globals__, names) if isinstance(value, str) else value
            except (NameError, SyntaxError) as error:
                raise QuadrantsSyntaxError.at(f"Invalid type annotation of `{name}` in `{self.function.__qualname__}`: {error}",
                                              place=self.place()) from None
        return found

    @functools.cached_property
    def rewritten(self) -> python_types.FunctionType:
        from dsl.quadrants.surface import FUNC, KERNEL, REAL_FUNC
        grammar = KERNEL if isinstance(self, Kernel) else REAL_FUNC if isinstance(self, RealFunc) else FUNC
        return rewrite.rewrite(self.function, grammar)

    def place(self) -> Span:
        return Span(self.function.__code__.co_filename, self.function.__code__.co_firstlineno)

    def _arguments(self, arguments: tuple, keywords: dict, refuse: Callable) -> dict[str, object]:
        """The value of every parameter in order; `refuse(message)` makes the error for a call that does not fit."""
        parameters = self.signature.parameters
        if len(arguments) > len(parameters):
            wanted = ", ".join(f"{name} : {types.of(self.annotations.get(name)) or self.annotations.get(name)}"
                               for name in parameters)
            given = ", ".join([*map(str, arguments), *(f"{name}={value}" for name, value in keywords.items())])
            raise refuse(f"Too many arguments. Expected ({wanted}), got ({given}).")
        bound = dict(zip(parameters, arguments))
        for name, value in keywords.items():
            if name not in parameters:
                raise refuse(f"Unexpected argument '{name}'.")
            if name in bound:
                raise refuse(f"Multiple values for argument '{name}'.")
            bound[name] = value
        for name, parameter in parameters.items():
            if name not in bound and parameter.default is parameter.empty:
                raise refuse(f"Missing argument '{name}'.")
        return {name: bound.get(name, parameter.default) for name, parameter in parameters.items()}

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(_Method(self), instance)


class _Method:
    """A kernel or func as a method; it shows what the function does."""

    def __init__(self, function: _Function):
        self.function = function

    def __call__(self, instance, *arguments, **keywords):
        return self.function(instance, *arguments, **keywords)


class Func(_Function):
    """A `@qd.func`: inlined where a kernel calls it."""

    def __init__(self, function: Callable, requires_top_level: bool = False):
        super().__init__(function)
        self.requires_top_level = requires_top_level

    def __call__(self, *arguments, **keywords):
        if not task.active():
            raise AssertionError(f"@qd.func {self.__name__} is called from Python: only kernels and funcs call it")
        if self.requires_top_level and not task.program().is_top:
            raise QuadrantsSyntaxError.at(f"`{self.__name__}` requires the outermost scope of a kernel, and is called inside "
                                          "a run-time statement")
        bound = self._arguments(arguments, keywords, QuadrantsSyntaxError.at)
        return self._returned(self._run([self._argument(name, value) for name, value in bound.items()]))

    def _run(self, values: list) -> object:
        return self.rewritten(*values)

    def _argument(self, name: str, value: object) -> object:
        annotation = self.annotations.get(name)
        if annotations.is_template(annotation) or name == "self" and self.is_method:
            return value
        if annotations.is_array(annotation):
            if isinstance(value, Indexed):
                kind = annotations.kind_of(name, 0, annotation, self.__name__)
                kind.check(value.element_type, len(value.shape), value.element_shape)
            return value
        if isinstance(value, tuple):
            return tuple(self._argument("", part) for part in value)
        dtype = types.of(annotation) if annotation is not None else None
        if dtype is not None and not isinstance(value, Matrix):
            if types.number(value_of(value)) is None:
                raise QuadrantsTypeError.at(f"`{self.__name__}` takes a {dtype} for `{name}`, and got "
                                            f"{type(value).__name__}")
            value = dtype(value_of(value))
        if isinstance(annotation, MatrixAnnotation):
            if isinstance(value, Matrix) and value.shape != annotation.element_shape:
                raise QuadrantsSyntaxError.at(f"Argument {name} is expected to be a Matrix with n {annotation.element_shape[0]}, "
                                              f"but got {value.n}")
            value = annotation(value)
        return hooks.declare(value, name)

    def _returned(self, value: object) -> object:
        wanted = self.annotations.get("return")
        if value is None and wanted is not None:
            raise QuadrantsSyntaxError.at("Function has a return type but does not have a return statement", place=self.place())
        return hooks.converted(value, wanted)


class RealFunc(Func):
    """A `@qd.real_func`: may return early, and its loops are serial. It is inlined like any func."""

    def __init__(self, function: Callable):
        super().__init__(function)
        for name, parameter in self.signature.parameters.items():
            if parameter.annotation is parameter.empty:
                raise QuadrantsSyntaxError.at(f"`{name}` of real_func `{function.__name__}` must be type annotated",
                                              place=self.place())

    def _run(self, values: list) -> object:
        program = task.program()
        program.returns.append(self.annotations.get("return"))
        try:
            with program.nested("call"):
                value = self.rewritten(*values)
        finally:
            program.returns.pop()
        if value is not None and "return" not in self.annotations:
            raise QuadrantsSyntaxError.at("A real_func whose return value must be annotated has no annotation, e.g. "
                                          "def func() -> qd.f32", place=self.place())
        return value


class Specialised:
    """A kernel compiled for one specialisation."""

    def __init__(self, compiled: compile.Compiled, program: task.Program, kinds: list, arguments: tuple):
        self.compiled, self.shape = compiled, program.shape
        self.running, self.generation = session.current(), runtime.Runtime.generation
        self.device = self.running.device if compiled.launches else None
        self.scratch: runtime.Memory | None = None
        if program.scratch_bytes:
            self.scratch = runtime.Memory(program.scratch_bytes, f"variables of {program.name}")
            program.scratch_at = self.scratch.address
        self.hidden = [read() for read in program.hidden]       # fields keep their place until qd.init
        self.held = [source for source, _ in program.sources.values()]      # and live as long
        self.read_results = _reader(self.scratch, program.results) if program.results else None
        self.bind = binder.make(kinds, arguments, self.hidden, getattr(self.running.device, "wants_storages", True))

    def run(self, slots: Sequence, storages: Sequence) -> object:
        """Launch the tasks; what the kernel returns. `slots` are all of them."""
        if self.device is not None:
            try:
                self.compiled.call(slots, storages, self.device)
            except Exception as error:
                raise errors.of_launch(error) from None
        return None if self.read_results is None else self.shape(self.read_results())


def _reader(scratch: runtime.Memory, results: list) -> Callable[[], tuple]:
    """A function that reads what a kernel left in its scratch memory: (element type, offset in bytes) each, in order."""
    first = results[0][1]
    form = struct.Struct("<" + "".join(f"{runtime.format_of(dtype)}{8 - dtype.bytes}x" for dtype, _ in results))
    if scratch.device.kind == "emulator":                       # its memory is the host's
        memory = (ctypes.c_char * form.size).from_address(scratch.address + first)
        return lambda: form.unpack_from(memory)
    return lambda: form.unpack(scratch.read(first, form.size))


class Kernel(_Function):
    """A `@qd.kernel`."""

    def __init__(self, function: Callable):
        super().__init__(function)
        self._specialised: dict[tuple, Specialised] = {}
        self._generation = -1
        self._kinds: list | None = None
        self._last: Specialised | None = None
        self._count = len(self.signature.parameters)
        for name, parameter in self.signature.parameters.items():
            self._check_parameter(name, parameter)

    def _check_parameter(self, name: str, parameter: inspect.Parameter) -> None:
        def refuse(text: str) -> QuadrantsSyntaxError:
            return QuadrantsSyntaxError.at(text, place=self.place())
        if parameter.kind is parameter.VAR_KEYWORD:
            raise refuse("Quadrants kernels do not support variable keyword parameters (i.e., **kwargs)")
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise refuse("Quadrants kernels do not support variable positional parameters (i.e., *args)")
        if parameter.default is not parameter.empty:
            raise refuse("Quadrants kernels do not support default values for arguments")
        if parameter.annotation is parameter.empty and name != "self":
            raise refuse("Quadrants kernels parameters must be type annotated")

    def __get__(self, instance, owner=None):
        if instance is not None and not hasattr(instance, "_data_oriented"):
            raise QuadrantsSyntaxError(f"Please decorate class {type(instance).__name__} with @qd.data_oriented")
        return super().__get__(instance, owner)

    @property
    def kinds(self) -> list:
        """How each parameter is passed."""
        if self._kinds is None:
            found = []
            for position, name in enumerate(self.signature.parameters):
                if name == "self" and position == 0 and name not in self.annotations:
                    found.append(annotations.TemplateKind())
                else:
                    found.append(annotations.kind_of(name, position, self.annotations.get(name), self.__name__))
            self._kinds = found
        return self._kinds

    def __call__(self, *arguments, **keywords):
        found = self._last
        if found is not None and not keywords and found.generation == runtime.Runtime.generation and \
                found.bind is not None and len(arguments) == self._count and session.is_current(found.running):
            bound = found.bind(*arguments)
            if bound is not None:
                return found.run(*bound)
        if task.active():
            raise QuadrantsSyntaxError.at("Kernels cannot call other kernels", fix="make it a @qd.func to inline it")
        if keywords or len(arguments) != len(self.signature.parameters):
            arguments = self._bound(arguments, keywords)
        if self._generation != runtime.Runtime.generation:
            runtime.check()
            self._specialised.clear()
            self._kinds, self._generation = None, runtime.Runtime.generation
        kinds = self.kinds
        key = tuple([kind.key(value) for kind, value in zip(kinds, arguments)])
        found = self._specialised.get(key)
        if found is None or not session.is_current(found.running):
            runtime.check()
            found = self._specialised[key] = self._specialise(arguments)
        slots: list = []
        storages: list = []
        for kind, value in zip(kinds, arguments):
            kind.read(value, slots, storages)
        self._last = found
        return found.run(slots + found.hidden, storages)

    def _bound(self, arguments: tuple, keywords: dict) -> tuple:
        return tuple(self._arguments(arguments, keywords, QuadrantsSyntaxError).values())

    # --- compiling ---

    def _specialise(self, arguments: tuple) -> Specialised:
        typed = [kind.typed(value) for kind, value in zip(self.kinds, arguments)]
        made: list = []

        def body(*values):
            program = task.Program(trace.symbol(self.__name__), trace.host())
            made.append(program)
            config = runtime.check()
            program.debug, program.unrolling_limit = config.debug, config.unrolling_limit
            with task.tracing(program), rules.using(types.RULES):
                program.open()
                returned = self.rewritten(*values)
                self._leave(program, returned)
                program.finish()
        with errors.at_boundary():
            traced = trace.trace_host(trace.symbol(self.__name__), body, typed)
        program = made[0]
        return Specialised(compile.compile(traced), program, self.kinds, arguments)

    def _leave(self, program: task.Program, value: object) -> None:
        """Store what the kernel returns where Python finds it."""
        wanted = self.annotations.get("return")
        if value is None:
            if wanted is not None and wanted is not type(None) and "return" in self.annotations:
                raise QuadrantsSyntaxError.at("Kernel has a return type but does not have a return statement",
                                              place=self.place())
            program.results, program.shape = [], None
            return
        if wanted is None:
            raise QuadrantsSyntaxError.at("A kernel with a return value must be annotated with a return type, e.g. "
                                          "def func() -> qd.f32", place=self.place())
        wanted = wanted.__args__ if getattr(wanted, "__origin__", None) is tuple else wanted
        parts = [(value, wanted)]
        if isinstance(wanted, tuple):
            values = value if isinstance(value, tuple) else (value,)
            if len(values) != len(wanted):
                raise QuadrantsCompilationError.at(f"the kernel returns {len(values)} values, and {len(wanted)} are annotated",
                                                   place=self.place())
            parts = list(zip(values, wanted))
        numbers, makers = [], []
        for part, annotation in parts:
            taken, maker = self._result(part, annotation)
            makers.append((len(taken), maker))
            numbers += taken
        offset = program.reserve(8 * len(numbers))
        program.task.effect()
        program.results = []
        for k, (dtype, number) in enumerate(numbers):
            at = offset + 8 * k
            pointer = task.Pointer(dtype.core, program.scratch_address(at), task.AddressSpace.gmem)
            pointer.store(dtype.core(number))
            program.results.append((dtype, at))

        def shape(values: list) -> object:
            remaining = iter(values)
            made = tuple(maker([next(remaining) for _ in range(count)]) for count, maker in makers)
            return made if isinstance(wanted, tuple) else made[0]
        program.shape = shape

    def _result(self, value: object, annotation: object) -> tuple[list, Callable]:
        value = hooks.copied(value)
        if isinstance(annotation, MatrixAnnotation):
            if not isinstance(value, Matrix) or value.shape != annotation.element_shape:
                raise QuadrantsTypeError.at(f"the kernel returns a {annotation}", place=self.place())
            dtype = annotation.dtype or types.Defaults.fp
            return [(dtype, types.number(value_of(entry))) for entry in value.entries], \
                lambda numbers: _of_numpy(numbers, dtype, annotation.element_shape)
        dtype = types.of(annotation)
        if dtype is None:
            raise QuadrantsSyntaxError.at(f"{annotation!r} is no type that a kernel can return", place=self.place())
        number = types.number(value)
        if number is None:
            raise QuadrantsTypeError.at(f"the kernel returns a {dtype}, and this is {type(value).__name__}",
                                        place=self.place())
        return [(dtype, number)], lambda numbers: numbers[0]


def _of_numpy(numbers: list, dtype: types.DataType, shape: tuple[int, ...]) -> Matrix:
    """A matrix whose numbers keep their type in Python."""
    import numpy
    return Matrix(list(numpy.array(numbers, dtype.numpy_name)), shape=shape)


def kernel(function: Callable | None = None, **_options) -> Kernel:
    """A function whose outermost loops run on the device, a thread an iteration."""
    return kernel if function is None else Kernel(function)


def func(function: Callable | None = None, *, requires_top_level: bool = False):
    """A function that kernels and other funcs call; it becomes part of them."""
    if function is None:
        return lambda found: Func(found, requires_top_level)
    return Func(function, requires_top_level)


def real_func(function: Callable) -> RealFunc:
    """A func that may return early."""
    return RealFunc(function)


def data_oriented(cls: type) -> type:
    """A class whose methods may be kernels: attributes that are numbers are known while compiling."""
    cls._data_oriented = True
    return cls
