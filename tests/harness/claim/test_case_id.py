"""Names of cases: every place takes the names that another prints."""

import pytest

from harness.claim.case_id import CaseId, keyword, name, parse

IDS = {
    "repros/a.py": CaseId("repros/a.py"),
    "a": CaseId("a"),
    "repros/a.py::embedded": CaseId("repros/a.py", "embedded"),
    "repros/a.py::width=8": CaseId("repros/a.py", case="width=8"),
    "repros/a.py::p1::width=8,op=max": CaseId("repros/a.py", "p1", case="width=8,op=max"),
    "repros/a.py::p1 nvidia==4.6.3": CaseId("repros/a.py", "p1", "nvidia==4.6.3"),
    "repros/a.py::me@p1 nvidia==4.6.3::width=8": CaseId("repros/a.py", "me@p1", "nvidia==4.6.3", "width=8"),
    "a width=8": CaseId("a", case="width=8"),
    "a b": CaseId("a b"),
    "a::b::c::d": CaseId("a::b::c::d"),
    "a::": CaseId("a::"),
}


@pytest.mark.parametrize("text", IDS)
def test_parts(text):
    assert parse(text) == IDS[text]


def test_a_name_is_read_again():
    assert parse(name("repros/a.py", "width=8")) == CaseId("repros/a.py", case="width=8")
    assert parse(name("repros/a.py", "äb=2,_c=1")) == CaseId("repros/a.py", case="äb=2,_c=1")
    assert parse("repros/a.py äb=2") == CaseId("repros/a.py", case="äb=2")
    assert keyword("a.py::p1::äb=2") == "a.py::p1::äb:2:" and parse("a.py::2b=1").case is None
    assert parse(name("repros/a.py", "")) == CaseId("repros/a.py")


@pytest.mark.parametrize(
    "text", ["repros/a.py::p1 nvidia==4.6.3::width=8,op=max", "a::width=8", "width=8 and not op=max"]
)
def test_k_knows_every_character(text):
    from _pytest.mark.expression import Expression

    Expression.compile(keyword(text))


def test_a_value_is_a_whole_one():
    assert keyword("a.py::width=8") == "a.py::width:8:" and keyword("a.py::width=8") not in keyword("a.py::width=80")
    assert keyword("op=max") in keyword("a.py::p1::width=8,op=max") and keyword("a and b") == "a and b"
