"""Functions that kernels call and no GPU has: their bodies, in LLVM IR, put where a module only declares them."""

from __future__ import annotations

import re

# (to, before, n, after): `before`, the digits of n and `after` are written one after the other, ended by NUL
_NUMBERED_TEXT = """
define internal void @dsl_numbered_text(ptr %to, ptr %before, i64 %n, ptr %after) noinline {
entry:
  br label %first
first:
  %d0 = phi ptr [ %to, %entry ], [ %d0.next, %first ]
  %s0 = phi ptr [ %before, %entry ], [ %s0.next, %first ]
  %c0 = load i8, ptr %s0, align 1
  store i8 %c0, ptr %d0, align 1
  %d0.next = getelementptr i8, ptr %d0, i64 1
  %s0.next = getelementptr i8, ptr %s0, i64 1
  %ends0 = icmp eq i8 %c0, 0
  br i1 %ends0, label %sign, label %first
sign:
  store i8 45, ptr %d0, align 1
  %negative = icmp slt i64 %n, 0
  %behind = select i1 %negative, ptr %d0.next, ptr %d0
  %minus = sub i64 0, %n
  %size = select i1 %negative, i64 %minus, i64 %n
  br label %scale
scale:
  %p = phi i64 [ 1, %sign ], [ %p.next, %scale ]
  %left = udiv i64 %size, %p
  %p.next = mul i64 %p, 10
  %small = icmp ult i64 %left, 10
  br i1 %small, label %digit, label %scale
digit:
  %d1 = phi ptr [ %behind, %scale ], [ %d1.next, %digit ]
  %m = phi i64 [ %size, %scale ], [ %m.next, %digit ]
  %unit = phi i64 [ %p, %scale ], [ %unit.next, %digit ]
  %figure = udiv i64 %m, %unit
  %m.next = urem i64 %m, %unit
  %unit.next = udiv i64 %unit, 10
  %low = trunc i64 %figure to i8
  %char = add i8 %low, 48
  store i8 %char, ptr %d1, align 1
  %d1.next = getelementptr i8, ptr %d1, i64 1
  %last = icmp eq i64 %unit.next, 0
  br i1 %last, label %second, label %digit
second:
  %d2 = phi ptr [ %d1.next, %digit ], [ %d2.next, %second ]
  %s2 = phi ptr [ %after, %digit ], [ %s2.next, %second ]
  %c2 = load i8, ptr %s2, align 1
  store i8 %c2, ptr %d2, align 1
  %d2.next = getelementptr i8, ptr %d2, i64 1
  %s2.next = getelementptr i8, ptr %s2, i64 1
  %ends2 = icmp eq i8 %c2, 0
  br i1 %ends2, label %done, label %second
done:
  ret void
}
"""
_DECLARED = re.compile(r"^declare (?:!dbg !\d+ )?\w+ @(dsl_\w+)\(.*\n", re.MULTILINE)


def with_device_functions(llvm_ir: str) -> str:
    """`llvm_ir` with the bodies of what it declares."""
    return _DECLARED.sub(lambda found: _body(found[1]) or found[0], llvm_ir)


def _body(symbol: str) -> str:
    """The definition of a device function; "" for what is none."""
    if symbol == "dsl_numbered_text":
        return _NUMBERED_TEXT
    from dsl.lower import elementary  # late: most programs need none

    return elementary.llvm_ir(symbol) if symbol in elementary.SYMBOLS else ""
