"""The TIRx surface under TVM's names; `import tvm` finds it through dsl.alias. It only translates."""

from dsl.tirx import error, ir, runtime, script, target, testing, tirx
from dsl.tirx.build import Executable, IRModule, build, compile
from dsl.tirx.errors.unsupported import module_getattr
from dsl.tirx.runtime import cpu, cuda, device

__version__ = "0.26.0"
__all__ = [
    "Executable",
    "IRModule",
    "build",
    "compile",
    "cpu",
    "cuda",
    "device",
    "error",
    "ir",
    "runtime",
    "script",
    "target",
    "testing",
    "tirx",
]


_UPSTREAM = frozenset(
    "arith contrib driver exec ffi instrument relax rpc s_tir support te topi base backend "
    "DataType Object get_global_func register_global_func nd".split()
)
__getattr__ = module_getattr("tvm", globals(), _UPSTREAM)
