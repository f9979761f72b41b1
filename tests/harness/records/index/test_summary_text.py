"""A summary comes back from its text, with the facts of the events that its state is read off."""

import json

from harness.records.index import summary_text
from harness.records.index.states import Event, summarise

EVENTS = [
    Event("a", "2026-01-01", "pass", "", "d1", hardware=True),
    Event("b", "2026-01-02", "fail", "differs", "d2", hardware=True),
    Event("c", "2026-01-03", "fail", "differs", "d2", hardware=True),
]


def text_of(events):
    asked = []
    summary = summarise(iter(events))
    text = summary_text.write(summary, lambda event: asked.append(event.id) or {"numpy": event.id})
    return summary, text, asked


def test_a_summary_comes_back_with_facts():
    summary, text, asked = text_of(EVENTS)
    back = summary_text.read(text)
    assert (summary.last.id, summary.last_good.id, summary.first_bad.id) == ("c", "a", "b") and sorted(asked) == [
        "a",
        "b",
        "c",
    ]
    assert {event.id: event.facts for event in (back.last, back.last_good, back.first_bad)} == {
        k: {"numpy": k} for k in "abc"
    }
    assert (back.passes, back.fails, back.ticks) == (summary.passes, summary.fails, summary.ticks)


def test_a_run_that_waits_for_a_person_comes_back_with_facts():
    _, text, asked = text_of([*EVENTS, Event("d", "2026-01-04", "pass", "not accepted yet", "d3")])
    assert summary_text.read(text).unjudged.facts == {"numpy": "d"} and "d" in asked


def test_an_event_that_is_the_last_in_two_ways_is_written_once():
    _, text, asked = text_of(EVENTS[:1])
    assert json.loads(text)["last_good"] is True and asked == ["a"]
    back = summary_text.read(text)
    assert back.last_good is back.last and back.first_bad is None
