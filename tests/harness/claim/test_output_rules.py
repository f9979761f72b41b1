"""Keys of the file's block ([tool.repro]) about outputs that are not simply equal to something: each complaint whole."""

import pytest

from harness.claim.repro_file import ReproError
from harness.claim.rule import Rule

BODY = """
import numpy

def even(out):
    return out % 2 == 0

def run():
    return {"out": numpy.zeros(2, numpy.int32), "valid": numpy.ones(2, bool)}
"""


def test_the_keys_are_read(write):
    repro = write(BODY, 'allowed = { out = [[0, 1], [1, 0]] }\nmask = { other = "valid" }\nruns = 20\nsilicon = "h100"')
    assert repro.allowed == {"out": [[0, 1], [1, 0]]} and repro.compare["out"] == Rule("set")
    assert (repro.mask, repro.runs, repro.silicon, repro.poison) == ({"other": "valid"}, 20, "h100", False)


def test_an_undefined_output_asks_for_poisoned_memory(write):
    assert write(BODY, 'compare = { out = "undef" }').poison and not write(BODY, "").poison


WRONG = [
    ("allowed = 3", "BAD_ALLOWED", "is not a table"),
    ("allowed = { out = [] }", "BAD_ALLOWED", "must be a list of at least one value"),
    ('allowed = { out = [1] }\ncompare = { out = "ulp:2" }', "BAD_ALLOWED", "is compared by ulp:2"),
    ('compare = { out = "set" }', "BAD_COMPARE", 'is compared by "set", but `allowed` does not name it'),
    ('compare = { out = "pred:odd" }', "BAD_COMPARE", "is judged by odd, which the file does not define"),
    (
        'allowed = "model"\ncompare = { out = "pred:even" }',
        "BAD_ALLOWED",
        "is compared by pred:even, but the memory model",
    ),
    ("mask = 3", "BAD_MASK", "is not a table"),
    ('mask = { out = "out" }', "BAD_MASK", "has the mask 'out'"),
    ('mask = { out = "valid" }\ncompare = { out = "undef" }', "BAD_MASK", "is compared by undef, which takes no mask"),
    ("runs = 0", "BAD_RUNS", "is 0"),
    ("runs = true", "BAD_RUNS", "is True"),
    ("poison = 1", "BAD_POISON", "is 1"),
    ('silicon = "H100"', "BAD_SILICON", "is 'H100'"),
    ('evidence = "a book"', "BAD_EVIDENCE", "is 'a book'"),
]


@pytest.mark.parametrize("lines, id, what", WRONG, ids=[row[0] for row in WRONG])
def test_wrong_keys_are_refused(write, lines, id, what):
    with pytest.raises(ReproError) as error:
        write(BODY, lines)
    text = str(error.value)
    assert f": {id}\n" in text and what in text and "\nfix: " in text, text
