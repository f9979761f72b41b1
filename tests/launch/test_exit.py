"""A process ends in silence, whatever of this package still lives when the interpreter takes its modules apart.

Modules tested here: dsl/launch/session.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Objects that are kept, by kind: objects that the interpreter itself holds outlive every module's names.
KEPT = {
    "compiled": "cute.compile(host, a)",
    "jit function": "(host(a), host)[1]",
    "session": "session.current()",
    "ffi": "by_ffi()",
    "linked": "native('define i32 @one() { ret i32 1 }', {}, ('one',))",
    "machine": "llvm.Machine(llvm.native_target())",
    "module": "llvm.Module('', llvm.Machine(llvm.native_target()))",
    "field": "qd.field(qd.i32, shape=4)",
    "ndarray": "qd.ndarray(qd.i32, 4)",
    "tensor": "tvm.runtime.tensor(np.zeros(4, np.int32), device=tvm.cuda(0))",
    "torch": "torch.zeros(4, device='cuda')",
}
PROGRAM = """
import builtins, importlib.util, sys, types
import numpy as np
import torch
from dsl import alias
alias.install("emulator")
import cutlass, cutlass.cute as cute
import quadrants as qd
import tvm
from cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.lower import llvm
from dsl.lower.host import native

@cute.kernel
def kernel(a: cute.Tensor):
    a[0] = 1

@cute.jit
def host(a: cute.Tensor):
    kernel(a).launch(grid=1, block=1)

def by_ffi():
    made = cute.compile(host, a, options="--enable-tvm-ffi")
    made(a)
    return made

a = from_dlpack(np.zeros(4, np.int32))
qd.init(arch=qd.cpu)
kept = [{kept}]
assert len(kept) == {count}
sys.displayhook = lambda *_, kept=kept: None
"""


@pytest.mark.slow
def test_the_end_of_a_process_is_silent(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(kept=", ".join(KEPT.values()), count=len(KEPT)))
    done = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
