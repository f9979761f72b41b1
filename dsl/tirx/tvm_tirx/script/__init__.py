"""tvm_tirx.script: where T comes from."""

from dsl.tirx.errors.unsupported import module_getattr
from dsl.tirx.tvm_tirx.script import ir, tirx

__all__ = ["ir", "tirx"]

_UPSTREAM = frozenset("from_source ir_builder ir_module parse parser printer register_dialect".split())
__getattr__ = module_getattr("tvm_tirx.script", globals(), _UPSTREAM)
