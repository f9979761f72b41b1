"""`cutlass.cute`: decorators, layouts, tensors and copies."""

from dsl import layout as _layout
from dsl.core.dtypes import (BFloat16, Boolean, Float16, Float32, Float64, Int8, Int16, Int32, Int64, Integer, Numeric,
                             Uint8, Uint16, Uint32, Uint64)
from dsl.core.pointer import AddressSpace, Pointer
from dsl.core.value import select as where
from dsl.cutlass.cute import arch, nvgpu, runtime
from dsl.cutlass.cute.decorators import compile, jit, kernel
from dsl.cutlass.cute.pointers import make_ptr, recast_ptr
from dsl.cutlass.unsupported import module_getattr
from dsl.gpu.debug import printf
from dsl.launch.arguments import sym_int, sym_int32, sym_int64
from dsl.layout import *
from dsl.layout import ComposedLayout, E, Layout, ScaledBasis, Swizzle
from dsl.tile.algorithm import autovec_copy, basic_copy, basic_copy_if, copy
from dsl.tile.atom import CopyAtom, make_copy_atom
from dsl.tile.tensor import Tensor, make_fragment_like, make_rmem_tensor, make_rmem_tensor_like, make_tensor

__getattr__ = module_getattr("cutlass.cute")
