"""The CuTe DSL surface under upstream's names; `import cutlass` finds it through dsl.alias. It only translates."""

from dsl.core.dtypes import (BFloat16, Boolean, Float, Float16, Float32, Float64, Int8, Int16, Int32, Int64, Integer,
                             Numeric, NumericMeta, Uint8, Uint16, Uint32, Uint64, numeric as as_numeric)
from dsl.core.expression import all_, any_, max_ as max, min_ as min, not_
from dsl.core.errors import DSLUserCodeError
from dsl.core.pointer import AddressSpace, Pointer
from dsl.core.value import select as select_
from dsl.cutlass.grammar import Constexpr, const_expr, dynamic_expr, range, range_constexpr, range_dynamic
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.cutlass import cute, memory, utils
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.tile.tensor import Tensor

__getattr__ = _refuser("cutlass")
