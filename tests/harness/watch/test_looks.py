"""What a run gave, compared with the run before."""

import pytest

from harness import judge
from harness.watch import looks

BODY = "import numpy as np\ndef run():\n    print({said!r})\n    return {{'out': np.array({values})}}"


@pytest.fixture
def look(write, embedded, tmp_path):
    """The look at a program: `look(body)`."""
    host, transport = embedded

    def look(body: str) -> looks.Look:
        [case] = write(body).cases()
        outcome = judge.run(transport, case, host)
        return looks.without_heavy(looks.Look(case, host, judge.judge(case, host, outcome, tmp_path)))

    return look


def test_what_changed(look):
    first = look(BODY.format(said="hello\nthere", values=[1, 2, 3]))
    assert looks.changes(None, first) == first.text and "out: int64 (3) 1 2 3" in first.text
    assert looks.changes(first, first) == "one.py: fail: no golden, as before"
    second = look(BODY.format(said="hullo\nthere", values=[1, 5, 3]))
    said = looks.changes(first, second)
    assert said.startswith(
        "one.py: fail: no golden\n--- stdout of the repro\n-hello\n+hullo\n"
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
