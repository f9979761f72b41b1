"""A property with the edit that cures it, and a reduction that keeps the cause by it."""

import pytest

from harness.errors import UsageError
from harness.reduction import properties
from harness.reduction.cure import Cured
from harness.reduction.places import Place

FAILS = """
import numpy as np

def run():
    values = np.zeros(4)
    x = values[9]
    return {"x": values.reshape(2, 2)}
"""


@pytest.fixture
def made(tmp_path, write):
    """`made(edit)`: the property of FAILS, or of `body`, with an edit, and the text."""
    opened = []

    def make(edit, body=FAILS):
        repro = write(body)
        (case,) = repro.cases()
        kept = Cured(properties.read("", case, "one.py", lambda **about: Place(tmp_path, **about)), edit)
        opened.append(kept)
        return kept, repro.text

    yield make
    for kept in opened:
        kept.close()


def test_a_smaller_program_must_be_cured_by_the_edit(made):
    kept, text = made("[9] => [3]")
    start = kept.see(text)
    assert kept.refuse(start) == ""

    def why(old, new):
        return kept.differs(kept.confirm(text.replace(old, new)), start)

    assert why("    return {", "    y = 1\n    return {") == ""
    assert why("(2, 2)", "(2, 3)") == "the edit does not cure it"
    assert why("values[9]", "values[8]") == "it has not `[9]`"
    assert why("values[9]", "values[3]") == "no longer so"


DEADLOCK = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    words = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    cute.arch.barrier(barrier_id=1, number_of_threads=96)
    words[t] = t
    cute.arch.sync_threads()
    x[t] = words[63 - t]

@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(64, 1, 1))

def run():
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}
"""


def test_an_edit_that_leaves_a_race_is_not_a_cure(made):
    kept, text = made("=96 => =64", DEADLOCK)
    start = kept.see(text)
    assert kept.refuse(start) == ""
    kept.hurry(start)
    racy = text.replace("    cute.arch.sync_threads()\n", "")
    assert kept.differs(kept.confirm(text), start) == ""
    assert kept.differs(kept.confirm(racy), start) == "the edit does not cure it"


def test_a_cured_program_may_take_longer_than_one_that_fails(made):
    kept, text = made("[9] => [3]")
    start = kept.confirm(text.replace("return {", "import time; time.sleep(1)\n    return {"))
    kept.timeout_s = 0.5
    assert kept.differs(start, start) == ""
    assert kept.kept.timeout_s == 0.5


def test_a_program_that_was_stopped_is_known_as_one(made):
    kept, text = made("[9] => [3]")
    kept.timeout_s = 0.3
    assert kept.see(text.replace("    x = values[9]", "    while True: pass")).is_stopped


def test_an_edit_that_does_not_cure_the_start_is_refused(made):
    kept, text = made("[9] => [8]")
    assert kept.refuse(kept.see(text)) == "the edit does not cure it"


def test_parentheses_that_the_edit_has_are_not_a_matter_of_form(made):
    kept, text = made("(9) => 3")
    with_them = text.replace("[9]", "[(9)]")
    assert kept.shape(with_them) == kept.shape(with_them + "# more") != kept.shape(text)


def test_the_time_limit_is_the_one_of_the_property(made):
    kept, text = made("[9] => [3]")
    kept.timeout_s = 25.0
    kept.see(text)
    assert kept.kept.timeout_s == 25.0


@pytest.mark.parametrize("edit", ["[9]", "=> [3]"])
def test_invalid_edits(made, edit):
    with pytest.raises(UsageError, match=r"is not an edit\nfix: write --cured-by"):
        made(edit)


def test_a_command_makes_the_edit_by_itself():
    with pytest.raises(UsageError, match="does not go with --keep command"):
        Cured(properties.read("command: test -s {}", None, "x.ptx", None), "a => b")
