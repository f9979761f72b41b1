"""Calls of `@cute.jit` functions and of results of `cute.compile`, for our compiler and NVIDIA's compiler."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from dataclasses import dataclass
from typing import Any

from harness.capture.arguments import makings
from harness.capture.arguments.spelling import ObjectState, Spelling, frozen
from harness.capture.importing import replace_everywhere, when_imported
from harness.capture.recorder import Call, Recorder

RUNTIME = ("from_dlpack", "make_ptr", "nullptr", "make_fake_tensor", "make_fake_compact_tensor", "make_fake_stream")
SYMBOLS = ("sym_int", "sym_int32", "sym_int64")
NOT_COMPILED = (
    "functions were loaded from object files by load_module, and their calls are not captured: have the program "
    "compile them (for quack, QUACK_CACHE_ENABLED=0)"
)
CHANGES = ("mark_layout_dynamic", "mark_compact_shape_dynamic")


def install(recorder: Recorder) -> None:
    """Report every call from now on, as soon as a compiler is imported."""
    for module in ("runtime_tensor", "runtime_pointer", "fake_arguments"):
        when_imported(f"dsl.launch.argument.{module}", _watch_runtime)
    when_imported("dsl.launch.argument.symbolic_int", lambda m: makings.watch_functions(m, "cutlass.cute", SYMBOLS))
    when_imported("dsl.launch.call.jit", lambda module: _hook_ours(module, recorder))
    when_imported("dsl.cutlass.cute.decorators", lambda module: _hook_compile(module._Compile, recorder))
    when_imported("cutlass.cute.typing", lambda m: makings.watch_functions(m, "cutlass.cute", SYMBOLS))
    when_imported("cutlass.runtime", lambda m: makings.watch_functions(m, "cutlass.cute.runtime", RUNTIME))
    when_imported("cutlass.cute.runtime", _watch_runtime)
    for module in ("dsl.launch.call.compiling.exported", "cutlass.cute.runtime"):
        when_imported(module, lambda module: _watch_loading(module, recorder))
    when_imported("cutlass.base_dsl.dsl", lambda module: _hook_nvidia(module, recorder))
    when_imported("cutlass.base_dsl.compiler", lambda module: _hook_compile(module.CompileCallable, recorder))


def _watch_runtime(module: types.ModuleType) -> None:
    makings.watch_functions(module, "cutlass.cute.runtime", RUNTIME)
    for name in ("RuntimeTensor", "_Tensor"):
        kind = module.__dict__.get(name)
        if isinstance(kind, type):
            makings.watch_methods(kind, CHANGES, ("element_type",))


def _watch_loading(module: types.ModuleType, recorder: Recorder) -> None:
    """Say of functions that come out of object files that their calls are not seen."""
    original = getattr(module, "load_module", None)
    if original is None or hasattr(original, "_seen_by_capture"):
        return

    @functools.wraps(original)
    def load_module(*args, **keywords):
        if NOT_COMPILED not in recorder.problems:
            recorder.problems.append(NOT_COMPILED)
        return original(*args, **keywords)

    load_module._seen_by_capture = True  # type: ignore[attr-defined]
    replace_everywhere("load_module", original, load_module)


# ** decorated functions


def plain(value: Any) -> Any:
    """The author's function under `@cute.jit` or `@cute.kernel`; any other value as it is."""
    function = getattr(value, "function", None)
    if isinstance(function, types.FunctionType) and hasattr(value, "grammar"):
        return function
    while isinstance(value, types.FunctionType) and hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value


def is_decorated(value: Any) -> bool:
    """Whether a decorator of a compiler made the value."""
    return hasattr(value, "_dsl_cls") or (hasattr(value, "grammar") and hasattr(value, "static_marker"))


_names: dict[Any, set[str]] = {}
_names_of_call: dict[Any, set[str]] = {}  # by the code and the class of the first argument


def names_in(function: types.FunctionType, depth: int = 6) -> set[str]:
    """The name of a function and those it mentions, and what the functions it reaches mention."""
    code = function.__code__
    if code in _names:
        return _names[code]
    found = _names[code] = {function.__name__}
    found |= set(code.co_names) | set(code.co_freevars)
    if depth:
        cells = dict(zip(code.co_freevars, function.__closure__ or ()))
        for name in list(found):
            try:
                value = plain(cells[name].cell_contents if name in cells else function.__globals__.get(name))
            except ValueError:  # an empty cell
                continue
            if isinstance(value, types.FunctionType) and value is not function:
                found |= names_in(value, depth - 1)
    return found


# ** direct calls


def _hook_ours(module: types.ModuleType, recorder: Recorder) -> None:
    kind = module.JitFunction
    original = kind.__call__
    active = module.trace.active

    @functools.wraps(original)
    def call(self, *args, **keywords):
        if recorder.is_done or active():
            return original(self, *args, **keywords)
        return recorder.around(
            lambda: direct_call(self.function, args, keywords),
            lambda: names_of(self.function, args),
            lambda: original(self, *args, **keywords),
        )

    kind.__call__ = call


def _hook_nvidia(module: types.ModuleType, recorder: Recorder) -> None:
    kind = module.BaseDSL
    original = kind._func

    @functools.wraps(original)
    def call(self, function, *args, **keywords):
        if recorder.is_done:
            return original(self, function, *args, **keywords)
        return recorder.around(
            lambda: direct_call(plain(function), args, keywords),
            lambda: names_of(plain(function), args),
            lambda: original(self, function, *args, **keywords),
        )

    kind._func = call


def names_of(function: types.FunctionType, args: tuple) -> set[str]:
    """The names by which a call may be chosen: the function, its class, and the kernels it mentions."""
    key = function.__code__, type(args[0]) if args else None
    found = _names_of_call.get(key)
    if found is None:
        found = names_in(function) | {function.__qualname__}
        if args and _is_method(function, args):
            found = found | {type(args[0]).__name__}
        _names_of_call[key] = found
    return found


def direct_call(function: types.FunctionType, args: tuple, keywords: dict[str, Any]) -> Call:
    def text(spelling: Spelling) -> str:
        return f"{_callee(spelling, function, args)}({_arguments(spelling, function, args, keywords)})"

    known = functools.partial(names_of, function, args)
    return Call(_name(function, args), known, text, args[_is_method(function, args) :], keywords, plain)


def _name(function: types.FunctionType, args: tuple) -> str:
    return type(args[0]).__name__ if function.__name__ == "__call__" and args else function.__name__


def _is_method(function: types.FunctionType, args: tuple) -> bool:
    """Whether the first argument is the instance that the function is a method of."""
    if not args:
        return False
    owner = args[0].kind if isinstance(args[0], ObjectState) else type(args[0])
    return plain(inspect.getattr_static(owner, function.__name__, None)) is function


def _callee(spelling: Spelling, function: types.FunctionType, args: tuple) -> str:
    if not _is_method(function, args):
        return spelling.root(function)
    instance = spelling.of(args[0], "instance")
    return instance if function.__name__ == "__call__" else f"{instance}.{function.__name__}"


def _arguments(spelling: Spelling, function: types.FunctionType, args: tuple, keywords: dict) -> str:
    """The arguments after the instance, each with its parameter's name as a hint."""
    names = list(inspect.signature(function).parameters)
    words = [
        spelling.of(value, names[place] if place < len(names) else f"argument_{place}")
        for place, value in enumerate(args)
        if place or not _is_method(function, args)
    ]
    words += [f"{name}={spelling.of(value, name)}" for name, value in keywords.items()]
    return ", ".join(words)


# ** compiled functions


@dataclass
class Compiled:
    """How a compiled function was made."""

    function: Any  # a types.FunctionType
    instance: tuple  # (the instance,) of a method
    args: tuple
    keywords: dict[str, Any]
    chosen: Any  # what `cute.compile[...]` was given
    names: list[str]


_compiled: dict[int, tuple[Any, Compiled]] = {}


def _hook_compile(kind: type, recorder: Recorder) -> None:
    original, choose = kind.__call__, kind.__getitem__

    @functools.wraps(choose)
    def chosen(self, options):
        new = choose(self, options)
        earlier = getattr(self, "_chosen_in_capture", ())
        try:
            new._chosen_in_capture = (*earlier, options)
        except AttributeError:
            pass
        return new

    @functools.wraps(original)
    def compile(self, function, *args, **keywords):
        if recorder.is_done:
            return original(self, function, *args, **keywords)
        try:
            made = _of_compile(self, function, args, keywords)
        except Exception as error:
            recorder.problems.append(f"a call of cute.compile was not understood: {type(error).__name__}: {error}")
            made = None
        result = recorder.outside(lambda: original(self, function, *args, **keywords))
        if made is not None:
            _compiled[id(result)] = result, made
            _hook_result(type(result), recorder)
        return result

    kind.__call__, kind.__getitem__ = compile, chosen


def _of_compile(compile: Any, function: Any, args: tuple, keywords: dict[str, Any]) -> Compiled:
    instance: tuple = ()
    if hasattr(function, "instance") and hasattr(function, "function"):  # our bound method
        instance, function = (function.instance,), function.function
    elif isinstance(function, types.MethodType):
        instance, function = (function.__self__,), function.__func__
    body = plain(function)
    if not isinstance(body, types.FunctionType):
        instance, body = (function,), plain(type(function).__call__)
    names = list(inspect.signature(body).parameters)[len(instance) :]
    kept = tuple(map(frozen, args))
    return Compiled(
        body, tuple(map(frozen, instance)), kept, {name: frozen(value) for name, value in keywords.items()},
        getattr(compile, "_chosen_in_capture", ()), names,
    )  # fmt: skip


_hooked: set[type] = set()


def _hook_result(kind: type, recorder: Recorder) -> None:
    """Report calls of compiled functions of this class, from the outermost `__call__` that it has: it may ask a base
    class first, which fails, and then do the call in another way."""
    if next(each for each in kind.__mro__ if "__call__" in vars(each)) in _hooked:
        return
    _hooked.add(kind)
    original: Any = kind.__call__

    @functools.wraps(original)
    def call(self, *args, **keywords):
        if recorder.is_done:
            return original(self, *args, **keywords)
        noted = _compiled.get(id(self))
        if noted is None or noted[0] is not self:
            return original(self, *args, **keywords)
        return recorder.around(
            lambda: compiled_call(noted[1], args, keywords, not kind.__module__.startswith("dsl.")),
            lambda: names_of(noted[1].function, ()) | {state.kind.__name__ for state in _states(noted[1])},
            lambda: original(self, *args, **keywords),
        )

    kind.__call__ = call  # type: ignore[method-assign]


def _states(made: Compiled) -> list[ObjectState]:
    return [value for value in made.instance if isinstance(value, ObjectState)]


def compiled_call(made: Compiled, args: tuple, keywords: dict[str, Any], gives_status: bool = False) -> Call:
    """A call of a result of `cute.compile`: compile again, then call. With NVIDIA's compiler it gives a status."""

    def text(spelling: Spelling) -> str:
        runtime = [name for name in made.names if name not in _static(made.function)]
        words = [
            spelling.of(value, runtime[place] if place < len(runtime) else f"argument_{place}")
            for place, value in enumerate(args)
        ]
        words += [f"{name}={spelling.of(value, name)}" for name, value in keywords.items()]
        callee = _callee(spelling, made.function, made.instance)
        wanted = [callee]
        wanted += [
            spelling.of(value, made.names[place] if place < len(made.names) else "argument")
            for place, value in enumerate(made.args)
        ]
        wanted += [f"{name}={spelling.of(value, name)}" for name, value in made.keywords.items()]
        chosen = "".join(f"[{_options(spelling, options)}]" for options in made.chosen)
        spelling.imports["import cutlass.cute as cute"] = None
        compiled = spelling.name("compiled")
        spelling.statements.append((compiled, f"cute.compile{chosen}({', '.join(wanted)})"))
        return f"{compiled}({', '.join(words)})"

    name = made.function.__name__
    if name == "__call__" and _states(made):
        name = _states(made)[0].kind.__name__
    return Call(name, lambda: names_of(made.function, ()), text, args, keywords, plain, gives_status)


def _static(function: types.FunctionType) -> set[str]:
    """Parameters that a compiled function takes no more: `Constexpr`."""
    return {name for name, value in function.__annotations__.items() if "Constexpr" in str(value)}


def _options(spelling: Spelling, options: Any) -> str:
    parts = options if isinstance(options, (tuple, list)) else (options,)
    return ", ".join(_option(spelling, part) for part in parts)


def _option(spelling: Spelling, option: Any) -> str:
    """An option of `cute.compile[...]`: a class, or an object of one with its value."""
    if isinstance(option, type):
        return f"cute.{option.__name__}"
    named = ("_value", "value", "val")
    value = next((getattr(option, name) for name in named if hasattr(option, name)), None)
    return f"cute.{type(option).__name__}({spelling.of(value, 'option')})"


def package() -> dict[str, str]:
    """NVIDIA's package with its version, where it compiles; without one where ours stands for it."""
    module = sys.modules.get("cutlass")
    if module is None:
        return {}
    if module.__name__.startswith("dsl."):
        return {"nvidia-cutlass-dsl": ""}
    import importlib.metadata  # noqa: PLC0415

    try:
        return {"nvidia-cutlass-dsl": importlib.metadata.version("nvidia-cutlass-dsl")}
    except importlib.metadata.PackageNotFoundError:
        return {"nvidia-cutlass-dsl": ""}
