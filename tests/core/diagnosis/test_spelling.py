"""The name that a misspelled one may mean: distances by a separate definition, and which misspellings count."""

import itertools
import types

import pytest

from dsl.core.diagnosis import spelling


def edits(word: str) -> set[str]:
    """All words one letter away: left out, put in, changed, or two neighbours swapped."""
    letters = "abcd"
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    return {
        *(a + b[1:] for a, b in cuts if b),
        *(a + c + b for a, b in cuts for c in letters),
        *(a + c + b[1:] for a, b in cuts if b for c in letters),
        *(a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1),
    }


def test_a_distance_of_one_is_one_edit():
    words = ["".join(word) for length in (2, 3) for word in itertools.product("abc", repeat=length)]
    for a, b in itertools.product(words, repeat=2):
        near = b in edits(a)
        assert (spelling._distance(a, b, 1) in (0, 1)) == (near or a == b), (a, b)


@pytest.mark.parametrize(
    "written, candidates, meant",
    [
        ("thread_ix", ["thread_idx", "block_idx"], "thread_idx"),
        ("ThreadIdx", ["thread_idx", "block_idx"], "thread_idx"),
        ("sync_threasd", ["sync_threads", "sync_warp"], "sync_threads"),
        ("fo", ["of", "or"], "of"),
        ("x", ["y"], None),
        ("completely", ["different"], None),
        ("size", ["size"], None),
    ],
)
def test_the_nearest_name(written, candidates, meant):
    assert spelling.nearest(written, candidates) == meant


def test_a_sure_misspelling_is_letters_in_another_order_or_one_letter_of_a_long_name():
    assert spelling.swapped("sahpe", ["shape"]) == "shape"
    assert spelling.swapped("copyy", ["copy"]) == "copy"
    assert spelling.swapped("cop", ["copy"]) is None  # a short name
    assert spelling.swapped("shapings", ["shape"]) is None


def test_alike_keeps_the_case_of_the_first_letter():
    assert spelling.alike("float", ["Float", "floor", "FLOAT"]) == "Float"
    assert spelling.alike("Laoyut", ["layout", "Layout", "_Layout"]) == "Layout"
    assert spelling.alike("zzz", ["layout"]) == ""


def test_a_name_of_this_package_is_spelled_by_the_globals(monkeypatch):
    monkeypatch.setattr(spelling, "_surfaces", ["made_up"])
    inner, outer = types.ModuleType("made_up.inner"), types.ModuleType("made_up")
    inner.leaf, outer.inner = 1, inner
    assert spelling.in_modules("leaf", {"m": outer, "n": 3}) == "m.inner.leaf"
    assert spelling.in_modules("inner", {"m": outer}) == "m.inner"
    assert spelling.in_modules("absent", {"m": outer}) is None and spelling.in_modules("leaf", {"t": types}) is None


def test_visible_names_come_from_the_frames_of_an_error():
    def inner():
        near = 1
        return near + missing

    far = 2
    try:
        inner()
    except NameError as error:
        names = spelling.visible_names(error)
    assert (names["near"], names["far"], names["len"]) == (1, far, len)
    assert names["spelling"] is spelling and "missing" not in names
