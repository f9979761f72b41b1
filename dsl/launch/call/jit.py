"""Functions of the author: rewritten on first use, traced with typed arguments, compiled, called.

A direct call of a jit function finds what an earlier one compiled, where nothing that its tracing read can have changed
(known_calls). Else it is traced anew, and the compiled code found by its text: nothing it read (a global, a closure, a
helper) can be stale.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import linecache
import types
from typing import Any

from dsl.core import trace
from dsl.core.diagnosis import author_traceback
from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.core.errors import DSLUserCodeError, DSLUserCodeRuntimeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Float, Float32, Numeric, NumericMeta, is_dynamic, of_python
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import Pointer
from dsl.core.syntax import function_source, rewrite
from dsl.core.syntax.rewrite_expression import Grammar
from dsl.launch import session
from dsl.launch.argument import abi, containers, kinds, returned_values
from dsl.launch.call import argument_reader, call_cache, compiler, launch_keywords, launch_limits
from dsl.layout import Layout
from dsl.span import Span, here
from dsl.tile.tensor import Tensor


class _Function:
    """A decorated function of the author and its surface's grammar."""

    @author_traceback.guarded
    def __init__(self, function: types.FunctionType, grammar: Grammar, static_marker: type):
        if not isinstance(function, types.FunctionType):
            raise _not_decorable(function)
        functools.update_wrapper(self, function)
        function_source.note(function)
        self.function, self.grammar, self.static_marker = function, grammar, static_marker
        self.symbol = function.__name__  # what the names of its code in PTX begin with

    @functools.cached_property
    def rewritten(self) -> types.FunctionType:
        return rewrite.rewrite(self.function, self.grammar)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @functools.cached_property
    def annotations(self) -> dict[str, Any]:
        """Annotations as objects; one that cannot be evaluated counts as none."""
        resolved = {}
        for name, value in getattr(self.function, "__annotations__", {}).items():
            if isinstance(value, str):
                value = self._evaluate(value)
            resolved[name] = value
        return resolved

    def _evaluate(self, text: str) -> Any:
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        names = {name: cell.cell_contents for name, cell in cells if cell is not None}
        try:
            return eval(text, self.function.__globals__, names)  # an annotation is the author's own expression
        except Exception:  # whatever it does, it only loses its annotation
            return None

    def set_name_prefix(self, prefix: str) -> None:
        """Let the names of this function's code in PTX begin with `prefix`."""
        self.symbol = f"{prefix}_{self.function.__name__}"

    def is_static(self, name: str) -> bool:
        """Whether parameter `name` is annotated as known while compiling."""
        return self.annotations.get(name) is self.static_marker

    def typed(self, name: str, value: Any) -> Any:
        """How `value` is passed for parameter `name` from Python. Raises DSLUserCodeTypeError where it cannot be."""
        annotation = self.annotations.get(name)
        _check_argument(self.__name__, name, value, annotation)
        try:
            return kinds.typed(value, annotation, self.static_marker)
        except RecursionError:
            raise DSLUserCodeTypeError(
                f"`{self.__name__}` gets a container for `{name}` that contains itself",
                fix="pass its parts",
                id="ARG_UNSUPPORTED_TYPE",
            ) from None

    def bind(self, args: tuple, keywords: dict) -> inspect.BoundArguments:
        try:
            bound = self.signature.bind(*args, **keywords)
        except TypeError as error:
            raise self._mismatch(str(error), args, keywords) from None
        bound.apply_defaults()
        return bound

    def _mismatch(self, text: str, args: tuple, keywords: dict) -> DSLUserCodeTypeError:
        """The error of a call that does not fit the signature, with the function's own line."""
        parameters = self.signature.parameters
        definition = ((_definition(self.function.__code__), f"`{self.__name__}` is defined here"),)
        unknown = [name for name in keywords if name not in parameters]
        if "missing" in text:
            id, what = "CALL_MISSING_ARG", "lacks" + text.partition("required")[2].replace(": ", " ")
        elif unknown:
            id, what = "CALL_UNEXPECTED_KWARG", f"has no parameter `{unknown[0]}`"
        else:
            most = f"{len(parameters)} argument{'s' * (len(parameters) != 1)}"
            id, what = "CALL_EXTRA_ARG", f"takes {most}, got {len(args) + len(keywords)}"
        return DSLUserCodeTypeError(
            f"`{self.__name__}` {what}",
            id=id,
            also=definition,
            fix=f"call it as `{self.__name__}({', '.join(map(_spelt, parameters.values()))})`",
        )

    def __reached__(self) -> tuple:
        """What dynamic statements reach through this: core.heap."""
        return (self.function,)

    def __get__(self, instance, owner=None):
        return self if instance is None else _Bound(self, instance)


class _Bound:
    """A method: the function with its instance as the first argument."""

    def __init__(self, function: _Function, instance: Any):
        self.function, self.instance = function, instance
        self.__name__ = function.__name__

    def __call__(self, *args, **keywords):
        return self.function(self.instance, *args, **keywords)

    def __reached__(self) -> tuple:
        return (self.instance, self.function)


def _not_decorable(value: Any) -> DSLUserCodeTypeError:
    """The error of a decorator over `value`, which is no function."""
    inner = value.function if isinstance(value, (_Function, _Bound)) else getattr(value, "__func__", None)
    if inner is not None:
        return DSLUserCodeTypeError(
            f"decorates `{inner.__name__}`, which another decorator has made {type_name(value)}",
            fix="put it directly over the `def`, and only once",
            id="UNSUP_DECORATOR_ORDER",
        )
    what = f"`{value.__name__}`" if hasattr(value, "__name__") else type_name(value)
    return DSLUserCodeTypeError(
        f"decorates {what}, but needs a function written in Python",
        id="ARG_UNSUPPORTED_TYPE",
        fix="decorate a `def`, and call it there",
    )


def _definition(code: types.CodeType) -> Span:
    """The line with the `def` of a function, below its decorators."""
    line = code.co_firstlineno
    while (text := linecache.getline(code.co_filename, line)) and not text.lstrip().startswith(("def ", "async def ")):
        line += 1
    return Span(code.co_filename, line if text else code.co_firstlineno)


def _spelt(parameter: inspect.Parameter) -> str:
    """A parameter without its annotation: `n`, `n=3`, `*args`."""
    return str(parameter.replace(annotation=parameter.empty)).replace(" = ", "=")


def _check_argument(function: str, name: str, value: Any, annotation: Any) -> None:
    """Raise the author's error for what no parameter takes, and for a tensor in place of a number or the reverse."""
    if isinstance(value, (set, frozenset)):
        raise DSLUserCodeTypeError(
            f"`{function}` takes no set for `{name}`: a set has no order",
            fix="pass a tuple or a list",
            id="ARG_UNORDERED_CONTAINER",
        )
    if isinstance(value, (str, bytes, complex)):
        raise DSLUserCodeTypeError(
            f"`{function}` cannot take a {type(value).__name__} for `{name}` at run time",
            id="ARG_UNSUPPORTED_TYPE",
            fix=f"annotate it as static: `{name}: cutlass.Constexpr`",
        )
    is_number = of_python(value) is not None or isinstance(value, Numeric)
    if annotation is Tensor and is_number:
        raise DSLUserCodeTypeError(
            f"`{function}` takes a Tensor for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix="pass an array or a torch tensor, or from_dlpack(...)",
        )
    if isinstance(annotation, NumericMeta) and (kinds.is_tensor(value)):
        raise DSLUserCodeTypeError(
            f"`{function}` takes {annotation} for `{name}`, got a tensor",
            id="ARG_ANNOTATION_MISMATCH",
            fix=f"annotate `{name}: cute.Tensor`, or pass a number",
        )
    if isinstance(annotation, NumericMeta) and not (is_number or value is None or hasattr(value, "item")):
        raise DSLUserCodeTypeError(
            f"`{function}` takes {annotation} for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix="pass a number",
        )


def _check_passed(function: str, name: str, value: Any, annotation: Any) -> None:
    """Raise the author's error for a value of another kind than a kernel's parameter is annotated with."""
    is_number = of_python(value) is not None or isinstance(value, Numeric)
    if annotation is Tensor and (is_number or isinstance(value, (str, bytes, Pointer, Layout))):
        raise DSLUserCodeTypeError(
            f"`{function}` takes a Tensor for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix="pass a tensor",
        )
    if isinstance(annotation, NumericMeta) and isinstance(value, (Tensor, Pointer, Layout, str, bytes)):
        raise DSLUserCodeTypeError(
            f"`{function}` takes {annotation} for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix=f"pass a number, or annotate `{name}: cute.Tensor`",
        )


class JitFunction(_Function):
    """A `@jit` host function. Called inside a traced function it is inlined; from Python it compiles and runs."""

    def __call__(self, *args, **keywords):
        if trace.active():
            bound = self.bind(args, keywords)
            return self.rewritten(*bound.args, **bound.kwargs)
        try:
            return self._run(args, keywords)
        except BaseException as error:
            try:
                raise author_traceback.leaving(error)
            except BaseException as left:
                author_traceback.strip(left)
                raise

    def _run(self, args: tuple, keywords: dict):
        """Compile, where no earlier call did, and run."""
        cached = self.known.find(args) if not keywords else None
        if cached is not None:
            try:
                return cached[0].call(*cached[1])
            except compiler.DoesNotFit:  # the careful way has the words
                pass
        with self.known.watching(args, keywords) as noted:
            compiled = noted.made = CompiledFunction(self, args, keywords, compiler.Options())
        compiled.warn_of_result()
        return compiled.call_bound(compiled.bound)

    @functools.cached_property
    def known(self) -> call_cache.KnownCalls:
        return call_cache.KnownCalls(self)


class KernelFunction(_Function):
    """A `@kernel` function. A call makes a Call, which `.launch(...)` traces and launches."""

    @author_traceback.guarded
    def __call__(self, *args, **keywords) -> Call:
        place = here()
        if not trace.active():
            raise DSLUserCodeRuntimeError(
                f"kernel `{self.__name__}` is called from plain Python",
                fix="launch it from a @cute.jit function, and call that",
                id="LAUNCH_OUTSIDE_JIT",
            )
        if trace.in_kernel():
            raise DSLUserCodeRuntimeError(
                f"kernel `{self.__name__}` is called inside a kernel",
                fix="make it a @cute.jit function to inline it",
                id="LAUNCH_OUTSIDE_JIT",
            )
        bound = self.bind(args, keywords)
        names, values = _spread(bound)
        return Call(self, bound, [self._parameter(name, value) for name, value in zip(names, values)], place)

    def _parameter(self, name: str, value: Any) -> Any:
        """A Python number becomes a typed number (a kernel parameter) unless it is annotated static."""
        annotation = self.annotations.get(name)
        if self.is_static(name):
            if is_dynamic(value):
                raise DSLUserCodeTypeError(
                    f"passes a dynamic {type(value).__name__} for `{name}`, which is Constexpr",
                    fix=f"annotate `{name}` with its type, or pass a Python value",
                    id="PHASE_REQUIRES_CONSTANT",
                )
            return Static(value)
        _check_passed(self.__name__, name, value, annotation)
        return containers.map_parts(value, lambda part, hint: self._number(part, hint, name), annotation)

    def _number(self, value: Any, annotation: Any, name: str) -> Any:
        """A part of a parameter: a Python number as a number of the DSL, and what a field marks as static as it is."""
        if annotation is self.static_marker or containers.keeps_ints(annotation):
            return value
        if annotation in kinds.FAMILIES:
            annotation = Float32 if annotation is Float and of_python(value) else type(value)
        if isinstance(annotation, NumericMeta) and isinstance(value, Numeric):
            return annotation(value)
        if isinstance(annotation, NumericMeta) and of_python(value):
            number = annotation(value)
            signed = abi.as_python_number(annotation)
            if signed is not annotation:
                number = signed(signed.wrapped(number.value))
                if number.value < 0 < value:
                    abi.warn_of_sign(value, annotation, number.value, name)
            return number
        dtype = of_python(value)
        return dtype(value) if dtype else value


class Static:
    """A kernel argument that is no parameter but part of the kernel."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Call:
    """A kernel and its arguments, waiting for `.launch`."""

    def __init__(self, kernel: KernelFunction, bound: inspect.BoundArguments, values: list, place):
        self.kernel, self.bound, self.values = kernel, bound, values
        self.pending = (kernel.__name__, place)
        trace.host().pending.append(self.pending)

    @property
    def type_text(self) -> str:
        return f"call of kernel `{self.kernel.__name__}`"

    @author_traceback.guarded
    def launch(
        self,
        *positional,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        cluster=None,
        smem=None,
        stream=None,
        cooperative=False,
        use_pdl=False,
        min_blocks_per_mp=0,
        max_number_threads=(0, 0, 0),
        async_deps=None,
        **others,
    ) -> None:
        """Run the kernel on `grid` blocks of `block` threads (one, unless given),
        with `smem` bytes of dynamic shared memory.

        `smem` defaults to what the kernel's SmemAllocators allocated. `cooperative`: all blocks run at once. `use_pdl`:
        the kernel may start before the one ahead of it in the stream has ended (programmatic dependent launch).
        `min_blocks_per_mp` and `max_number_threads` bound its registers. `others`: launch_keywords.
        """
        name = self.kernel.__name__
        launch_keywords.check_others(name, others)
        if positional:
            raise DSLUserCodeTypeError(
                f"the launch of `{name}` takes its arguments by name",
                fix="launch(grid=(x, y, z), block=(x, y, z))",
                id="CALL_EXTRA_ARG",
            )
        if not trace.active():
            raise DSLUserCodeRuntimeError(
                f"kernel `{name}` is launched from plain Python",
                fix="launch it in the @cute.jit function that called it",
                id="LAUNCH_OUTSIDE_JIT",
            )
        state = trace.host()
        names = [n for n, value in zip(_spread(self.bound)[0], self.values) if not isinstance(value, Static)]
        if self.pending in state.pending:
            state.pending.remove(self.pending)
        cluster = (1, 1, 1) if cluster is None else cluster
        launch_limits.check_launch(name, grid, block, cluster)
        flags = trace.COOPERATIVE * bool(cooperative) | trace.PROGRAMMATIC * bool(use_pdl)
        config = trace.Launch(
            grid,
            block,
            cluster,
            smem,
            launch_keywords.stream_of(name, stream, async_deps),
            flags,
            launch_keywords.min_blocks(name, min_blocks_per_mp),
            launch_keywords.max_threads(name, max_number_threads, block),
        )
        trace.launch(
            self.kernel.symbol,
            self._body,
            [v for v in self.values if not isinstance(v, Static)],
            config,
            lambda allocated_bytes: launch_limits.check_asked(name, smem, allocated_bytes),
            names,
        )

    def _body(self, *dynamic) -> None:
        remaining = iter(dynamic)
        values = [value.value if isinstance(value, Static) else next(remaining) for value in self.values]
        args, keywords = _gather(self.bound, values)
        self.kernel.rewritten(*args, **keywords)


def _spread(bound: inspect.BoundArguments) -> tuple[list[str], list]:
    """Every argument with the name of its parameter; *args and **kwargs one by one."""
    names, values = [], []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        many = (
            value
            if kind is inspect.Parameter.VAR_POSITIONAL
            else value.values()
            if kind is inspect.Parameter.VAR_KEYWORD
            else (value,)
        )
        for item in many:
            names.append(name)
            values.append(item)
    return names, values


def _gather(bound: inspect.BoundArguments, values: list) -> tuple[tuple, dict]:
    """The arguments of a call like `bound` with `values` in place of its own."""
    remaining = iter(values)
    replaced = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            replaced[name] = tuple(next(remaining) for _ in value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            replaced[name] = {key: next(remaining) for key in value}
        else:
            replaced[name] = next(remaining)
    arguments = inspect.BoundArguments(bound.signature, replaced)
    return arguments.args, arguments.kwargs


class CompiledFunction:
    """A jit function compiled for the types of its arguments; call it with new values of those types.

    `args` are real arguments or fakes. Static arguments (Constexpr, and `self`) are part of the code and left out of
    later calls.
    """

    def __init__(self, function: JitFunction, args: tuple, keywords: dict, options: compiler.Options):
        self.function = function
        self.bound = function.bind(args, keywords)
        names, values = _spread(self.bound)
        static = [name == "self" or function.is_static(name) for name in names]
        self.typed = [
            value if fixed else function.typed(name, value) for name, value, fixed in zip(names, values, static)
        ]
        later = [place for place, fixed in enumerate(static) if not fixed]
        defaults = {
            name: parameter.default
            for name, parameter in function.signature.parameters.items()
            if parameter.default is not parameter.empty
        }
        self.arguments = kinds.Signature(
            function.__name__, [names[place] for place in later], [self.typed[place] for place in later], defaults
        )
        self._binder: tuple | None = None  # the session it was made in, what binds calls, and the device
        traced = trace.trace_host(function.symbol, self._body, self.typed)
        self.compiled = compiler.compile(traced, options)

    def _body(self, *values):
        args, keywords = _gather(self.bound, list(values))
        return returned_values.store(self.function.__name__, self.function.rewritten(*args, **keywords))

    def warn_of_result(self) -> None:
        """Warn where `-> Int32` promises Python a number that NVIDIA's compiler does not give."""
        if self.function.function.__annotations__.get("return") is not None:
            returned_values.warn_of_numbers(self.function.__name__, self.compiled.traced.result)

    def call_bound(self, bound: inspect.BoundArguments):
        """Run with the very arguments it was compiled for."""
        return self._run(
            tuple(value for value, typed in zip(_spread(bound)[1], self.typed) if kinds.is_typed(typed)), {}
        )

    def __call__(self, *args, **keywords):
        """Run with new values for the arguments that are not static; what the function returned (launch.results).

        Raises TypeError or ValueError for an argument of another type, shape or alignment than it was compiled for.
        """
        try:
            return self._run(args, keywords)
        except BaseException as error:
            try:
                raise author_traceback.leaving(error)
            except BaseException as left:
                author_traceback.strip(left)
                raise

    def _run(self, args: tuple, keywords: dict):
        if not keywords and self._binder is not None:
            running, bind, device = self._binder
            if running is None or session.is_current(running):
                try:
                    bound = bind(*args)
                except TypeError:  # too many or too few
                    bound = None
                if bound is not None:
                    try:
                        return self.compiled.call(bound[0], bound[1], device)
                    except compiler.DoesNotFit:  # the careful way has the words
                        pass
        slots, binding = self.arguments.bind(args, keywords)
        returned = self.compiled.call(slots, binding.storages)
        self._quicken()
        return returned

    def _quicken(self) -> None:
        """From the second call on arguments are bound by a function made for their types."""
        running = session.current() if self.compiled.traced.kernels else None
        if self._binder is None or self._binder[0] is not running:
            bind = argument_reader.make(self.arguments.names, self.arguments.types, running and running.device)
            self._binder = running, bind or (lambda *_: None), running and running.device

    @property
    def __ptx__(self) -> str:
        """The PTX of the kernels, where compiled with --keep-ptx."""
        return self.compiled.ptx

    @property
    def __cubin__(self) -> bytes | None:
        """What ptxas makes of it, where compiled with --keep-cubin or --keep-sass."""
        options = self.compiled.options
        return self.compiled.kept.cubin if options.keep_cubin or options.keep_sass else None

    @property
    def __sass__(self) -> str | None:
        """What nvdisasm shows of that, where compiled with --keep-sass."""
        return self.compiled.kept.sass if self.compiled.options.keep_sass else None

    @property
    def export_to_c(self):
        """Upstream's export as an object file: refused."""
        raise UnsupportedName(
            "export_to_c is not part of this compiler yet",
            id="UNSUPPORTED_NAME",
            fix="compile where the function is called; compiled code is kept on disk (docs/caching.md)",
        )

    @property
    def cuda_source(self) -> str:
        """The kernels as CUDA C++ to read, "" where none is launched: docs/readable-cuda.md."""
        from dsl.launch.call.readable_text import cuda_source

        return cuda_source(self.compiled.traced.device_mlir)


@author_traceback.guarded
def compile_function(function: Any, *args, options: compiler.Options | None = None, **keywords) -> CompiledFunction:
    """Compile a jit function (or an object whose `__call__` is one) for the types of `args`."""
    call = getattr(type(function), "__call__", None)  # noqa: B004 - the method itself
    if isinstance(call, JitFunction):
        function, args = call, (function, *args)
    if isinstance(function, _Bound):
        function, args = function.function, (function.instance, *args)
    if isinstance(function, KernelFunction):
        raise DSLUserCodeError(
            f"compile takes a host function, but `{function.__name__}` is a kernel",
            fix="compile the @cute.jit function that launches it",
            id="CALL_KERNEL_TARGET",
        )
    if not isinstance(function, JitFunction):
        name = (
            type_name(function)
            if isinstance(function, types.ModuleType)
            else getattr(function, "__name__", type_name(function))
        )
        raise DSLUserCodeError(
            f"{name} is no @cute.jit function", fix="decorate it with @cute.jit", id="CALL_MISSING_JIT_DECORATOR"
        )
    compiled = _compiled_class(options)(function, args, keywords, options or compiler.Options())
    compiled.warn_of_result()
    return compiled


def _compiled_class(options: compiler.Options | None) -> type[CompiledFunction]:
    """With --enable-tvm-ffi, where apache-tvm-ffi is installed, one of functions that are TVM FFI's too."""
    if options is not None and options.enable_tvm_ffi and importlib.util.find_spec("tvm_ffi"):
        from dsl.launch.call import ffi_function

        return ffi_function.function_class(CompiledFunction)
    return CompiledFunction
