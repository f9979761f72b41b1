"""Rules of comparison print as an author writes them; which leave the values open."""

import pytest

from harness.claim.rule import Rule


@pytest.mark.parametrize("rule, text", [
    (Rule(), "bits"), (Rule("ulp", 4), "ulp:4"), (Rule("rel", 1e-6), "rel:1e-06"), (Rule("pred", name="sorted"), "pred:sorted"),
    (Rule("set"), "set"), (Rule("undef"), "undef"), (Rule("abs", absolute=1e-6), "abs:1e-06"),
    (Rule("close", 1e-5, absolute=0.5), "close:1e-05,0.5"),
])  # fmt: skip
def test_a_rule_prints_as_it_is_written(rule, text):
    assert str(rule) == text


def test_rules_that_name_no_value():
    assert [mode for mode in ("bits", "ulp", "rel", "abs", "close", "set", "pred", "undef") if Rule(mode).is_free] == [
        "set", "pred", "undef",
    ]  # fmt: skip
