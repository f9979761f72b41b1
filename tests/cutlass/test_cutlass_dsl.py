"""cutlass.cutlass_dsl and cutlass._mlir: ops that authors make themselves, the same under both compilers."""

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import cutlass_dsl

PROGRAM = """
import torch
import cutlass.cute as cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import arith, llvm, nvvm, vector
from cutlass.cute.arch.nvvm_wrappers import WARP_SIZE
from cutlass.cute.runtime import from_dlpack
from cutlass.cutlass_dsl import BaseDSL, Float32, Int32, T, dsl_user_op


@dsl_user_op
def exp2(x, *, loc=None, ip=None):
    return Float32(
        llvm.inline_asm(
            T.f32(),
            [Float32(x).ir_value(loc=loc, ip=ip)],
            "ex2.approx.ftz.f32 $0, $1;",
            "=f,f",
            has_side_effects=False,
            is_align_stack=False,
            asm_dialect=llvm.AsmDialect.AD_ATT,
        )
    )


@dsl_user_op
def swapped(a, b, *, loc=None, ip=None):
    pair = llvm.inline_asm(
        llvm.StructType.get_literal([T.f32(), T.f32()]),
        [Float32(a).ir_value(loc=loc, ip=ip), Float32(b).ir_value(loc=loc, ip=ip)],
        "mov.f32 $0, $3; mov.f32 $1, $2;",
        "=f,=f,f,f",
        has_side_effects=True,
        asm_dialect=llvm.AsmDialect.AD_ATT,
        loc=loc,
        ip=ip,
    )
    return [Float32(llvm.extractvalue(T.f32(), pair, [i], loc=loc, ip=ip)) for i in range(2)]


@cute.kernel
def kernel(t: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i < 4:
        first, second = swapped(t[i], exp2(t[i]))
        t[i] = Float32(nvvm.fmax(first.ir_value(), (second - 3.0).ir_value()))
        nvvm.atomicrmw(op=nvvm.AtomicOpKind.ADD, ptr=out.iterator.to_llvm_ptr(), a=Int32(i + 1).ir_value())
        lane = nvvm.read_ptx_sreg_laneid(T.i32())
        out[1 + i] = Int32(arith.addi(lane, Int32(3).ir_value()))
        out[5 + i] = Int32(llvm.bitcast(ir.IntegerType.get_signless(32), t[i].ir_value()))
        pair = vector.from_elements(ir.VectorType.get([2], T.i32()), [lane, Int32(i * i).ir_value()])
        out[9 + i] = Int32(vector.extract(pair, [], [1]))


@cute.jit
def host(t: cute.Tensor, out: cute.Tensor):
    print(BaseDSL._get_dsl().get_arch_enum())
    kernel(t, out).launch(grid=(1, 1, 1), block=(WARP_SIZE, 1, 1), min_blocks_per_mp=1)


t, out = torch.arange(4, dtype=torch.float32, device="cuda") - 1, torch.zeros(13, dtype=torch.int32, device="cuda")
host(from_dlpack(t), from_dlpack(out))
print(t.tolist(), out.tolist())
"""


def test_ops_of_the_authors(tmp_path, both):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    ours, theirs = both(path)
    assert ours.errors == "" and ours.output == theirs.output
    assert ours.output == (
        "sm_90a\n[0.5, 1.0, 2.0, 4.0] [10, 3, 4, 5, 6, 1056964608, 1065353216, 1073741824, 1082130432, 0, 1, 4, 9]\n"
    )


def test_a_name_that_is_not_here_is_refused_where_it_is_used():
    missing = cutlass_dsl.LaunchConfig
    assert repr(missing) == "<cutlass.cutlass_dsl.LaunchConfig, not part of this compiler yet>"
    with pytest.raises(DSLUserCodeError, match=r"cutlass\.cutlass_dsl\.LaunchConfig is not part of this compiler yet"):
        missing(1)
