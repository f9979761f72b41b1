"""Small kernels around one function, with numpy arrays."""

import tempfile

import numpy as np

from dsl.cutlass import Array, Constexpr, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session


@cute.kernel
def kernel(function: Constexpr, a: Array, b: Array):
    function(a, b)


@cute.jit
def host(function: Constexpr, threads: Constexpr, blocks: Constexpr, a: Array, b: Array):
    kernel(function, a, b).launch(grid=(blocks, 1, 1), block=(threads, 1, 1), cluster=(blocks, 1, 1))


def run(function, a, b=None, threads: int = 1, blocks: int = 1) -> np.ndarray:
    """Run `function(a, b)` in the threads of a cluster of `blocks`, and give `a` as it is then."""
    session.start("emulator")
    try:
        host(function, threads, blocks, from_dlpack(a), from_dlpack(np.zeros(1, np.int32) if b is None else b))
    finally:
        session.stop()
    return a


def ptx(function, a=None, threads: int = 32) -> str:
    """The PTX of a kernel that calls `function`, for sm_90a."""
    target = from_dlpack(np.zeros(64, np.int32) if a is None else a)
    with tempfile.TemporaryDirectory() as folder:
        options = f"--keep-ptx --gpu-arch sm_90a --dump-dir {folder}"
        return cute.compile(host, function, threads, 1, target, target, options=options).__ptx__
