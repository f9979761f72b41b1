"""Differences between two answers, from the lines of the record."""

import pytest

from harness.records.index.answers import Answer, how, of, says

LINE = {"device": {"kind": "cuda", "name": "H100", "driver": 570}, "compiler": {"version": "1"}, "commit": "c",
        "key": {"repro_sha256": "f" * 64}, "outcome": "outputs", "outputs": {"out": "a" * 64},
        "kernels": {"k": "1" * 64, "m": "2" * 64}, "sass": {}}  # fmt: skip


def answer(verdict="pass", reason="", **more) -> Answer:
    place = "repros/a.py", "", "sm_90", "ours", "p1", "id", "2026-11-20", verdict, reason
    return Answer(*place, *of(LINE | more, True))


def test_facts_come_from_the_line():
    one = answer()
    assert (one.gpu, one.driver, one.version, one.commit, one.text) == ("H100", "570", "1", "c", "f" * 16)
    assert one.sass is None and of(LINE, False)[0] is None


@pytest.mark.parametrize(
    "other, kinds, said",
    [
        (answer(), [], "the same: pass"),
        (answer("fail", "no"), ["verdict"], "pass -> fail: no"),
        (answer("fail", "no golden"), [], "pass -> fail: no golden"),  # nobody judged it
        (answer(outcome="trap", outputs={}), ["outcome"], "pass -> pass (trap)"),
        (answer(detail={"id": "E"}), ["diagnostic"], "pass -> pass (E)"),
        (answer(outputs={"out": "b" * 64}), ["values"], "other values (pass)"),
        (answer(outputs={"o": "a" * 64}), ["values"], "other values (pass)"),
        (answer(outputs={"out": "b" * 64}, histogram=[{"count": 2}]), [], "the same: pass"),  # others each time
        (answer(kernels={"a": "2" * 64, "b": "1" * 64}), [], "the same: pass"),  # a compiler's own names
        (answer(kernels={"k": "3" * 64}), ["PTX"], "other PTX"),
        (answer(sass={"k": "3" * 64}), [], "the same: pass"),  # one did not ask for it
    ],
)
def test_two_answers(other, kinds, said):
    assert how(answer(), other) == kinds
    assert says(answer(), other, kinds) == said
