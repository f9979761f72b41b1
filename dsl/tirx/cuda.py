"""T.cuda: CUDA C++'s functions of a kernel."""

from __future__ import annotations

from dsl.gpu import sync
from dsl.tirx.effects import noted
from dsl.tirx.unsupported import module_getattr as _refuser


@noted
def cta_sync() -> None:
    """Wait for all threads of the block: __syncthreads()."""
    sync.sync_threads()


@noted
def warp_sync() -> None:
    """Wait for all lanes of the warp: __syncwarp()."""
    sync.sync_warp()


__getattr__ = _refuser("T.cuda")
