"""Launches of tests: one block of a kernel over numpy arrays."""

from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack


def run(kernel, *arrays, threads=1, options=""):
    """Compile and run `kernel(*tensors)` in one block; the arrays are changed in place."""

    @cute.jit
    def host(*tensors):
        kernel(*tensors).launch(grid=(1, 1, 1), block=(threads, 1, 1))

    arguments = [from_dlpack(array) for array in arrays]
    cute.compile(host, *arguments, options=options)(*arguments)
