"""The fault of a launch, as an outcome of a repro."""

import pytest

from dsl.emulator.faults import Fault
from dsl.exceptions import outcome_of
from dsl.span import Span


@pytest.mark.parametrize(
    ("kind", "outcome"), [("out_of_bounds", "fault"), ("race", "fault"), ("trap", "trap"), ("deadlock", "deadlock")]
)
def test_the_outcome_names_the_kind_and_the_authors_line(kind, outcome):
    fault = Fault(kind, (0, 0, 0), (1, 0, 0), "st.global.b32", 7, Span("k.py", 12, 5, 12, 6), "what happened")
    row = {"outcome": outcome, "kind": kind, "file": "k.py", "line": 12, "text": "what happened"} | {"finding": None}
    assert outcome_of(fault) == row
    without = Fault(kind, (0, 0, 0), (1, 0, 0), "st.global.b32", 7, None, "what happened")
    assert outcome_of(without) == row | {"file": None, "line": None}
