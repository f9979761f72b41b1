"""The CuTe DSL surface under upstream's names; `import cutlass` finds it through dsl.alias. It only translates."""

import importlib as _importlib

from dsl.core.control_flow.branches.callbacks import if_generate
from dsl.core.control_flow.expressions import all_, any_, every as and_, max_ as max, min_ as min, not_, some as or_
from dsl.core.diagnosis.author_traceback import stripped as _stripped
from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Uint128, dtype
from dsl.core.number.operators import select as select_
from dsl.cutlass import (
    block,
    cuda,
    cute,
    memory,
    pipeline,
    shared_names as _shared_names,
    stand_ins as _stand_ins,
    tensor_utils,
    testing,
    torch as torch,
    utils,
)
from dsl.cutlass.cuda_version import CUDA_VERSION, target_version
from dsl.cutlass.grammar import (
    Constexpr,
    GridConstant,
    GridConstant as grid_constant,
    const_expr,
    dsl_user_op,
    dynamic_expr,
    range,
    range_constexpr,
    range_dynamic,
)
from dsl.cutlass.shared_names import *  # noqa: F403 - its `__all__` is a part of ours
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.argument.author_objects import register_jit_arg_adapter
from dsl.launch.argument.author_protocols import extract_mlir_values, new_from_mlir_values
from dsl.layout import Swizzle
from dsl.primitives import vector
from dsl.primitives.array import Array, make_array_view
from dsl.primitives.pointer import RawPointer as Pointer, inttoptr
from dsl.primitives.vector import Vector, full, full_like, print_nd_vector
from dsl.tile.tensor.int_tuple import as_numeric

__all__ = [
    "CUDA_VERSION",
    "Array",
    "Constexpr",
    "DSLUserCodeError",
    "GridConstant",
    "Pointer",
    "Swizzle",
    "Uint128",
    "Vector",
    "all_",
    "and_",
    "any_",
    "as_numeric",
    "block",
    "const_expr",
    "cuda",
    "cute",
    "dsl_user_op",
    "dtype",
    "dynamic_expr",
    "extract_mlir_values",
    "full",
    "full_like",
    "grid_constant",
    "if_generate",
    "inttoptr",
    "make_array_view",
    "max",
    "memory",
    "min",
    "new_from_mlir_values",
    "not_",
    "or_",
    "pipeline",
    "print_nd_vector",
    "range",
    "range_constexpr",
    "range_dynamic",
    "register_jit_arg_adapter",
    "select_",
    "target_version",
    "tensor_utils",
    "testing",
    "utils",
    "vector",
]
__all__ += _shared_names.__all__

_stand_ins.register_implementations()
_refused = _refuser("cutlass", for_generate="write a `for` statement", yield_out="write a `for` statement")


@_stripped
def __getattr__(name: str) -> object:
    """The modules for authors of ops are imported when one of them is asked for."""
    if name in ("_mlir", "_mlir_helpers", "base_dsl", "cutlass_dsl", "experimental"):
        return _importlib.import_module(f"dsl.cutlass.{name}")
    return _refused(name)


__version__ = "4.8.1"  # the release whose programs and meanings these are
