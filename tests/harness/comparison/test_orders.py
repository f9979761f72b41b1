"""`--check schedules`, as an author meets it: `repro run` of small files whose threads may run in several orders.

Modules tested here: dsl/launch/every_order.py, dsl/launch/devices/orders.py.
"""

import itertools
import re
import shlex
from pathlib import Path

import pytest

from harness.cli import main

KERNEL = """
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(count: cute.Tensor, out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    {body}

@cute.jit
def host(count: cute.Tensor, out: cute.Tensor):
    kernel(count, out).launch(grid=(1, 1, 1), block=(96, 1, 1))

CALLS = []

def run():
    CALLS.append(1)
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    out = torch.zeros(4, dtype=torch.int32, device="cuda")
    host(from_dlpack(count), from_dlpack(out))
    return {{"out": out{more}}}
"""
SLOT = "if t % 32 == 0:\n        slot = cute.arch.atomic_add(count.iterator.llvm_ptr, cutlass.Int32(1))\n        "
IN_SLOTS = KERNEL.format(body=SLOT + "out[slot] = t", more="")
LAST_WARP_FIRST = KERNEL.format(body=SLOT + "out[t // 32 + cutlass.Int32(4) * (2 - slot) * (t // 64)] = 1", more="")
COUNTED = KERNEL.format(body=SLOT + "out[t // 32] = 1 if slot < 3 else 2", more="")
ALONE = KERNEL.format(body="out[t // 32] = 1 if t % 32 == 0 else 1", more="").replace(
    "out[t // 32]", "if t < 4: out[t]"
)
ADD = "cute.arch.atomic_add(count.iterator.llvm_ptr, cutlass.Int32({}))"
FAR_APART = KERNEL.format(
    body=f"""if t == 0:
        before = {ADD.format(0)}
        out[0] = 1 if {ADD.format(0)} == before + 24 else 0
    if t == 32:
        for _ in cutlass.range(24):
            {ADD.format(1)}
""",
    more="",
)
FORGETFUL = COUNTED.replace('"out": out', '"out": out + len(CALLS)')


@pytest.fixture
def said(tmp_path, monkeypatch, write, capsys):
    """`said(body, *options)`: exit status and text of `repro run`."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")

    def said(body: str, *options: str, table: str = "") -> tuple[int, str]:
        write(body, table)
        status = main(["run", "repros/one.py", *options])
        return status, capsys.readouterr().out

    return said


def test_one_order_speaks_for_all_where_no_instruction_depends_on_it(said):
    status, text = said(ALONE, "--check", "schedules", "--update-goldens")
    assert status == 0 and text.endswith("schedules: clean in every order of its warps (1 explored, complete)\n")


def test_other_outputs_in_another_order_are_a_failure_and_run_again(said):
    status, text = said(IN_SLOTS, "--check", "schedules", "--update-goldens")
    assert status == 1 and "fail: differs between runs" in text
    told = r"schedules: the last of \d+ orders of its threads shows other outputs than the first:\n    repros/one.py:\d+: `atom"
    assert re.search(told, text)
    schedule = re.search(r"--schedule '((?:\d+|pauses):(?: \d+(?:-\d+)?)?)'\n", text)  # few decisions are left
    assert schedule, text
    outs = [re.search("out: .*", said(IN_SLOTS, *options)[1])[0] for options in ([], ["--schedule", schedule[1]])]
    assert outs[0] == "out: int32 (4) 0 32 64 0" and outs[1] != outs[0]


def test_a_finding_in_another_order_is_shown_with_the_schedule(said):
    status, text = said(LAST_WARP_FIRST, "--check", "schedules=3")
    assert status == 1 and "OUT_OF_BOUNDS" in text and "orders of its threads shows this finding:" in text
    schedule = re.search(r"--schedule '(.*?)'", text)[1]
    assert said(LAST_WARP_FIRST)[1].count("OUT_OF_BOUNDS") == 0
    status, text = said(LAST_WARP_FIRST, "--schedule", schedule)
    assert status == 1 and "OUT_OF_BOUNDS" in text


@pytest.mark.slow
def test_a_warp_that_must_stop_for_long_is_found_by_a_pause(said):
    """Only an order in which all of the second warp comes between two looks of the first one gives 1: a seed would have
    to leave the first warp out 24 times."""
    status, text = said(FAR_APART, "--check", "schedules=5", "--update-goldens")
    assert status == 1 and "fail: differs between runs" in text
    schedule = re.search(r"--schedule '(pauses: \d+)'\n", text)
    assert schedule, text
    outs = [re.search("out: .*", said(FAR_APART, *options)[1])[0] for options in ([], ["--schedule", schedule[1]])]
    assert outs == ["out: int32 (4) 0 0 0 0", "out: int32 (4) 1 0 0 0"]


def test_orders_that_were_tried_are_counted_if_nothing_is_found(said):
    status, text = said(COUNTED, "--check", "schedules=1", "--update-goldens")
    assert status == 0
    assert int(re.search(r"schedules: clean in (\d+) orders of its threads, not complete:", text)[1]) > 1


def test_a_program_that_changes_by_itself_is_not_reported(said):
    status, text = said(FORGETFUL, "--check", "schedules=1", "--update-goldens")
    assert status == 0 and "gives other outputs if it is called again in the same order" in text


def test_outputs_that_may_vary_are_not_compared(said):
    allowed = [[*order, 0] for order in itertools.permutations([0, 32, 64])]
    table = f"runs = 2\nallowed = {{ out = {allowed} }}"
    status, text = said(IN_SLOTS, "--check", "schedules=1", "--update-goldens", table=table)
    assert status == 0 and "not complete" in text


@pytest.mark.slow
def test_a_run_does_not_overlap_the_run_before(tmp_path, monkeypatch, capsys):
    """The first kernel may begin before the launch ahead of it has ended, and each other order is another call of run()."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    name = "repros/launch/pdl_wait_sees_what_the_kernel_before_wrote.py"
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text((Path(__file__).parents[3] / name).read_text())
    (tmp_path / "pyproject.toml").write_text("")
    assert main(["run", name, "--check", "schedules=1", "--update-goldens"]) == 0
    assert "this finding" not in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["schedules=", "schedules=x", "schedules,race"])
def test_other_spellings_are_refused(said, wrong):
    assert said(ALONE, "--check", wrong)[0] == 2


def test_a_schedule_that_cannot_be_read(said):
    assert said(ALONE, "--schedule", "0: 4")[0] == 2
    assert said(ALONE, "--schedule", "3: x")[0] == 2
    assert said(ALONE, "--schedule", "pauses")[0] == 2


def test_the_page_shows_what_its_command_prints(capsys, monkeypatch):
    root = Path(__file__).parents[3]
    page = (root / "docs/schedules.md").read_text()
    command = re.search(r"^\$ uv run repro (.*)$", page, re.MULTILINE)[1]
    monkeypatch.chdir(root)
    assert main(shlex.split(command)) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "schedules: clean in every order of its warps (1 explored, complete)"
    assert f"`{last.removeprefix('schedules: ')}`" in page
