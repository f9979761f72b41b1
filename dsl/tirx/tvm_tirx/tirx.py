"""tvm_tirx.tirx: `compile`, and the class of functions."""

from dsl.tirx.errors.unsupported import module_getattr
from dsl.tirx.tirx import is_buffer_var as is_tensor_var
from dsl.tirx.tvm_tirx.build import compile
from dsl.tirx.tvm_tirx.function import Function
from dsl.tirx.tvm_tirx.memory import TensorType

__all__ = ["Function", "TensorType", "compile", "is_tensor_var"]

_UPSTREAM = frozenset(
    """
Expr IndexMap Layout TensorMapType ThreadScope TileLayout Var analysis compilation_pipeline const convert expr function
get_default_tir_pipeline get_tir_pipeline index_map layout op register_intrin_lowering register_tir_pipeline renew_def
script structural tensor tensor_data_ptr thread_scope tile transform type
""".split()
)
__getattr__ = module_getattr("tvm_tirx.tirx", globals(), _UPSTREAM)
