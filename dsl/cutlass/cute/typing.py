"""`cutlass.cute.typing`: types and annotations, and what asks whether a value is one."""

from dsl.core.number.pointer import Pointer
from dsl.cutlass import shared_names as _shared_names
from dsl.cutlass.cute.annotations import Int, XTuple
from dsl.cutlass.shared_names import *  # noqa: F403 - its `__all__` is a part of ours
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.argument.symbolic_int import SymInt
from dsl.tile.tensor.int_tuple import as_numeric, is_int_tuple, is_integer

__all__ = ["Int", "Pointer", "SymInt", "XTuple", "as_numeric", "is_int_tuple", "is_integer"]
__all__ += _shared_names.__all__

__getattr__ = _refuser("cutlass.cute.typing")
