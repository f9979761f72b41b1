"""Two texts of machine code side by side: a renaming that is one to one is not a change."""

from hypothesis import given, strategies as st

from harness.reporting import page_diff
from harness.reporting.page_diff import diff

GOOD = "mov.b32 %r1, 1;\nadd.s32 %r2, %r1, %r1;\nst.b32 [%rd1], %r2;\nret;"


def kinds(this: str, good: str = GOOD) -> list[str]:
    return [row.kind for hunk in diff(good, this).hunks for row in hunk]


def test_equal_texts_have_no_hunks():
    assert diff(GOOD, GOOD) == page_diff.Diff((), 0, 0, 0)


def test_other_register_numbers_are_a_renaming():
    found = diff(GOOD, GOOD.replace("%r1", "%r7").replace("%r2", "%r1"))
    assert (found.changed, found.renamed, found.hunks) == (0, 3, ())


def test_a_renaming_that_is_not_one_to_one_is_a_change():
    assert kinds(GOOD.replace("%r2", "%r1")) == ["same", "changed", "changed", "same"]


def test_a_line_more_shifts_nothing():
    found = diff(GOOD, "bar.sync 0;\n" + GOOD.replace("%r1", "%r9"))
    assert (found.changed, found.renamed) == (1, 2)
    assert found.hunks[0][0] == page_diff.Row("added", 0, "", 1, "bar.sync 0;")


def test_distant_changes_are_separate_hunks():
    lines = [f"op{number};" for number in range(30)]
    this = lines.copy()
    this[2], this[25] = "other;", "another;"
    hunks = diff("\n".join(lines), "\n".join(this)).hunks
    assert [(hunk[0].good_line, hunk[-1].good_line) for hunk in hunks] == [(1, 6), (23, 29)]


LINE = st.sampled_from(["a;", "b;", "mov %r1;", "mov %r2;", "add %r1, %r2;"])


@given(st.lists(LINE, min_size=1, max_size=8), st.lists(LINE, min_size=1, max_size=8))
def test_every_line_of_both_sides_is_there_once_and_in_order(good, this):
    text = ["begin;"] * 4 + good, ["begin;"] * 4 + this
    rows = [row for hunk in diff("\n".join(text[0]), "\n".join(text[1])).hunks for row in hunk]
    for lines, numbers in ((text[0], [r.good_line for r in rows]), (text[1], [r.this_line for r in rows])):
        shown = [number for number in numbers if number]
        assert shown == sorted(set(shown)) and all(1 <= number <= len(lines) for number in shown)
    assert all(row.good == (text[0][row.good_line - 1] if row.good_line else "") for row in rows)
    assert [row.good for row in rows if row.kind == "same"] == [row.this for row in rows if row.kind == "same"]
