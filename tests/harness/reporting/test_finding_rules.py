"""The kinds of findings in reports."""

from pathlib import Path

import pytest

from dsl import finding_kinds
from harness.reporting import finding_rules

ROOT = Path(__file__).parents[3]


def test_the_table_equals_the_table_of_the_emulator():
    known = {name: (kind.level, kind.meaning) for name, kind in finding_kinds.KINDS.items()}
    assert {name: (rule.level, rule.meaning) for name, rule in finding_rules.KINDS.items()} == known


@pytest.mark.parametrize("name", [*finding_rules.KINDS, *finding_rules.OTHERS, "TYPE_UNSTABLE_JOIN"])
def test_each_has_a_page(name):
    assert (ROOT / finding_rules.rule(name).page).is_file()


def test_an_id_that_is_in_no_table_is_a_rejection():
    assert finding_rules.rule("TYPE_UNSTABLE_JOIN").meaning == "the compiler rejects the program"
