"""Plain English: the rules of docs/prose.toml and the sentences that they judge."""

import pytest

from tests import prose


@pytest.mark.parametrize("rule", prose.RULES, ids=lambda rule: rule["name"])
def test_a_rule_finds_its_bad_example_and_no_good_one(rule):
    assert rule["name"] in [name for name, _ in prose.rules_broken(rule["bad"])]
    assert not prose.rules_broken(rule["good"])


@pytest.mark.parametrize(
    "path, text, lines",
    [
        ("a.md", "# Title\n\nIt is made anew\nhere. It is built anew.\n", [3, 4]),
        ("a.md", "| a | b |\n| --- | --- |\n| is kept | is made anew |\n", [3]),
        ("a.md", "```text\nmade anew\n```\n\n`anew` and [anew](b.md), [once](anew.md).\n", [5]),
        ("a.md", "- one\n- another is made anew,\n  and so on\n", [2]),
        ("a.py", '"""Doc.\n\nMade anew."""\nx = 1  # anew\n', [3, 4]),
        ("a.py", 'raise ValueError(f"the value {x} is not made anew")\n', [1]),
        ("a.py", 'words = ("anew", "is anew")\n', []),
    ],
)
def test_sentences_are_found_with_their_lines(path, text, lines):
    assert [one.line for one in prose.broken(path, text)] == lines


def test_every_sentence_of_the_project_keeps_the_rules():
    found = [one for name in prose.files([]) for one in prose.broken(name, (prose.ROOT / name).read_text())]
    assert not found, "\n".join(map(str, found))
