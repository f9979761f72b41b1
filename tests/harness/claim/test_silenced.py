"""Races that a repro allows at a line: what is read, and what is refused."""

import pytest

from harness.claim.repro_file import ReproError

BODY = """
import numpy

def run():
    flag = 1  {comment}
    return {{"out": numpy.zeros(2, numpy.int32)}}
"""


def test_lines_and_reasons_are_read(write):
    repro = write(BODY.format(comment="# repro: allow RACE it is the question"), "")
    ((line, reason),) = repro.silenced
    assert reason == "it is the question" and "flag = 1" in repro.text.split("\n")[line - 1]
    assert write(BODY.format(comment="# a comment"), "").silenced == ()


@pytest.mark.parametrize(
    "words, what", [("allow RACE", "has no reason"), ("allow TRAP why", "allows TRAP; only a RACE")]
)
def test_others_are_refused_at_their_place(write, words, what):
    with pytest.raises(ReproError) as error:
        write(BODY.format(comment=f"# repro: {words}"), "")
    text = str(error.value)
    assert ": BAD_ALLOW\n" in text and what in text and "^" in text and "\nfix: write `# repro: allow RACE`" in text
