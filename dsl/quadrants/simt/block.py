"""`qd.simt.block`: the threads of a block, which take `block_dim` iterations of a loop at the kernel's
outermost scope."""

from dsl.core.number.dtypes import Int32, is_dynamic
from dsl.gpu.threads import index, sync as gpu_sync
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.task import program


def sync() -> None:
    """Wait for all threads of the block.  PTX ISA: bar.sync 0. Raises QuadrantsRuntimeError outside kernels."""
    program().task.effect()
    gpu_sync.sync_threads()


def mem_fence() -> None:
    """Order this thread's accesses as the block sees them.  PTX ISA: membar.cta. Raises as `sync`."""
    program().task.effect()
    gpu_sync.fence_acq_rel_cta()


def thread_idx() -> Int32:
    """The number of this thread in its block, x fastest.  PTX ISA: %tid. Raises as `sync`."""
    x, y, z = index.thread_idx()
    width, height, depth = program().task.block
    is_row = not is_dynamic(height) and not is_dynamic(depth) and height == depth == 1
    return x if is_row else x + (y + z * Int32(height)) * Int32(width)


def global_thread_idx() -> Int32:
    """The number of this thread in the grid. Raises as `sync`."""
    return program().task.thread_number()


__getattr__ = refuser("simt.block", globals())
