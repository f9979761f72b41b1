"""Launches by `cuda.core`: what a Program or an ObjectCode was made of, and the arguments that `launch` passes.

cuda.core calls the driver from compiled code, so its own functions and classes are replaced where programs import them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.capture.importing import replace_everywhere, when_imported
from harness.capture.launches import driver_hooks, ptx
from harness.capture.launches.driver_hooks import Function, Image, Shape
from harness.capture.recorder import Call, Recorder
from harness.capture.refusal import CannotBeCaptured

MODULE = "cuda.core"
_PORTABLE_BLOCKS = 8  # of a cluster that needs no leave
_PORTABLE_BYTES = 48 << 10  # of dynamic shared memory that needs no leave


@dataclass(eq=False)
class Made:
    """An ObjectCode, and the Program that it was compiled from: its class, its arguments, arguments of `compile`."""

    code: Any
    program: tuple[type, tuple, dict[str, Any]] | None = None
    compiled: tuple[tuple, dict[str, Any]] = ((), {})

    @functools.cached_property
    def ptx(self) -> str:
        """Its PTX. Raises CannotBeCaptured where it has none."""
        if self.code.code_type == "ptx":
            return _text(self.code.code)
        source, kind = _source(*self.program[1:]) if self.program else (b"", "")
        if kind == "ptx":
            return _text(source)
        if kind == "c++":
            return self._compiled_to_ptx()
        raise CannotBeCaptured(
            f"its module is {self.code.code_type}, without PTX text: have the program load PTX by ObjectCode.from_ptx"
        )

    def _compiled_to_ptx(self) -> str:
        """The PTX of C++ that the program compiled to something else, by the same options."""
        assert self.program is not None
        kind, args, keywords = self.program
        words, named = self.compiled
        named = {name: value for name, value in named.items() if name not in ("target_type", "cache", "logs")}
        try:
            return _text(kind(*args, **keywords).compile("ptx", *words[1:2], **named).code)
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CannotBeCaptured(
                f'its C++ gives no PTX ({said}): have the program compile it by Program.compile("ptx")'
            ) from None

    @functools.cached_property
    def entries(self) -> list[str]:
        """The kernels in it."""
        try:
            return [each.name for each in ptx.items(self.ptx) if each.kind == "entry"]
        except CannotBeCaptured:
            return []

    def kernel_named(self, kernel: Any) -> str | None:
        """The name that it has a kernel under, None where it has it not."""
        return next((name for name in self.entries if self._has(name, kernel)), None)

    def _has(self, name: str, kernel: Any) -> bool:
        try:
            return self.code.get_kernel(name) == kernel
        except Exception:  # the driver cannot load it
            return False


def _source(args: tuple, keywords: dict[str, Any]) -> tuple[Any, str]:
    """The code of a Program, and its type."""
    words = dict(zip(("code", "code_type"), args)) | keywords
    return words["code"], str(words["code_type"]).lower().rpartition(".")[2]


def _text(code: Any) -> str:
    """PTX of an ObjectCode or a Program: bytes, text, or the path of a file."""
    if isinstance(code, (bytes, bytearray)):
        return bytes(code).rstrip(b"\0").decode(errors="replace")
    if ".version" in str(code):
        return str(code)
    with open(code) as file:
        return file.read()


_made: list[Made] = []


def install(recorder: Recorder) -> None:
    """Report every launch from now on, as soon as cuda.core is imported."""
    when_imported(MODULE, lambda module: _hook(module, recorder))


def _hook(module: ModuleType, recorder: Recorder) -> None:
    for name, watched in (("Program", _watched_program), ("ObjectCode", _watched_code), ("launch", _watched_launch)):
        old = getattr(module, name)
        replace_everywhere(name, old, watched(old, recorder), but_in=MODULE)


def _watched_program(kind: type, recorder: Recorder) -> type:
    class Program(kind):
        """The package's class, which notes what is compiled."""

        def __init__(self, *args, **keywords):
            super().__init__(*args, **keywords)
            self._given = args, keywords

        def compile(self, *args, **keywords):
            code = super().compile(*args, **keywords)
            if not recorder.is_done:
                _made.append(Made(code, (kind, *self._given), (args, keywords)))
            return code

    return _named_like(Program, kind)


def _watched_code(kind: Any, recorder: Recorder) -> type:
    class Same(type(kind)):
        """Objects that the package itself makes are of this class too."""

        def __instancecheck__(cls, value):
            return isinstance(value, kind)

    def noting(make: Callable) -> Callable:
        @functools.wraps(make)
        def made(*args, **keywords):
            code = make(*args, **keywords)
            if not recorder.is_done:
                _made.append(Made(code))
            return code

        return made

    names = [name for name in dir(kind) if name.startswith("from_")]
    return _named_like(Same("ObjectCode", (kind,), {n: staticmethod(noting(getattr(kind, n))) for n in names}), kind)


def _named_like(new: Any, old: type) -> Any:
    new.__module__, new.__qualname__, new.__name__ = old.__module__, old.__qualname__, old.__name__
    return new


# ** launches


@dataclass
class _Failed:
    """A launch that raised an error, for the recorder to see before the program does."""

    error: Exception


def _watched_launch(original: Callable, recorder: Recorder) -> Callable:
    @functools.wraps(original)
    def launch(*args, **keywords):
        if recorder.is_done or keywords or len(args) < 3 or type(args[0]).__name__ == "GraphBuilder":
            return original(*args, **keywords)
        _, config, kernel, *given = args
        noted = functools.cache(lambda: _function_of(kernel))
        result = recorder.around(
            lambda: _call(noted(), config, kernel, given),
            lambda: _names(noted(), kernel),
            lambda: _tried(original, args),
        )
        if isinstance(result, _Failed):
            raise result.error
        return result

    return launch


def _tried(original: Callable, args: tuple) -> Any:
    try:
        return original(*args)
    except Exception as error:
        if "CUDA_ERROR_" not in str(error):
            raise
        return _Failed(error)


def _function_of(kernel: Any) -> tuple[Made | None, str]:
    """The code that has a kernel, and its name there; the code alone where that cannot be looked into."""
    for made in reversed(_made):
        name = made.kernel_named(kernel)
        if name is not None:
            return made, name
    silent = [made for made in _made if not made.entries]
    return (silent[-1] if silent else None), ""


def _names(noted: tuple[Made | None, str], kernel: Any) -> set[str]:
    """The names by which a kernel may be chosen: its name, and the expression that the program has for it."""
    made, name = noted
    if made is None or not name:
        return _asked(kernel)
    return ptx.plain_names(name) | {
        said for said, mangled in made.code.symbol_mapping.items() if _word(mangled) == name
    }


def _asked(kernel: Any) -> set[str]:
    """The driver's name of a kernel that no PTX has, if the driver is recent enough to return it."""
    try:
        code, *name = sys.modules["cuda.bindings.driver"].cuKernelGetName(kernel.handle)
    except Exception:  # the function is not there
        return set()
    return ptx.plain_names(_word(name[0])) if int(code) == 0 else set()


def _word(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _call(noted: tuple[Made | None, str], config: Any, kernel: Any, given: list) -> Call:
    """The launch as a call. Raises CannotBeCaptured."""
    made, name = noted
    if made is None:
        raise CannotBeCaptured(
            "the module of the kernel was not seen being loaded: make it by ObjectCode.from_ptx or Program.compile"
        )
    text = made.ptx
    shape = _shape_of(config)
    function = Function(Image(text.encode(), lambda key: driver_hooks.variable_of(made.code.handle, key)), name)
    function.attributes |= _attributes(kernel, shape)
    count = len(ptx.parameters(text, name))
    if count != len(given):
        raise CannotBeCaptured(f"the kernel takes {count} arguments, and the launch passes {len(given)}")
    holder = sys.modules[f"{MODULE}._kernel_arg_handler"].ParamHolder(given)
    call = driver_hooks.launch_call(function, shape, holder.ptr, 0)
    call.ending = _ending
    return call


def _shape_of(config: Any) -> Shape:
    """The launch's shape in blocks: with a cluster, the configuration counts clusters."""
    cluster = tuple(map(int, config.cluster)) if config.cluster else None
    grid = tuple(map(int, config.grid))
    if cluster:
        grid = tuple(number * blocks for number, blocks in zip(grid, cluster))
    shared = int(config.shmem_size or 0)
    return Shape(grid, tuple(map(int, config.block)), shared, cluster, bool(config.is_cooperative))


def _attributes(kernel: Any, shape: Shape) -> dict[int, int]:
    """The attributes that allow this launch: much shared memory, large clusters."""
    kinds = sys.modules["cuda.bindings.driver"].CUfunction_attribute
    found = {}
    if shape.shared_bytes > _PORTABLE_BYTES:
        allowed = int(kernel.attributes.max_dynamic_shared_size_bytes)
        found[int(kinds.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)] = allowed
    blocks = functools.reduce(lambda a, b: a * b, shape.cluster or (1,))
    if blocks > _PORTABLE_BLOCKS:
        found[int(kinds.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)] = 1
    return found


def _ending(result: Any) -> dict[str, Any] | None:
    """The report of the emulator, or of the error of cuda.core, on a launch that failed."""
    if not isinstance(result, _Failed):
        return None
    name = str(result.error).partition(":")[0].strip()
    return driver_hooks.failure() or {"outcome": "fault", "kind": name}
