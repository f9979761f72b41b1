import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_signal_during_the_import_of_a_dialect():
    """A dialect's classes are registered once in a process: an import that is broken off could not be repeated."""
    program = """
import signal, sys
from dsl.core.ir import bindings, builders

class Rings:
    def find_spec(self, name, path=None, target=None):
        if name.endswith("._arith_enum_gen"):  # the ops are registered, the module is not there yet
            signal.raise_signal(signal.SIGALRM)

def ring(*_):
    raise TimeoutError

sys.meta_path.insert(0, Rings())
signal.signal(signal.SIGALRM, ring)
stand_in = sys.modules[bindings.llvm.__name__.partition(".")[0] + ".dialects.arith"]
try:
    builders.attribute("arith", "addi")
except TimeoutError:
    print("rang")
print(builders.attribute("arith", "AddIOp").__name__, stand_in.MulIOp.__name__, stand_in.SubIOp.__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["rang", "AddIOp", "MulIOp", "SubIOp"], done.stderr


def test_neither_numpy_nor_a_dialect_is_imported():
    program = """
import sys
from dsl.core.ir import bindings, mlir

module = mlir.ir.Module.parse("llvm.func @f(i32)", mlir.context)
print("numpy" in sys.modules, any(name.endswith("_ops_gen") for name in sys.modules))
print(bindings.generated("dialects.llvm").__name__.rpartition(".")[2], "numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["False", "False", "llvm", "False"], done.stderr
