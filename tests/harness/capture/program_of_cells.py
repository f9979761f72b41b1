"""A program that runs texts as a notebook runs its cells, or by exec; an argument chooses how."""

import linecache
import sys
import types

CELLS = (
    """\
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
import math as mathematics

SIZE, NAME = 8, "scaled"
UNUSED = object()
""",
    """\
def factor():
    return 1

@cute.kernel
def scale_kernel(a: cute.Tensor):
    a[cute.arch.thread_idx()[0]] *= factor() * mathematics.floor(1.5)

class Scaled:
    times = 2

    @cute.jit
    def __call__(self, a: cute.Tensor):
        scale(a, self.times)
""",
    """\
def factor():
    return SIZE - 5

@cute.jit
def scale(a: cute.Tensor, times: cutlass.Constexpr[int] = 1):
    for _ in cutlass.range_constexpr(times):
        scale_kernel(a).launch(grid=1, block=a.shape[0])
""",
    """\
a = torch.arange(SIZE, dtype=torch.float32, device="cuda")
scale(from_dlpack(a))
Scaled()(from_dlpack(a))
""",
)


def run(names, is_known=True):
    for number, text in enumerate(CELLS):
        name = f"<ipython-input-{number}>"
        if is_known:
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), names)


def cells():
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    run(module.__dict__)


def executed():
    run({"__name__": "a_made_module"})


def unknown():
    run({"__name__": "a_made_module"}, is_known=False)


def in_a_module():
    """Text that a module with a file executes among its own names."""
    run(globals())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
