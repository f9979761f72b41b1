"""The routines LLVM calls on a CPU for 16-bit floats and 128-bit integers, which not every C library has.

Conversions are to nearest even, from double rounded once: a double becomes a float rounded to odd first.
"""

from __future__ import annotations

import ctypes

_EXTEND_HALF = """
define weak float @__extendhfsf2(half %h) {
  %b = bitcast half %h to i16
  %w = zext i16 %b to i32
  %magnitude = and i32 %w, 32767
  %shifted = shl i32 %magnitude, 13
  %raw = bitcast i32 %shifted to float
  %finite = fmul float %raw, 0x46F0000000000000
  %special = icmp uge i32 %magnitude, 31744
  %most = or i32 %shifted, 2139095040
  %infinite = bitcast i32 %most to float
  %size = select i1 %special, float %infinite, float %finite
  %bits = bitcast float %size to i32
  %moved = shl i32 %w, 16
  %sign = and i32 %moved, -2147483648
  %all = or i32 %bits, %sign
  %r = bitcast i32 %all to float
  ret float %r
}
"""
_TRUNCATE_HALF = """
define weak half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %low = lshr i32 %size, 13
  %odd = and i32 %low, 1
  %up = add i32 %size, 4095
  %rounded = add i32 %up, %odd
  %top = lshr i32 %rounded, 13
  %normal = sub i32 %top, 114688
  %number = bitcast i32 %size to float
  %sum = fadd float %number, 5.000000e-01
  %code = bitcast float %sum to i32
  %subnormal = sub i32 %code, 1056964608
  %small = icmp ult i32 %size, 947912704
  %finite = select i1 %small, i32 %subnormal, i32 %normal
  %large = icmp uge i32 %size, 1199570944
  %bounded = select i1 %large, i32 31744, i32 %finite
  %nan = icmp ugt i32 %size, 2139095040
  %magnitude = select i1 %nan, i32 32256, i32 %bounded
  %moved = lshr i32 %bits, 16
  %sign = and i32 %moved, 32768
  %all = or i32 %magnitude, %sign
  %narrow = trunc i32 %all to i16
  %r = bitcast i16 %narrow to half
  ret half %r
}
"""
_TRUNCATE_BFLOAT = """
define weak bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %low = lshr i32 %bits, 16
  %odd = and i32 %low, 1
  %up = add i32 %bits, 32767
  %rounded = add i32 %up, %odd
  %top = lshr i32 %rounded, 16
  %nan = fcmp uno float %x, %x
  %quiet = or i32 %low, 64
  %all = select i1 %nan, i32 %quiet, i32 %top
  %narrow = trunc i32 %all to i16
  %r = bitcast i16 %narrow to bfloat
  ret bfloat %r
}
"""
_FROM_DOUBLE = """
define weak TYPE @__truncdfCODEf2(double %x) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %inexact = fcmp one double %back, %x
  %last = and i32 %bits, 1
  %even = icmp eq i32 %last, 0
  %size = call double @llvm.fabs.f64(double %x)
  %back_size = call double @llvm.fabs.f64(double %back)
  %over = fcmp ogt double %back_size, %size
  %less = sub i32 %bits, 1
  %more = add i32 %bits, 1
  %moved = select i1 %over, i32 %less, i32 %more
  %move = and i1 %inexact, %even
  %odd = select i1 %move, i32 %moved, i32 %bits
  %number = bitcast i32 %odd to float
  %r = call TYPE @__truncsfCODEf2(float %number)
  ret TYPE %r
}
"""
_FABS = "declare double @llvm.fabs.f64(double)\n"


def with_builtins(llvm_ir: str) -> str:
    """`llvm_ir` with the definitions that its 16-bit float types need."""
    added = ""
    for type_, code, bodies in (("half", "h", _EXTEND_HALF + _TRUNCATE_HALF), ("bfloat", "b", _TRUNCATE_BFLOAT)):
        if type_ in llvm_ir:
            added += bodies + _FROM_DOUBLE.replace("TYPE", type_).replace("CODE", code)
    return llvm_ir + added + _FABS * (bool(added) and "@llvm.fabs.f64(" not in llvm_ir)


def load_wide_integers() -> None:
    """Make the compiler's runtime library, which divides 128-bit integers, visible to code made here."""
    try:
        ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        pass  # a call of it is then an unknown name, and the error names it
