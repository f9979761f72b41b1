"""Litmus tests as Dat3M writes them: the reader, the PTX that a test becomes, and its verdict."""

import pytest

from tests.upstream import litmus

SB = """PTX SB
"Two stores, two loads"
{
x = 0;
y = 0;
P0:r0 = 7;
}
 P0@cta 0,gpu 0           | P1@cta CTA,gpu 0           ;
 st.relaxed.gpu x, 1      | st.relaxed.gpu y, 1      ;
 BETWEEN                  | BETWEEN                  ;
 ld.relaxed.gpu r0, y     | ld.relaxed.gpu r0, x     ;
QUANTIFIER
(P0:r0 == 0 /\\ P1:r0 == 0)
"""


def store_buffer(between="", cta=1, quantifier="exists"):
    return litmus.read(SB.replace("BETWEEN", between).replace("CTA", str(cta)).replace("QUANTIFIER", quantifier))


def test_a_test_is_read():
    test = store_buffer("fence.sc.cta")
    assert test.initial == {"x": 0, "y": 0, "P0:r0": 7} and test.aliases == {} and test.runs
    assert test.threads == [
        ("0", "0", ["st.relaxed.gpu x, 1", "fence.sc.cta", "ld.relaxed.gpu r0, y"]),
        ("1", "0", ["st.relaxed.gpu y, 1", "fence.sc.cta", "ld.relaxed.gpu r0, x"]),
    ]
    assert (test.quantifier, test.variables, test.registers(0)) == ("exists", ["x", "y"], ["r0"])


def test_a_test_becomes_ptx():
    ptx = litmus.Kernel(store_buffer("fence.sc.cta")).ptx
    first = ptx[ptx.index("P0:") : ptx.index("P1:")]
    assert first == (
        "P0:\nmov.u32 %r0, 7;\nst.relaxed.gpu.global.u32 [%m+0], 1;\nfence.sc.cta;\n"
        "ld.relaxed.gpu.global.u32 %r0, [%m+4];\nst.global.u32 [%m+8], %r0;\nret;\n"
    )


@pytest.mark.parametrize(
    "between, cta, quantifier, verdict",
    [
        ("", 1, "exists", 1),
        ("", 1, "~exists", 0),
        ("", 1, "forall", 0),
        ("fence.sc.gpu", 1, "exists", 0),
        ("fence.sc.cta", 1, "exists", 1),
        ("fence.sc.cta", 0, "exists", 0),
    ],
)
def test_the_verdict(between, cta, quantifier, verdict):
    """Of the ISA: only a fence.sc of a scope that has both threads forbids two old values."""
    assert litmus.verdict(store_buffer(between, cta, quantifier), "allowed") == (verdict, True)


def test_whether_each_thread_ends():
    text = "PTX\n{\n}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0;\n bar.cta.sync 1, 1, 2 | WAIT;\nexists (true == true)"
    alone, both = (litmus.read(text.replace("WAIT", other)) for other in ("", "bar.cta.sync 1, 1, 2"))
    assert litmus.verdict(alone, "ends") == (0, True) and litmus.verdict(both, "ends") == (1, True)


def test_conditions():
    values = {"P0:r0": 1, "x": 2}
    assert litmus.holds("P0:r0 == 1 /\\ ~(x = 3)")(values) and litmus.holds("0:r0 = 2 \\/ x == 2")(values)
    assert not litmus.holds("x != 2")(values)


def test_a_test_of_another_proxy_goes_to_the_model_alone():
    text = "PTX\n{\nx = 0;\ns @ surface aliases x;\n}\n P0@cta 0,gpu 0;\n sust.weak s, 1;\n ld.weak r0, x;\nexists (P0:r0 == 0)"
    test = litmus.read(text)
    assert not test.runs and test.aliases == {"s": ("x", "x")}
    assert litmus.verdict(test, "allowed") == (1, True)


def test_a_test_without_a_condition_is_refused():
    with pytest.raises(ValueError, match="it has no condition"):
        litmus.read("PTX\n{\n}\n P0@cta 0,gpu 0;\n")
