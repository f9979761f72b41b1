"""`qd.simt.grid`: the order of memory accesses as all threads of a kernel see it."""

from dsl.gpu.threads import sync
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.task import program
from dsl.quadrants.hints import deprecated

__all__ = ["mem_fence", "memfence"]


def mem_fence() -> None:
    """Order this thread's accesses as the GPU sees them.  PTX ISA: membar.gl. Raises outside kernels."""
    program().task.effect()
    sync.fence_acq_rel_gpu()


def memfence() -> None:
    """The old name of `mem_fence`."""
    deprecated("qd.simt.grid.memfence", "qd.simt.grid.mem_fence")
    mem_fence()


__getattr__ = refuser("simt.grid", globals())
