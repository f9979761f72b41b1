"""T.ptx: PTX instructions."""

from __future__ import annotations

from dsl.gpu import sync
from dsl.tirx.effects import noted
from dsl.tirx.unsupported import module_getattr as _refuser


@noted
def elect_sync():
    """True in one lane of the warp.  PTX ISA: elect.sync."""
    return sync.elect_one()


__getattr__ = _refuser("T.ptx")
