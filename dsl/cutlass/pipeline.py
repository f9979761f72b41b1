"""`cutlass.pipeline`: barriers between parts of a block."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.named_barrier import NamedBarrier

__getattr__ = _refuser("cutlass.pipeline")
