"""The numbers of a command line: those that each type takes, and the errors of the others."""

import argparse

import pytest

from harness import claim
from harness.run import reply

TAKEN = [
    (claim.as_seconds, "0.5", 0.5),
    (claim.as_seconds, "1e9", 1e9),
    (claim.as_minutes, "2", 2.0),
    (claim.as_megabytes, "0", 0.0),
    (claim.as_days, "0", 0.0),
    (claim.as_seed, "0", 0),
    (claim.as_seed, "4294967295", 4294967295),
    (claim.as_count, "1", 1),
    (claim.as_exit_status, "255", 255),
]
REFUSED = [
    (claim.as_seconds, "a number of seconds above 0", ["0", "-1", "nan", "inf", "2e9", "soon", ""]),
    (claim.as_minutes, "a number of minutes above 0", ["0", "-1", "nan", "inf"]),
    (claim.as_megabytes, "a number of MB, 0 or more", ["-1", "nan", "inf", "much"]),
    (claim.as_days, "a number of days, 0 or more", ["-1", "nan", "1e9"]),
    (claim.as_seed, "0-4294967295", ["-1", "4294967296", "1.5", "x"]),
    (claim.as_count, "1 or more", ["0", "-3", "x"]),
    (claim.as_exit_status, "0-255", ["-1", "256", "x"]),
]


@pytest.mark.parametrize("kind, text, number", TAKEN)
def test_taken(kind, text, number):
    assert kind(text) == number


@pytest.mark.parametrize("kind, text, what", [(kind, text, what) for kind, what, texts in REFUSED for text in texts])
def test_refused(kind, text, what):
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        kind(text)
    assert str(caught.value) == f"must be {what}, got {text}"


def test_a_runner_takes_every_limit():
    assert claim.MOST_SECONDS == reply.MOST_SECONDS
