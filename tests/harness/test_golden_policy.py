"""The rows of the policy about goldens: what a first answer, the same answer and another one come to.

Modules tested here: harness/verdict.py.
"""

import numpy as np
import pytest

from harness.claim.repro_file import read
from harness.comparison import golden
from harness.golden_policy import against_golden
from harness.host.hosts import Host
from harness.run.result import DTYPES, Array, Outcome
from harness.verdict import Trial

HOST = Host("embedded", "emulator")
COMPILER = {"name": "ours", "version": "0.1.0"}


@pytest.fixture
def case(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / "one.py"
    path.write_text('# /// script\n# [tool.repro]\n# ///\n"""It is so."""\ndef run():\n    return {}\n')
    return next(read(path).cases())


def weighed(case, value: int, update: bool = False, strict: bool = False, expected: bool = False):
    array = Array(DTYPES["int32"], np.full(4, value, np.uint32))
    outcome = Outcome("outputs", outputs={"out": array}, facts={"compiler": COMPILER}, compiler="ours")
    if expected:
        outcome.expected = {"out": array}
    return against_golden(Trial(case, HOST, outcome, update, strict, None))


def test_first_answers_wait_and_later_ones_are_held_to_what_was_accepted(case):
    first = weighed(case, 1)
    assert (first.status, first.reason, first.proposal is not None) == ("fail", "no golden", True)
    assert (weighed(case, 1, expected=True).status, weighed(case, 1, expected=True, strict=True).status) == (
        "pass",
        "fail",
    )
    golden.write(weighed(case, 1, update=True).pending)
    assert weighed(case, 1).status == "pass"
    other = weighed(case, 2)
    assert (other.status, other.reason, other.pending) == ("fail", "differs from the golden", None)
    assert weighed(case, 2, update=True).pending is not None


@pytest.mark.parametrize("update", [False, True])
def test_a_golden_that_git_could_not_merge_judges_nothing(case, monkeypatch, update):
    """It is infra, even when goldens are accepted: the claim is neither regressed nor accepted again."""
    monkeypatch.chdir(case.repro.path.parent)
    golden.write(weighed(case, 1, update=True).pending)
    path = golden.path_of(case)
    text = path.read_text()
    path.write_text(f"<<<<<<< HEAD\n{text}=======\n{text.replace('1', '2')}>>>>>>> topic\n")
    verdict = weighed(case, 1, update=update)
    assert (verdict.status, verdict.reason, verdict.pending) == ("infra", "merge conflict", None)
    assert verdict.text.splitlines()[-1] == (
        "fix: resolve the conflict in goldens/one/default.json: "
        "`git checkout --ours -- goldens/one/default.json` or `--theirs` chooses a side"
    )
    path.write_text(text)
    assert weighed(case, 1).status == "pass"
    path.write_text(text[:-20])
    assert (weighed(case, 1).status, weighed(case, 1).reason) == ("fail", "corrupt golden")
