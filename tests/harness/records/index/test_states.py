"""The state of a cell: the table of docs/goldens-and-records.md, and laws that hold for any history."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from harness.records.index import states
from harness.records.index.states import Event, Now, combined, state, summarise, worst

FACTS = {"repro_sha256": "r1", "golden_sha256": "g1", "kernels": {"k": "p1"}, "driver": "570", "case": ""}
NOW = Now("", "r1", "g1", "570", {"k": "p1"})


def event(number: int, verdict: str = "pass", hardware: bool = False, digest: str = "", **more) -> Event:
    reason = more.pop("reason", "" if verdict == "pass" else "differs from the golden")
    facts = FACTS | {"host": "p1" if hardware else "embedded"} | more
    date = f"2026-11-{number // 24 + 1:02}T{number % 24:02}:00:00Z"
    return Event(f"id-{number:03}", date, verdict, reason, digest or f"d{number}", hardware, facts)


E = event
HW = {"hardware": True}
TABLE = {  # name: (records, now, rivals) -> (state, words of its reason)
    "nothing": ([], NOW, [], "unknown", "never run"),
    "only infra": ([E(1, "infra", reason="could not be run")], NOW, [], "unknown", "never judged: could not be run"),
    "no golden yet": ([E(1, "fail", reason="no golden")], NOW, [], "unknown", "never judged: no golden"),
    "emulator passes": ([E(1)], NOW, [], "predicted", "no hardware has run it"),
    "hardware passes": ([E(1, **HW)], NOW, [], "validated", "passed on hardware on 2026-11-01"),
    "infra after a pass": ([E(1, **HW), E(2, "infra", **HW)], NOW, [], "validated", "passed"),
    "mended, not accepted yet": (
        [E(1, "fail"), E(2, reason="not accepted yet"), E(3, "infra")], NOW, [],
        "unknown", "not judged since 2026-11-01: not accepted yet"),
    "mended after it passed, no golden": (
        [E(1), E(2, "contradicted"), E(3, "fail", reason="no golden")], NOW, [], "unknown", ": no golden"),
    "a failure after what nobody judged": (
        [E(1, reason="not accepted yet"), E(2, "fail")], NOW, [], "failing", "differs"),
    "the same question, by chance": (
        [E(1, "fail", digest="d"), E(2, reason="not accepted yet", digest="d")], NOW, [], "failing", "differs"),
    "a pass, then no golden": ([E(1), E(2, "fail", reason="no golden")], NOW, [], "predicted", ""),
    "skip after a failure": ([E(1, "fail"), E(2, "skip")], NOW, [], "failing", "differs from the golden"),
    "the repro is gone": ([E(1, **HW)], replace(NOW, gone="the repro is gone"), [], "gone", "the repro is gone"),
    "a failure of a case that is gone": ([E(1, "fail")], replace(NOW, gone="not declared"), [], "gone", "not declared"),
    "forgotten": ([E(1, "fail"), E(2, "forgotten")], NOW, [], "gone", "forgotten on 2026-11-01"),
    "a failure after it was forgotten": ([E(1), E(2, "forgotten"), E(3, "fail")], NOW, [], "failing", "differs"),
    "the repro changed": ([E(1, **HW)], replace(NOW, repro_sha256="r2"), [], "stale", "the repro changed since"),
    "the golden changed": ([E(1, **HW)], replace(NOW, golden_sha256="g2"), [], "stale", "the golden changed since"),
    "other PTX": ([E(1, **HW)], replace(NOW, kernels={"k": "p2"}), [], "stale", "the compiler makes other PTX since"),
    "another driver": ([E(1, **HW)], replace(NOW, driver="580"), [], "stale", "the driver changed from 570 to 580"),
    "another driver, emulator": ([E(1)], replace(NOW, driver="580"), [], "predicted", ""),
    "old emulator pass": ([E(1)], replace(NOW, repro_sha256="r2"), [], "stale", "the repro changed"),
    "nothing known now": ([E(1, **HW)], Now(), [], "validated", ""),
    "passed, then fails": ([E(1), E(2, "fail", driver="580")], NOW, [], "regressed", "changed: driver"),
    "fails and nothing changed": ([E(1), E(2, "fail")], NOW, [], "regressed", "nothing recorded changed"),
    "mended again": ([E(1), E(2, "fail"), E(3)], NOW, [], "predicted", ""),
    "never passed": ([E(1, "fail"), E(2, "fail")], NOW, [], "failing", "differs from the golden"),
    "one question, two verdicts": (
        [E(1, digest="d"), E(2, "fail", digest="d"), E(3, digest="d")], NOW, [], "flaky", "2 of 3 runs passed"),
    "mixed under another question": (
        [E(1, digest="d"), E(2, "fail", digest="d"), E(3, digest="e")], NOW, [], "predicted", ""),
    "the golden is from hardware": ([E(1), E(2, "contradicted")], NOW, [], "contradicted", "differs"),
    "hardware fails what the emulator passes": (
        [E(2, "fail", **HW)], NOW, [E(1)], "contradicted", "p1 fails, the emulator passes"),
    "the emulator passes what hardware fails": (
        [E(1)], NOW, [E(2, "fail", **HW)], "contradicted", "p1 fails, the emulator passes"),
    "a rival about an older repro": (
        [E(2, "fail", **HW)], NOW, [E(1, repro_sha256="r0")], "failing", ""),
    "two GPUs disagree": ([E(2, "fail", **HW)], NOW, [E(1, **HW)], "failing", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_table(name):
    records, now, rivals, wanted, words = TABLE[name]
    found, reason = state(summarise(records), now, rivals)
    assert (found, words in reason) == (wanted, True), reason


def test_the_table_reaches_every_state():
    assert {row[3] for row in TABLE.values()} == set(states.STATES)


events = st.lists(
    st.builds(
        event,
        st.integers(0, 200),
        st.sampled_from(["pass", "fail", "contradicted", "infra", "skip"]),
        st.booleans(),
        st.sampled_from(["", "d", "e"]),
        repro_sha256=st.sampled_from(["r1", "r2"]),
        driver=st.sampled_from(["570", "580"]),
    ),
    max_size=12,
    unique_by=lambda one: one.id,
)


@given(events, st.randoms())
def test_order_and_repetition_do_not_matter(history, shuffle):
    mixed = [*history, *history[:3]]
    random.Random(shuffle.random()).shuffle(mixed)
    assert summarise(mixed) == summarise(history)


@given(events)
def test_only_hardware_validates(history):
    emulated = [replace(one, hardware=False) for one in history]
    assert state(summarise(emulated), NOW)[0] != states.VALIDATED
    found = state(summarise(history), NOW)[0]
    last = summarise(history).last
    if found == states.VALIDATED:
        assert last.hardware and last.holds and last.facts["repro_sha256"] == "r1" and last.facts["driver"] == "570"
    if found == states.PREDICTED:
        assert not last.hardware and last.holds


@given(events, st.sampled_from(["infra", "skip"]), st.integers(0, 200))
def test_runs_without_an_answer_change_nothing(history, verdict, number):
    silent = replace(event(number, verdict), id="silent")
    before, after = summarise(history), summarise([*history, silent])
    assert replace(before, silent=None) == replace(after, silent=None)
    if before.last:
        assert state(before, NOW) == state(after, NOW)


@given(events)
def test_a_new_pass_under_a_new_question_heals(history):
    healed = summarise([*history, event(300, "pass", True, digest="new")])
    assert state(healed, NOW)[0] == states.VALIDATED


@given(events)
def test_a_new_failure_is_never_quiet(history):
    found = state(summarise([*history, event(300, "fail", digest="new")]), NOW)[0]
    passed = any(one.holds for one in history if one.speaks)
    assert found == (states.REGRESSED if passed else states.FAILING)


@given(events)
def test_the_parts_of_a_summary_fit(history):
    found = summarise(history)
    assert found.passes + found.fails == sum(one.speaks for one in history)
    assert (found.last is None) == (not found.ticks)
    if found.last_good and found.first_bad:
        assert found.last_good.date <= found.first_bad.date and not found.first_bad.holds and found.last_good.holds
    if found.last and found.last.holds:
        assert found.last == found.last_good and found.first_bad is None


@given(st.lists(st.tuples(st.sampled_from(states.STATES), st.booleans()), min_size=1))
def test_combining(listed):
    found = combined(listed)
    assert found in {one for one, _ in listed}
    quiet = (states.PREDICTED, states.UNKNOWN, states.STALE)
    loud = [one for one, hardware in listed if hardware or one not in quiet]
    if any(hardware and one != states.UNKNOWN for one, hardware in listed):
        assert found == worst(loud)
    assert combined(listed * 2) == combined(listed[::-1]) == found
