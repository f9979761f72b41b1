"""Facts that attempts at a statement have learnt; a discarded attempt leaves nothing."""

import pytest

from dsl.core.control_flow.loops import speculation
from dsl.core.control_flow.loops.speculation import Record, record_of
from dsl.core.errors import DSLWarning
from dsl.cutlass import Int32, cute
from dsl.span import Span

OUTER, INNER = Span("k.py", 1), Span("k.py", 2)


def test_a_record_notes_whether_an_attempt_showed_anything_new():
    record = Record()
    assert record.learn({"x"}, set()) and not record.learn({"x"}, set())
    assert record.learn({"x"}, {"y"}) and not record.learn(set(), {"y"})
    assert (record.changed, record.replaced) == ({"x"}, {"y"})


def test_inner_statements_are_known_again_by_place_and_turn():
    record = record_of(OUTER)
    with record:
        first, second = record_of(INNER), record_of(INNER)
        first.learn({"a"}, set())
        with first:
            assert record_of(INNER) is not first
    with record:  # the outer loop is traced again
        assert record_of(INNER) is first and record_of(INNER) is second
    assert record_of(OUTER) is not record


def test_a_body_that_is_traced_twice_prints_and_warns_once(capsys):
    attempts = []
    discard = speculation.Attempt.discard

    def counted(self, scratches):
        attempts.append(len(scratches))
        discard(self, scratches)

    @cute.jit
    def host(n: Int32):
        xs = [Int32(0), Int32(0)]
        for i in range(n):
            print("body", type(i).__name__)
            xs[1] = xs[1] + i  # not seen before the first attempt at the body

    with pytest.MonkeyPatch.context() as patch, pytest.warns(Warning) as told:
        patch.setattr(speculation.Attempt, "discard", counted)
        host(3)
        __import__("warnings").warn("so that there is one", DSLWarning)
    assert attempts and capsys.readouterr().out == "body Int32\n"
    assert len(told) == len({str(one.message) for one in told})
