"""Floating-point instructions under the names of cute.arch.  PTX ISA: Floating-Point Instructions, cvt."""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import BFloat16, Float16, Float32, Int32, Numeric
from dsl.core.phrase import shown
from dsl.gpu import inline
from dsl.gpu.inline import intrinsic

_LOG2_E = 1.4426950408889634


def _extreme(name: str, a, b, abs: bool, nan: bool, ftz: bool) -> Float32:
    for what, flag in (("abs", abs), ("nan", nan), ("ftz", ftz)):
        if not isinstance(flag, int) or flag not in (0, 1):
            raise DSLUserCodeTypeError(f"{what} of {name} must be True or False, got {shown(flag)}", fix=f"{what}=True")
    modifiers = "ftz." * ftz + "nan." * nan + "xorsign.abs." * abs
    return intrinsic(f"nvvm.{name}.{modifiers}f", Float32, Float32(a), Float32(b))


def fmax(a, b, *, abs: bool = False, nan: bool = False, ftz: bool = False) -> Float32:
    """The larger of two Float32; a NaN gives way to the other operand unless `nan`.

    `abs`: the larger magnitude, with the product of the signs.  PTX ISA: max.f32, .xorsign.abs.
    """
    return _extreme("fmax", a, b, abs, nan, ftz)


def fmin(a, b, *, abs: bool = False, nan: bool = False, ftz: bool = False) -> Float32:
    """The smaller of two Float32; a NaN gives way to the other operand unless `nan`; `abs` as in fmax.  PTX ISA: min"""
    return _extreme("fmin", a, b, abs, nan, ftz)


def exp(a) -> Float32:
    """e**a as ex2.approx.ftz of a * log2(e)."""
    return exp2(Float32(a) * _LOG2_E)


def exp2(a) -> Float32:
    """2**a.  PTX ISA: ex2.approx.ftz."""
    return intrinsic("nvvm.ex2.approx.ftz.f32", Float32, Float32(a))


def rcp_approx(a) -> Float32:
    """1 / a within 1 ulp.  PTX ISA: rcp.approx.ftz."""
    return intrinsic("nvvm.rcp.approx.ftz.f", Float32, Float32(a))


def _fma(dtype: type[Numeric], suffix: str, modifiers: str, *operands) -> Numeric:
    return inline.ptx(f"fma.rn{modifiers}.{suffix} $0, $1, $2, $3;", dtype, "=h,h,h,h", *map(dtype, operands))


def fma_f16(a, b, c, *, rnd: str = "rn", ftz: bool = False, sat: bool = False, relu: bool = False) -> Float16:
    """a * b + c of Float16, rounded once; `sat` clamps to [0, 1], `relu` to 0 or more.  PTX ISA: fma.f16."""
    return _fma(Float16, "f16", ".ftz" * bool(ftz) + ".sat" * bool(sat) + ".relu" * bool(relu), a, b, c)


def fma_bf16(a, b, c, *, rnd: str = "rn", relu: bool = False) -> BFloat16:
    """a * b + c of BFloat16, rounded once; `relu` clamps to 0 or more.  PTX ISA: fma.bf16."""
    return _fma(BFloat16, "bf16", ".relu" * bool(relu), a, b, c)


def cvt_f32_bf16(src_f32) -> BFloat16:
    """A Float32 rounded to nearest even.  PTX ISA: cvt.rn.bf16.f32."""
    return BFloat16(Float32(src_f32))


def cvt_f32_tf32(src_f32) -> Int32:
    """The bits of a Float32 rounded to TFloat32, ties away from zero.  PTX ISA: cvt.rna.tf32.f32."""
    return inline.ptx("cvt.rna.tf32.f32 $0, $1;", Int32, "=r,f", Float32(src_f32))
