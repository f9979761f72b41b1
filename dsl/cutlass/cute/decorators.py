"""`@cute.jit`, `@cute.kernel` and `cute.compile`."""

from __future__ import annotations

from dsl.cutlass.grammar import GRAMMAR, Constexpr
from dsl.launch.compile import Options
from dsl.launch.jit import CompiledFunction, JitFunction, KernelFunction, compile_function


def jit(function=None, **_options) -> JitFunction:
    """A host function: traced, compiled to native code, and run; inside a traced function it is inlined."""
    if function is None:
        return jit
    return JitFunction(function, GRAMMAR, Constexpr)


def kernel(function=None, **_options) -> KernelFunction:
    """A GPU kernel: call it in a @cute.jit function and `.launch(grid=, block=)` the call."""
    if function is None:
        return kernel
    return KernelFunction(function, GRAMMAR, Constexpr)


def compile(function, *args, options: str = "", **keywords) -> CompiledFunction:
    """Compile a @cute.jit function for the types of `args`, which may be fakes.

    `options`: `--gpu-arch sm_90a`, `--keep-ptx`, `--enable-tvm-ffi` (torch tensors may then be passed directly).
    """
    return compile_function(function, *args, options=Options.from_text(options), **keywords)
