"""Host functions: traced with typed arguments, compiled, called.

A direct call of a jit function takes the code of an earlier one from the call cache, where nothing that its tracing
read can have changed. Else it is traced again, and the compiled code is found by its text: nothing it read (a global,
a closure, a helper) can be stale.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import types
from typing import Any

from dsl.core import trace
from dsl.core.diagnosis import author_traceback
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.operators import type_name
from dsl.launch import session
from dsl.launch.argument import author_protocols, kinds, returned_values  # noqa: F401 - the protocols of our values
from dsl.launch.argument.signature import Signature
from dsl.launch.call import argument_reader
from dsl.launch.call.bound_arguments import gather, spread
from dsl.launch.call.compiling import compiler
from dsl.launch.call.compiling.call_cache import CallCache
from dsl.launch.call.decorated_function import BoundMethod, DecoratedFunction
from dsl.launch.call.kernel_call import KernelFunction
from dsl.launch.export import object_file


class JitFunction(DecoratedFunction):
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
        if keywords.get("no_cache") is not None and "no_cache" not in self.signature.parameters:
            return self._run_anew(args, keywords)
        cached = self.cached_calls.find(args) if not keywords else None
        if cached is not None:
            try:
                return cached[0].call(*cached[1])
            except compiler.DoesNotFit:  # the careful way has the words
                pass
        with self.cached_calls.remembering(args, keywords) as traced:
            compiled = traced.compiled = CompiledFunction(self, args, keywords, compiler.Options())
        compiled.warn_of_result()
        return compiled.call_bound(compiled.bound)

    def _run_anew(self, args: tuple, keywords: dict):
        """Run a call that has `no_cache=`: if true, it is compiled without any cache."""
        keywords = dict(keywords)
        if not keywords.pop("no_cache"):
            return self._run(args, keywords)
        compiled = CompiledFunction(self, args, keywords, compiler.Options(no_cache=True))
        compiled.warn_of_result()
        return compiled.call_bound(compiled.bound)

    @functools.cached_property
    def cached_calls(self) -> CallCache:
        return CallCache(self)


class CompiledFunction:
    """A jit function compiled for the types of its arguments; call it with new values of those types.

    `args` are real arguments or fakes. Static arguments (Constexpr, and `self`) are part of the code and left out of
    later calls.
    """

    def __init__(self, function: JitFunction, args: tuple, keywords: dict, options: compiler.Options):
        self.function = function
        self.bound = function.bind(args, keywords)
        names, values = spread(self.bound)
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
        self.arguments = Signature(
            function.__name__, [names[place] for place in later], [self.typed[place] for place in later], defaults
        )
        self._binder: tuple | None = None  # the session it was made in, what binds calls, and the device
        with compiler.targeting(options):
            traced = trace.trace_host(function.symbol, self._body, self.typed)
        self.compiled = compiler.compile(traced, options)
        self.compiled.lends_memory = True

    def _body(self, *values):
        names = spread(self.bound)[0]
        converted = [self.function.converted(name, value) for name, value in zip(names, values)]
        args, keywords = gather(self.bound, converted)
        return returned_values.store(self.function.__name__, self.function.rewritten(*args, **keywords))

    def warn_of_result(self) -> None:
        """Warn where `-> Int32` promises Python a number that NVIDIA's compiler does not give."""
        if self.function.function.__annotations__.get("return") is not None:
            returned_values.warn_of_numbers(self.function.__name__, self.compiled.traced.result)

    def call_bound(self, bound: inspect.BoundArguments):
        """Run with the very arguments it was compiled for."""
        return self._run(
            tuple(value for value, typed in zip(spread(bound)[1], self.typed) if kinds.is_typed(typed)), {}
        )

    def __call__(self, *args, **keywords):
        """Run with new values for the arguments that are not static; what the function returned (returned_values).

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
        self._make_reader()
        return returned

    def _make_reader(self) -> None:
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
        """The cubin that ptxas makes of it, if compiled with --keep-cubin or --keep-sass."""
        options = self.compiled.options
        return self.compiled.kept.cubin if options.keep_cubin or options.keep_sass else None

    @property
    def __sass__(self) -> str | None:
        """The text that nvdisasm shows of the cubin, if compiled with --keep-sass."""
        return self.compiled.kept.sass if self.compiled.options.keep_sass else None

    @author_traceback.guarded
    def export_to_c(self, file_path: str, file_name: str, function_prefix: str | None = None) -> None:
        """Write `file_path`/`file_name`.o and .h: docs/export.md. Raises NotExported for what C cannot call."""
        code = self.compiled.code
        object_file.export(
            self.arguments, self.compiled.traced, code.arch, code.ptx, file_path, file_name, function_prefix
        )

    @property
    def cuda_source(self) -> str:
        """The kernels as CUDA C++ to read, "" where none is launched: docs/readable-cuda.md."""
        from dsl.launch.call.compiling.readable_text import cuda_source

        return cuda_source(self.compiled.traced.device_mlir)


@author_traceback.guarded
def compile_function(function: Any, *args, options: compiler.Options | None = None, **keywords) -> CompiledFunction:
    """Compile a jit function (or an object whose `__call__` is one) for the types of `args`."""
    call = getattr(type(function), "__call__", None)  # noqa: B004 - the method itself
    if isinstance(call, JitFunction):
        function, args = call, (function, *args)
    if isinstance(function, BoundMethod):
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
            f"compile takes a @cute.jit function, got {name}",
            fix="pass the function and its arguments: `cute.compile(f, a, b)`"
            if function is None
            else "decorate it with @cute.jit",
            id="CALL_MISSING_JIT_DECORATOR",
        )
    _refuse_options(function, keywords)
    compiled = _compiled_class(options)(function, args, keywords, options or compiler.Options())
    compiled.warn_of_result()
    return compiled


def _refuse_options(function: JitFunction, keywords: dict[str, Any]) -> None:
    """Raise the author's error for an option that is given as an argument of the function."""
    parameters = function.signature.parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name, value in keywords.items():
        if name not in parameters and name in compiler.Options.__dataclass_fields__:
            flag = f"--{name.replace('_', '-')}" + f" {value}" * (not isinstance(value, bool))
            raise DSLUserCodeTypeError(
                f"compile takes `{name}` in its text of options",
                fix=f'write `options="{flag}"`',
                id="CALL_UNEXPECTED_KWARG",
            )


def _compiled_class(options: compiler.Options | None) -> type[CompiledFunction]:
    """With --enable-tvm-ffi, where apache-tvm-ffi is installed, one of functions that are TVM FFI's too."""
    if options is not None and options.enable_tvm_ffi and importlib.util.find_spec("tvm_ffi"):
        from dsl.launch.call import ffi_function

        return ffi_function.function_class(CompiledFunction)
    return CompiledFunction
