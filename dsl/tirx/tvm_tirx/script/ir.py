"""`from tvm_tirx.script import ir as I`: a module of functions, written as a class, as tvm has it."""

from dsl.tirx.errors.unsupported import module_getattr as _refuser
from dsl.tirx.script.ir import IRModule, ir_module

__all__ = ["IRModule", "ir_module"]
__getattr__ = _refuser("I", globals(), frozenset("module_attrs module_get_attr module_global_infos pyfunc".split()))
