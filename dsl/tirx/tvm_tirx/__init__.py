"""The package tvm_tirx (apache-tvm-tirx): another TIRx than tvm has. `import tvm_tirx` finds it through dsl.alias.

Only what differs is here: immutable bindings, declarations, launches. The rest is dsl.tirx.
"""

from dsl.tirx.errors.unsupported import module_getattr
from dsl.tirx.tvm_tirx import ir, runtime, script, target, testing, tirx
from dsl.tirx.tvm_tirx.build import IRModule, compile
from dsl.tirx.tvm_tirx.runtime import cpu, cuda

__version__ = "0.1.0a4"
__all__ = ["IRModule", "compile", "cpu", "cuda", "ir", "runtime", "script", "target", "testing", "tirx"]

_UPSTREAM = frozenset(
    "DataTypeCode backend base codegen device_from_target ext_dev libinfo metal opencl prim rocm support sym transform "
    "vpi vulkan".split()
)
__getattr__ = module_getattr("tvm_tirx", globals(), _UPSTREAM)
