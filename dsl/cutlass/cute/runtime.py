"""`cutlass.cute.runtime`: arguments from Python."""

from dsl.core.pointer import AddressSpace
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.arguments import (from_dlpack, make_fake_compact_tensor, make_fake_stream, make_fake_tensor, make_ptr,
                                  nullptr)

__getattr__ = _refuser("cutlass.cute.runtime")
