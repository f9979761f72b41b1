"""The TIRx surface under TVM's names; `import tvm` finds it through dsl.alias. It only translates."""

from dsl.tirx import error, ir, runtime, target, testing, tirx
from dsl.tirx import script
from dsl.tirx.build import Executable, IRModule, build, compile
from dsl.tirx.runtime import cpu, cuda, device

__version__ = "0.26.0"
__all__ = ["Executable", "IRModule", "build", "compile", "cpu", "cuda", "device", "error", "ir", "runtime", "script",
           "target", "testing", "tirx"]


def __getattr__(name: str):
    raise AttributeError(f"module 'tvm' has no attribute {name!r} here: this compiler has the subset for T.prim_func "
                         "kernels (docs/tirx.md lists it)")
