"""`@cute.jit`, `@cute.kernel` and `cute.compile`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from dsl.core.diagnosis import author_traceback
from dsl.core.errors import DSLUserCodeError, warn_not_portable
from dsl.core.phrase import shown
from dsl.cutlass.grammar import GRAMMAR, Constexpr
from dsl.launch.argument.containers import map_parts
from dsl.launch.call.compiling.compiler import Options
from dsl.launch.call.jit import CompiledFunction, JitFunction, compile_function
from dsl.launch.call.kernel_call import KernelFunction
from dsl.tile.tensor.bounded import as_origin

_Decorated = TypeVar("_Decorated", JitFunction, KernelFunction)


@overload
def jit(function: Callable, **_options) -> JitFunction: ...
@overload
def jit(function: None = None, **_options) -> Callable[[Callable], JitFunction]: ...
def jit(function: Any = None, **_options) -> Any:
    """A host function: traced, compiled to native code, and run; inside a traced function it is inlined."""
    if function is None:
        return jit
    return _checked_source(JitFunction(function, GRAMMAR, Constexpr))


@overload
def kernel(function: Callable, **_options) -> KernelFunction: ...
@overload
def kernel(function: None = None, **_options) -> Callable[[Callable], KernelFunction]: ...
def kernel(function: Any = None, **_options) -> Any:
    """A GPU kernel: call it in a @cute.jit function and `.launch(grid=, block=)` the call.

    With `is_experimental=True` it is a kernel of cute.experimental.
    """
    made = ExperimentalKernel if _options.get("is_experimental") else KernelFunction
    return partial(kernel_of, made) if function is None else kernel_of(made, function)


class ExperimentalKernel(KernelFunction):
    """A kernel whose tensors in global memory know their ends, and so do the parts that are made of them."""

    def seen(self, name: str, value: Any) -> Any:
        return map_parts(value, lambda part, _: as_origin(part), self.annotations.get(name), self.static_marker)


def kernel_of(kind: type[KernelFunction], function: Any) -> KernelFunction:
    """A kernel of this kind."""
    return _checked_source(kind(function, GRAMMAR, Constexpr))


_NO_FILE = ("<stdin>", "<string>", "<text at ")  # standard input, python -c, exec; not a cell and no prompt


@author_traceback.guarded
def _checked_source(function: _Decorated) -> _Decorated:
    """`function`; warns where its text is in no file, as NVIDIA's compiler needs it."""
    if function.function.__code__.co_filename.startswith(_NO_FILE):
        name = function.__name__
        warn_not_portable(f"the text of `{name}` is in no file", "UNSUP_NO_SOURCE", fix="write it to a file")
    return function


class _Compile:
    """`cute.compile(f, ...)`, and `cute.compile[KeepPTX, GPUArch("sm_90a")](f, ...)`: options as objects."""

    def __init__(self, options: str = ""):
        self._options = options

    __iter__ = None  # `cute.compile[options]` chooses; nothing is iterated

    @author_traceback.guarded
    def __getitem__(self, chosen) -> _Compile:
        chosen = chosen if isinstance(chosen, (tuple, list)) else (chosen,)
        return _Compile(" ".join([self._options, *(_option_text(option) for option in chosen)]).strip())

    @author_traceback.guarded
    def __call__(self, function, *args, options: str = "", **keywords) -> CompiledFunction:
        """Compile a @cute.jit function for the types of `args`, which may be fakes.

        `options`: `--gpu-arch sm_90a`, `--keep-ptx`, `--enable-tvm-ffi` (torch tensors may then be passed directly).
        """
        if not isinstance(options, str):
            raise DSLUserCodeError(
                f"options of cute.compile must be a text, got {shown(options)}", fix='options="--keep-ptx", for example'
            )
        both = Options.from_text(f"{self._options} {options}".strip())
        return compile_function(function, *args, options=both, **keywords)


compile = _Compile()


class _Option:
    """A compile option: `flag`, which takes a value or is on."""

    flag: str

    def __init__(self, val: object = True):
        self.val = val

    def text(self) -> str:
        return (
            "" if self.val is False else self.flag if self.val is True else f"{self.flag}={shlex.quote(str(self.val))}"
        )


def _option_text(option: object) -> str:
    if isinstance(option, type) and issubclass(option, _Option):
        option = option()
    if not isinstance(option, _Option):
        raise DSLUserCodeError(
            f"cute.compile[...] takes compile options, got {shown(option)}",
            fix='write `cute.compile[cute.KeepPTX, cute.GPUArch("sm_90a")](f, ...)`',
            id="CONFIG_MALFORMED_COMPILE_OPTIONS",
        )
    return option.text()


def _flag(name: str, flag: str) -> type[_Option]:
    return type(name, (_Option,), {"flag": flag, "__module__": __name__, "__doc__": f"`{flag}`"})


KeepPTX, KeepCUBIN, KeepSASS = (
    _flag("KeepPTX", "--keep-ptx"),
    _flag("KeepCUBIN", "--keep-cubin"),
    _flag("KeepSASS", "--keep-sass"),
)
GPUArch, OptLevel = _flag("GPUArch", "--gpu-arch"), _flag("OptLevel", "--opt-level")
EnableTVMFFI, GenerateLineInfo = (
    _flag("EnableTVMFFI", "--enable-tvm-ffi"),
    _flag("GenerateLineInfo", "--generate-line-info"),
)
EnableAssertions = _flag("EnableAssertions", "--enable-assertions")
PtxasOptions, NvdisasmOptions = _flag("PtxasOptions", "--ptxas-options"), _flag("NvdisasmOptions", "--nvdisasm-options")
LinkLibraries, RDC = _flag("LinkLibraries", "--link-libraries"), _flag("RDC", "--rdc")
FrontendNext, DeviceTarget = _flag("FrontendNext", "--frontend-next"), _flag("DeviceTarget", "--device-target")
DumpDir = _flag("DumpDir", "--dump-dir")  # of cutlass.base_dsl.compiler
RemarkFilter, RemarkOutput = _flag("RemarkFilter", "--remark-filter"), _flag("RemarkOutput", "--remark-output")
