"""PTX of kernels over planes of floats, as compilers write them: the place of a thread comes from one flat index."""

from __future__ import annotations

SIDE = 1024  # of a plane, a power of two

_START = """(.param .u64 px, .param .u64 py)
.reqntid 128
{
  .reg .b32 %t, %c, %k, %row, %column, %up, %i; .reg .b64 %x, %y, %at, %near, %off; .reg .f32 %v, %w; .reg .pred %p;
  ld.param.u64 %x, [px]; ld.param.u64 %y, [py]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %k, %c, 128, %t;
  shr.u32 %row, %k, 10; and.b32 %column, %k, 1023;
"""

COPY = (
    ".visible .entry copy"
    + _START
    + """  mad.lo.u32 %i, %row, 1024, %column; mul.wide.u32 %off, %i, 4; add.s64 %x, %x, %off; add.s64 %y, %y, %off;
  ld.global.f32 %v, [%x]; st.global.f32 [%y], %v; ret;
}
"""
)

# The mean of the four neighbours, of points that have four.
STENCIL = (
    ".visible .entry stencil"
    + _START
    + """  setp.eq.u32 %p, %row, 0; @%p bra DONE; setp.eq.u32 %p, %row, 1023; @%p bra DONE;
  setp.eq.u32 %p, %column, 0; @%p bra DONE; setp.eq.u32 %p, %column, 1023; @%p bra DONE;
  mad.lo.u32 %i, %row, 1024, %column; mul.wide.u32 %off, %i, 4; add.s64 %at, %x, %off; add.s64 %y, %y, %off;
  ld.global.f32 %v, [%at+-4096]; ld.global.f32 %w, [%at+4096]; add.f32 %v, %v, %w;
  ld.global.f32 %w, [%at+-4]; add.f32 %v, %v, %w; ld.global.f32 %w, [%at+4]; add.f32 %v, %v, %w;
  mul.f32 %v, %v, 0f3E800000; st.global.f32 [%y], %v;
DONE:
  ret;
}
"""
)

SUM = (
    ".visible .entry sum"
    + _START
    + """  mul.wide.u32 %off, %k, 4; add.s64 %x, %x, %off; ld.global.f32 %v, [%x]; red.global.add.f32 [%y], %v; ret;
}
"""
)
