"""Functions that call themselves against the same functions in Python. PTX ISA 7.1, 9.7.12.5."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import HEADER

CHECKED = pytest.mark.parametrize("checks", [(), ("race", "undefined")])


def results(machine, functions: str, name: str, count: int, checks=(), ptxas=None) -> list[int]:
    """The results of a function of a 32-bit number, for the number of each thread."""
    text = f"""{functions}
    .visible .entry k(.param .u64 out) {{
      .reg .b32 %t, %v; .reg .b64 %o, %q; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4;
      ld.param.u64 %q, [out]; add.u64 %o, %o, %q;
      {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t; call (b), {name}, (a); ld.param.b32 %v, [b]; }}
      st.global.u32 [%o], %v; ret; }}"""
    if ptxas is not None:
        ptxas(HEADER + text)
    out = np.zeros(count, np.uint32)
    machine.run(text, block=count, entry="k", out=out, checks=checks)
    return out.tolist()


FIBONACCI = """
.func (.param .b32 r) fib(.param .b32 n) {
  .reg .b32 %n, %m, %x, %y; .reg .pred %p, %odd;
  ld.param.b32 %n, [n]; setp.lt.u32 %p, %n, 2; and.b32 %m, %n, 1; setp.ne.u32 %odd, %m, 0;
  @%p bra END;
  sub.u32 %m, %n, 1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %m; call.uni (b), fib, (a); ld.param.b32 %x, [b]; }
  sub.u32 %m, %n, 2;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %m; call.uni (b), fib, (a); ld.param.b32 %y, [b]; }
  add.u32 %n, %x, %y;
  @%odd add.u32 %n, %n, 1;
END: st.param.b32 [r], %n; ret;
}"""


@CHECKED
def test_a_function_that_calls_itself_twice(machine, ptxas, checks):
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2) + n % 2

    assert results(machine, FIBONACCI, "fib", 13, checks, ptxas) == [fib(n) for n in range(13)]


EACH_OTHER = """
.func (.param .b32 r) other(.param .b32 n);
.func (.param .b32 r) one(.param .b32 n) {
  .reg .b32 %n; .reg .pred %p; .param .b32 a; .param .b32 b;
  ld.param.b32 %n, [n]; setp.eq.u32 %p, %n, 0; st.param.b32 [r], 100; @%p ret;
  sub.u32 %n, %n, 1; st.param.b32 [a], %n; call (b), other, (a);
  ld.param.b32 %n, [b]; add.u32 %n, %n, 1; st.param.b32 [r], %n; ret;
}
.func (.param .b32 r) other(.param .b32 n) {
  .reg .b32 %n, %m; .reg .pred %p; .param .b32 a; .param .b32 b;
  ld.param.b32 %n, [n]; setp.ne.u32 %p, %n, 0; sub.u32 %n, %n, 1; st.param.b32 [a], %n;
  @%p call (b), one, (a);
  ld.param.b32 %m, [b]; selp.b32 %m, %m, 200, %p;
  ld.param.b32 %n, [n]; mad.lo.u32 %m, %n, 1000, %m; st.param.b32 [r], %m; ret;
}"""


@CHECKED
def test_two_functions_that_call_each_other(machine, ptxas, checks):
    """A guarded call and a guarded ret; a parameter that is read again after the call."""

    def one(n):
        return 100 if n == 0 else other(n - 1) + 1

    def other(n):
        return 1000 * n + (one(n - 1) if n else 200)

    assert results(machine, EACH_OTHER, "one", 9, checks, ptxas) == [one(n) for n in range(9)]
    assert results(machine, EACH_OTHER, "other", 9, checks) == [other(n) for n in range(9)]


ARRAY = """
.func count(.param .b64 up, .param .b32 n) {
  .local .align 8 .b32 own[2]; .reg .b32 %n, %v; .reg .b64 %up, %own; .reg .pred %p;
  ld.param.b64 %up, [up]; ld.param.b32 %n, [n]; st.local.b32 [own+4], %n; st.local.b32 [own], 0;
  setp.eq.u32 %p, %n, 0; @%p bra END;
  mov.u64 %own, own; cvta.local.u64 %own, %own; sub.u32 %n, %n, 1;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %own; st.param.b32 [b], %n; call count, (a, b); }
END: ld.local.b32 %n, [own]; ld.local.b32 %v, [own+4]; mad.lo.u32 %n, %n, 3, %v; st.b32 [%up], %n; ret;
}
.func (.param .b32 r) whole(.param .b32 n) {
  .local .align 4 .b32 own; .reg .b32 %n; .reg .b64 %own; ld.param.b32 %n, [n];
  mov.u64 %own, own; cvta.local.u64 %own, %own;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %own; st.param.b32 [b], %n; call count, (a, b); }
  ld.local.b32 %n, [own]; st.param.b32 [r], %n; ret;
}"""


@CHECKED
def test_each_call_has_separate_local_arrays(machine, ptxas, checks):
    def count(n):
        return n + 3 * (count(n - 1) if n else 0)

    assert results(machine, ARRAY, "whole", 9, checks, ptxas) == [count(n) for n in range(9)]


TOGETHER = """
.func (.param .align 8 .b8 r[12]) sum(.param .align 8 .b8 s[12]) {
  .reg .b32 %v, %d, %w; .reg .b64 %l; .reg .pred %p;
  ld.param.b32 %v, [s]; ld.param.b32 %d, [s+4]; ld.param.b32 %w, [s+8]; setp.eq.u32 %p, %d, 0; @%p bra END;
  bar.sync 0; shfl.sync.bfly.b32 %w, %v, %d, 31, -1; add.u32 %v, %v, %w; shr.u32 %d, %d, 1;
  { .param .align 8 .b8 a[12]; .param .align 8 .b8 b[12]; st.param.b32 [a], %v; st.param.b32 [a+4], %d;
    st.param.b32 [a+8], %w; call (b), sum, (a); ld.param.b32 %v, [b]; ld.param.b32 %w, [b+8]; }
END: st.param.b32 [r], %v; st.param.b32 [r+4], 0; add.u32 %w, %w, 1; st.param.b32 [r+8], %w; ret;
}
.func (.param .b32 r) whole(.param .b32 n) {
  .reg .b32 %n; .param .align 8 .b8 a[12]; .param .align 8 .b8 b[12]; ld.param.b32 %n, [n];
  st.param.b32 [a], %n; st.param.b32 [a+4], 16; st.param.b32 [a+8], 0; call (b), sum, (a);
  ld.param.b32 %n, [b]; st.param.b32 [r], %n; ret;
}"""


@CHECKED
def test_threads_meet_in_a_function_that_calls_itself(machine, ptxas, checks):
    """A structure as parameter and result; each round has a barrier and a shuffle."""
    assert results(machine, TOGETHER, "whole", 32, checks, ptxas) == [sum(range(32))] * 32


def test_a_recursion_that_does_not_end_fills_the_stack(machine):
    endless = ".func (.param .b32 r) f(.param .b32 n) { .param .b32 a; call (r), f, (n); ret; }"
    with pytest.raises(emulator.Fault, match=r"(?s)ILLEGAL.*need more than the 32768 bytes of stack.*call \(r\), f"):
        results(machine, endless, "f", 1)


@pytest.mark.parametrize("function, error, why", [
    (".func (.reg .b32 r) f(.reg .b32 n) { call (r), f, (n); ret; }", emulator.PtxError, "must be .param variables"),
    (".func (.param .b32 r) f(.param .b32 n) { .local .b32 a[4000]; .reg .b32 %x; call (r), f, (n);"
     " ld.local.b32 %x, [a]; ret; }", emulator.Unsupported, "needs 16016 bytes of stack each time"),
])  # fmt: skip
def test_functions_that_are_refused(machine, function, error, why):
    with pytest.raises(error, match=why):
        results(machine, function, "f", 1)
