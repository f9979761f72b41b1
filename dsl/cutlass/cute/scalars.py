"""The scalar functions of `cute.arch` beside its instructions for threads:
atomics, accesses, packed and long numbers."""

from dsl.gpu.access import load, prefetch, store
from dsl.gpu.atomic import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exch,
    atomic_fmax,
    atomic_fmin,
    atomic_max,
    atomic_max_float32,
    atomic_min,
    atomic_or,
    atomic_xor,
    red,
)
from dsl.gpu.carry import add_cc, addc, mad_cc, madc, sub_cc, subc
from dsl.gpu.convert import (
    cvt_f4e2m1x2_to_f16x2,
    cvt_f4e2m1x4_to_f16x4,
    cvt_f4e2m1x8_to_f16x8,
    cvt_f32x2_bf16x2,
    cvt_i4_bf16,
    cvt_i4_bf16_intrinsic,
    cvt_i4x2_to_bf16x2,
    cvt_i4x4_to_bf16x4,
    cvt_i4x8_to_bf16x8,
    cvt_i8_bf16,
    cvt_i8_bf16_intrinsic,
    cvt_i8x2_to_bf16x2,
    cvt_i8x2_to_f32x2,
    cvt_i8x4_to_bf16x4,
    cvt_i8x4_to_f32x4,
    sext_unpacked_i4_i8_intrinsic,
    sext_unpacked_i4x4_to_i8x4,
)
from dsl.gpu.inline import inline_ptx
from dsl.gpu.packed import (
    add_packed_bf16x2,
    add_packed_f16x2,
    add_packed_f32x2,
    exp2_packed_bf16x2,
    exp2_packed_f16x2,
    exp_packed_f32x2,
    fma_packed_bf16x2,
    fma_packed_f16x2,
    fma_packed_f32x2,
    mul_packed_f32x2,
    sub_packed_bf16x2,
    sub_packed_f16x2,
    sub_packed_f32x2,
)
from dsl.gpu.warp import warp_reduction
from dsl.tile.memory import alloc_smem

THREADS_PER_WARPGROUP, WARPS_PER_WARPGROUP = 128, 4
_NAMES = tuple(name for name in globals() if not name.startswith("_"))
