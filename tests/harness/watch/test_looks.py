"""The result of a run, compared with the run before."""

import pytest

from harness import judge
from harness.claim import script_file
from harness.claim.repro_file import Case
from harness.watch import looks

BODY = "import numpy as np\ndef run():\n    print({said!r})\n    return {{'out': np.array({values})}}"


@pytest.fixture
def look(write, embedded, tmp_path):
    """The look at a program: `look(body)`."""
    host, transport = embedded

    def look(body: str, script: bool = False) -> looks.Look:
        case = (
            Case(script_file.read(tmp_path / "one.py", body.encode()), {})
            if script
            else next(iter(write(body).cases()))
        )
        return looks.without_heavy(looks.at(case, host, judge.run(transport, case, host), tmp_path))

    return look


def test_changes_between_runs(look):
    first = look(BODY.format(said="hello\nthere", values=[1, 2, 3]))
    assert looks.changes(None, first) == first.text and "out: int64 (3) 1 2 3" in first.text
    assert looks.changes(first, first) == "one.py: fail: no golden, as before"
    second = look(BODY.format(said="hullo\nthere", values=[1, 5, 3]))
    said = looks.changes(first, second)
    assert said.startswith(
        "one.py: fail: no golden\n--- stdout\n-hello\n+hullo\n"
        "`out` differs from the last run in 1 of 3 elements (bits)\n"
        "    index  before                now\n    [1]    0x0000000000000002 2  0x0000000000000005 5\n"
    )
    third = look(BODY.format(said="hullo\nthere", values=[1.0, 5.0]))
    assert "`out` is float64; the last run has int64\n" in looks.changes(second, third)
    broken = look("def run():\n    raise ValueError('no')")
    said = looks.changes(third, broken)
    assert said.startswith("one.py:\nfail: no golden -> fail: ") and "ValueError: no" in said and "-hullo" in said
    assert looks.changes(broken, third).startswith("one.py:\nfail: ")


def test_an_output_that_went(look):
    body = "import numpy as np\ndef run():\n    return {{'{0}': np.zeros(1)}}"
    said = looks.changes(look(body.format("a")), look(body.format("b")))
    assert "the last run has the output `a`, which run() did not return" in said
    assert "run() returned `b`, which the last run has not" in said


def test_a_script(look):
    """A program that claims nothing is described by its output and its exit status."""
    first = look("print('a')\nprint('b')", script=True)
    assert looks.changes(None, first) == "--- stdout\na\nb\nexit status 0"
    second = look("import sys\nprint('a')\nprint('c')\nsys.exit(4)", script=True)
    assert looks.changes(first, second) == "one.py:\nexit status 0 -> exit status 4\n--- stdout\n-b\n+c"
    assert looks.changes(second, second) == "one.py: exit status 4, as before"
