"""core.ir.builders: the bindings' builders append where tracing is.

Modules tested here: dsl/core/ir/mlir.py.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from dsl.core.errors import DSLUserCodeRuntimeError
from dsl.core.ir import builders, mlir
from dsl.core.number.dtypes import Int32

ROOT = Path(__file__).parents[3]


def test_a_builder_appends_to_the_current_block():
    module = mlir.Module()  # which the block is of
    _, entry = module.function("f", [mlir.i32])
    with mlir.inside(entry):
        total = builders.attribute("arith", "addi")(entry.arguments[0], Int32(2), loc="any", ip="any")
        builders.attribute("arith", "MulIOp")(total, total)
    assert total.type == mlir.i32
    assert [operation.name for operation in entry.operations] == ["arith.constant", "arith.addi", "arith.muli"]


def test_before_a_marker():
    module = mlir.Module()  # which the block is of
    _, entry = module.function("f", [mlir.i32])
    with mlir.inside(entry):
        marker = mlir.op("llvm.return")
    with mlir.inside(mlir.Before(marker)):
        builders.attribute("arith", "addi")(entry.arguments[0], entry.arguments[0])
    assert [operation.name for operation in entry.operations] == ["arith.addi", "llvm.return"]


def test_the_type_that_older_releases_take():
    module = mlir.Module()  # which the block is of
    _, entry = module.function("f", [])
    with mlir.inside(entry):
        assert builders.attribute("nvvm", "read_ptx_sreg_laneid")(mlir.i32).type == mlir.i32


def test_outside_every_function():
    with pytest.raises(DSLUserCodeRuntimeError, match="computes a traced value outside any"):
        builders.attribute("arith", "addi")(1, 2)


def test_a_signal_during_the_import_of_a_dialect():
    """A dialect's classes are registered once in a process: an import that is broken off could not be repeated."""
    program = """
import signal, sys
from dsl.core.ir import builders, mlir

class Rings:
    def find_spec(self, name, path=None, target=None):
        if name.endswith("._arith_enum_gen"):  # the ops are registered, the module is not there yet
            signal.raise_signal(signal.SIGALRM)

def ring(*_):
    raise TimeoutError

sys.meta_path.insert(0, Rings())
signal.signal(signal.SIGALRM, ring)
stand_in = sys.modules[mlir.generated.__globals__["_llvm"].__name__.partition(".")[0] + ".dialects.arith"]
try:
    builders.attribute("arith", "addi")
except TimeoutError:
    print("rang")
print(builders.attribute("arith", "AddIOp").__name__, stand_in.MulIOp.__name__, stand_in.SubIOp.__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["rang", "AddIOp", "MulIOp", "SubIOp"], done.stderr
