"""Properties: which candidates have them, and which fail otherwise."""

import pytest

from harness.errors import UsageError
from harness.reduction import properties
from harness.reduction.places import Place

WRONG = """
import numpy as np

def run():
    x = np.arange(8)
    x[3] = 0
    return {"x": x}

def expected():
    return {"x": np.arange(8)}
"""


@pytest.fixture
def made(tmp_path, write):
    """`made(body, keep)`: the property of a repro, and its text."""
    kept = []

    def make(body, keep="", table=""):
        repro = write(body, table)
        (case,) = repro.cases()
        kept.append(properties.read(keep, case, "one.py", lambda **about: Place(tmp_path, **about)))
        return kept[-1], repro.text

    yield make
    for one in kept:
        one.close()


def test_a_wrong_output_stays_wrong_in_the_same_way(made):
    kept, text = made(WRONG)
    start = kept.see(text)
    assert kept.refuse(start) == ""
    assert kept.differs(kept.see(text.replace("8", "7")), start) == ""

    def why(old, new):
        return kept.differs(kept.see(text.replace(old, new)), start)

    assert why("x[3] = 0", "pass") == "no longer so"
    assert why("x[3] = 0", "x[:] = 0") == "one of two answers changed alone"
    assert why('return {"x": x}', "return x") == "another outcome: BAD_RETURN"
    assert why("x[3] = 0", "x[30] = 0") == "another outcome: IndexError"


def test_right_outputs_are_not_a_property(made):
    kept, text = made(WRONG.replace("x[3] = 0", "pass"))
    assert kept.refuse(kept.see(text)) == "it does nothing wrong: its outputs are as expected"


def test_an_exception_is_kept_at_its_statement_and_with_its_reason(made):
    kept, text = made("def run():\n    values = [1]\n    other = {}\n    return {'x': values[3]}")
    start = kept.see(text)

    def why(new):
        return kept.differs(kept.see(text.replace("return {'x': values[3]}", new)), start)

    assert why("print()\n    return {'x': values[5]}") == ""
    assert why("return {'x': other[3]}") == "another exception: KeyError"
    assert why("other = values[3]\n    return {'x': list()}") == ""
    assert why("list()[1]\n    return {'x': 1}") == "at another place"


def test_the_kind_that_is_named_must_be_what_it_does(made):
    kept, text = made("def run():\n    return {'x': [][1]}", "hang")
    assert kept.refuse(kept.see(text)) == "it does not: it is IndexError (list index out of range) at [][]"


def test_a_command_that_exits_alike():
    kept = properties.read("command: grep -q needle {}", None, "x.ptx", Place)
    start = kept.see("hay\nneedle\n")
    assert start.about == 0
    assert kept.differs(kept.see("needle\n"), start) == ""
    assert kept.differs(kept.see("hay\n"), start) == "exit status 1"


def test_a_command_that_takes_too_long_is_ended():
    kept = properties.read("command: sleep 60; cat {}", None, "x.ptx", Place)
    kept.timeout_s = 0.2
    assert kept.see("hay").problem == "it took too long"


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        ("nothing", "--keep 'nothing' names no property; write one of\n" + properties.KEPT),
        ("differs nvidia==x embedded", "--compiler nvidia==x: there are ours, nvidia and its releases, as in nvidia"),
        ("command: true", '--keep "command: true" has no place for the file\nfix: write {} for it'),
    ],
)
def test_invalid_names_of_properties(write, keep, says):
    (case,) = write("def run():\n    return {}").cases()
    with pytest.raises(UsageError) as error:
        properties.read(keep, case, "one.py", Place)
    assert str(error.value).startswith(says)


def test_a_ptx_file_needs_a_command():
    with pytest.raises(UsageError) as error:
        properties.read("", None, "x.ptx", Place)
    assert str(error.value) == (
        'x.ptx: a file that is not Python needs a command as its property: --keep "command: CMD {}"'
    )


ORDERED = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    words = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    words[t] = t
    cute.arch.sync_threads()
    if t > 31:
        x[t] = words[63 - t]

@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(64, 1, 1))

def run():
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}

def expected():
    return {"x": torch.ones(64, dtype=torch.int32)}
"""


def test_no_check_runs_in_a_hurry_for_wrong_values_and_all_run_to_confirm(made):
    kept, text = made(ORDERED)
    start = kept.see(text)
    kept.hurry(start)
    racy = text.replace("cute.arch.sync_threads()", "pass")
    assert kept.differs(kept.see(racy), start) == ""
    assert kept.differs(kept.confirm(racy, kept.see(racy)), start) == "another outcome: RACE"


def test_a_verdict_stays_with_its_reason(made, monkeypatch):
    monkeypatch.delenv("CI", raising=False)  # where a claim without a golden fails
    kept, text = made(WRONG, "verdict")
    start = kept.see(text)
    assert (kept.refuse(start), start.about) == ("", "fail, differs from expected()")
    assert kept.differs(kept.see(text.replace("x[3] = 0", "x[:] = 0")), start) == ""
    assert kept.differs(kept.see(text.replace("x[3] = 0", "pass")), start).startswith("another verdict: ")
    assert kept.differs(kept.see(text.replace("x[3] = 0", "x[30] = 0")), start).startswith("another verdict: fail, ")
    assert kept.refuse(kept.see(text.replace("x[3] = 0", "pass"))).startswith("the claim does not fail: ")


def test_an_assertion_about_a_kernel_needs_a_launch(made):
    kept, text = made("""
    import cutlass
    import cutlass.cute as cute
    import torch
    from cutlass.cute.runtime import from_dlpack

    @cute.kernel
    def kernel(x: cute.Tensor):
        x[0] = 0

    @cute.jit
    def host(x: cute.Tensor):
        kernel(x).launch(grid=(1, 1, 1), block=(1, 1, 1))

    def run():
        x = torch.zeros(1, device="cuda")
        host(from_dlpack(x))
        assert x[0] == 1, "it must be 1"
        return {"x": x}
    """)
    start = kept.see(text)
    assert (start.about.name, start.about.launches) == ("AssertionError", True)
    assert kept.differs(kept.see(text.replace("x[0] = 0", "pass")), start) == ""
    assert kept.differs(kept.see(text.replace("host(from_dlpack(x))", "pass")), start) == "no kernel is launched"
