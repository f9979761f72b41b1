"""Markdown from text that comes from elsewhere."""

import re

import pytest
from hypothesis import given, strategies as st

from harness.issue import markdown


@pytest.mark.parametrize(
    "text, shown",
    [
        ("ask @anna about #123", "ask \\@&#8203;anna about \\#&#8203;123"),
        ("see owner/repo#7 and GH-12", "see owner/repo\\#&#8203;7 and GH&#8203;-12"),
        ("commit deadbeef1", "commit deadbee&#8203;f1"),
        ("`x` *y* <b> [a](b) | c\n### d", "\\`x\\` \\*y\\* \\<b\\> \\[a\\](b) \\| c\\\\n\\#\\#\\# d"),
        ("accede 1234567 @ #", "accede 1234567 \\@ \\#"),
    ],
)
def test_prose(text, shown):
    assert markdown.prose(text) == shown


@given(st.text())
def test_prose_mentions_nobody_and_links_no_issue(text):
    made = markdown.prose(text)
    assert "\n" not in made
    assert not re.search(r"@\w|(?<!&)#\d|(?i:\bgh-\d)", made)


@given(st.text(alphabet="`~\n ab", max_size=60))
def test_a_fence_is_closed_by_its_own_end_alone(text):
    lines = markdown.fenced(text, "python").split("\n")
    fence = lines[0].removesuffix("python")
    assert set(fence) == {"`"} and len(fence) >= 3 and lines[-1] == fence
    assert not [line for line in lines[1:-1] if re.match(rf" {{0,3}}`{{{len(fence)},}}\s*$", line)]


def test_a_program_with_fences():
    assert markdown.fenced('"""\n```python\nx\n```\n"""', "python").startswith('````python\n"""\n```python\n')


@given(st.text(min_size=1, max_size=20))
def test_code_is_one_line(text):
    made = markdown.code(text)
    ticks = re.match(r"`+", made)[0]
    assert "\n" not in made and made.endswith(ticks) and ticks not in made[len(ticks) : -len(ticks)]


def test_control_characters_are_shown_as_escapes():
    assert markdown.fenced("a\x1b[31mb\x00") == "```\na\\x1b[31mb\\x00\n```"


def test_a_folded_block_and_a_table():
    assert markdown.folded("<x> & @anna", "body") == (
        "<details>\n<summary>&lt;x&gt; &amp; @&#8203;anna</summary>\n\nbody\n\n</details>"
    )
    assert markdown.table(("a", "b"), [("1", "2")]) == "| a | b |\n|---|---|\n| 1 | 2 |"
