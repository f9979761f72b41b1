"""Bytes picked and bits seen as another type, against NVIDIA's compiler on the same device."""

import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.cutlass import Int32, experimental
from tests.primitives import kernels

prims = experimental.primitives
PROGRAM = """
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from cutlass.experimental import primitives as prims

@cute.kernel
def kernel(a: cute.Tensor, out: cute.Tensor):
    for i, mode in enumerate(prims.PermuteMode):
        two = {"hi": a[1]} if i < 3 else {}
        out[i] = prims.prmt(a[0], a[2], mode, **two)
    out[7] = prims.mov_b32(cutlass.Float32(a[3]))
    out[8] = cutlass.Int32(prims.mov_b32(a[4], target_type=cutlass.Float32))

@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    kernel(a, out).launch(grid=(1, 1, 1), block=(1, 1, 1))

a = torch.tensor([0x33221180, 0x77665544, 0x5F19, 3, 0x41480000], dtype=torch.int32, device="cuda")
out = torch.zeros(9, dtype=torch.int32, device="cuda")
host(from_dlpack(a), from_dlpack(out))
print([hex(each & 0xFFFFFFFF) for each in out.tolist()])
"""


def test_as_nvidias_compiler_does(both, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ours, theirs = both(program, [])
    assert ours.output == theirs.output, theirs.errors
    # default 0x5F19: bytes 9 (the sign of 1), 1, F (the sign of 7), 5
    assert eval(ours.output)[0] == "0x55001100" and eval(ours.output)[7:] == ["0x40400000", "0xc"]


def test_modes_take_one_word_or_two():
    def body(a, b):
        with pytest.raises(DSLUserCodeTypeError, match="prmt in mode rc8 takes one word"):
            prims.prmt(a[0], 1, prims.PermuteMode.RC8, hi=a[1])
        with pytest.raises(DSLUserCodeTypeError, match="prmt in mode f4e takes two words"):
            prims.prmt(a[0], 1, "f4e")
        with pytest.raises(DSLUserCodeTypeError, match="mov_b32 takes Int32, Uint32 or Float32"):
            prims.mov_b32(a[0], target_type=bool)
        assert type(prims.mov_b32(1.5)) is Int32

    kernels.ptx(body)
