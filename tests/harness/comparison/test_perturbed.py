"""Runs under delays, as an author meets them: `repro run --perturb` over small files."""

import json

import pytest

from harness import judge
from harness.cli import main
from harness.host.hosts import Host
from harness.perturb_options import Wanted
from harness.run.transport import Local
from tests.harness.by_a_gpu import FACTS

KERNEL = """
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    words = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    words[t] = t + 100
    cute.arch.sync_threads()
    words[t] = t
    {barrier}
    out[t] = words[63 - t]

@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(64, 1, 1))

def run():
    out = torch.zeros(64, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {{"out": out}}
"""
RACY, FIXED = KERNEL.format(barrier="pass"), KERNEL.format(barrier="cute.arch.sync_threads()")
GPU = Host("p1", "cuda", device_facts=FACTS)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


@pytest.fixture
def said(write, capsys, project):
    """`said(body, table, *options)`: exit status and text of a run that accepts, and the line it recorded."""

    def said(body: str, table: str, *options: str) -> tuple[int, str, dict]:
        write(body, table)
        status = main(["run", "repros/one.py", "--update-goldens", *options])
        texts = [path.read_text() for path in (project / ".repro/records").glob("*.jsonl")]
        found = [json.loads(line) for text in texts for line in text.splitlines()]
        return status, capsys.readouterr().out, max(found, key=lambda line: line["date"])

    return said


def test_a_program_without_a_race_gives_one_answer(said):
    status, text, line = said(FIXED, "", "--perturb", "6")
    assert status == 0
    assert "7 runs, 6 of them under delays: 1 answer\n         7 times (also without delays): `out` int32 (64,)" in text
    assert line["perturbed"]["runs"] == 7 and line["perturbed"]["answers"][0]["outputs"] == {
        "out": [*range(63, -1, -1)]
    }


def test_a_race_that_changes_values_fails_with_both_answers_and_the_delays(said):
    status, text, line = said(RACY, "", "--perturb", "6", "--check", "none")
    assert status == 1 and "fail: differs under delays\n" in text
    assert "7 runs, 6 of them under delays: " in text and "(first at seed " in text
    assert "a list for --delays:\n    " in text
    answers = line["perturbed"]["answers"]
    assert len(answers) > 1 and sum(one["count"] for one in answers) == 7
    assert answers[0]["delays"] == "" and all(one["delays"] for one in answers[1:])
    assert all(one["outputs"] != answers[0]["outputs"] for one in answers[1:])


def test_a_race_that_the_checker_found_proves_itself(said):
    status, text, line = said(RACY, 'outcome = "race"', "--perturb", "6")
    assert status == 0 and line["outcome"] == "race" and len(line["perturbed"]["answers"]) > 1
    assert "(first at seed " in text and text.index("RACE") < text.index("7 runs, 6 of them under delays: ")


@pytest.mark.slow
def test_the_list_that_is_printed_gives_the_answer_again(said, project):
    text = said(RACY, "", "--perturb", "6", "--check", "none")[1]
    lines = text.partition("a list for --delays:\n")[2].partition("\n\n")[0]
    (project / "list").write_text(lines)
    status, text, line = said(RACY, "", "--check", "none", "--delays", "@list")
    assert status == 1 and "2 runs, 1 of them under delays: 2 answers" in text
    assert lines.split() == line["perturbed"]["answers"][1]["delays"].split()


@pytest.mark.slow
def test_one_delay_is_enough_where_it_is_the_right_one(said):
    late, early = (f"kernel_kernel_0 3 before {ns} ns warp 1" for ns in (6400, 1))
    assert said(RACY, "", "--check", "none", "--delays", late)[0] == 1
    assert said(FIXED, "", "--delays", late)[0] == 0
    status, text, line = said(RACY, "", "--check", "none", "--delays", "kernel_kernel_0 1 before 64 ns all")
    assert status == 0, text


def test_a_program_that_loads_no_kernel_is_not_perturbed(said):
    status, text, _ = said("import numpy as np\ndef run():\n    return {'x': np.int32([1])}", "", "--perturb", "2")
    assert status == 3 and "there is nothing to delay: the program loads no PTX through this project" in text


@pytest.mark.slow
def test_a_list_for_another_kernel_or_none_is_named(said):
    status, text, _ = said(FIXED, "", "--delays", "kernel_kernel_0 99 before 64 ns all")
    assert status == 3
    assert "the site of a delay in `kernel_kernel_0` must be 1 to 6, got 99: the list is for other PTX" in text
    status, text, _ = said(FIXED, "", "--delays", "kernel 3 64 ns")
    assert status == 3 and "a delay must read `KERNEL SITE before|after N ns all" in text


class Elsewhere:
    """A host whose supervisor is here; its device is the emulator, whatever the job asks for."""

    def __init__(self):
        self.here, self.asked = Local(), []

    def run(self, job):
        self.asked.append((job.perturb, job.checks))
        return self.here.run(judge.dataclasses.replace(job, device="emulator", gpu="", sass=False, checks="none"))


@pytest.mark.parametrize(("body", "status"), [(RACY, "pass"), (FIXED, "skip")])
def test_a_gpu_shows_a_race_by_two_answers(write, project, body, status):
    case, host = next(write(body, 'outcome = "race"').cases()), Elsewhere()
    try:
        outcome = judge.run(host, case, GPU, perturb=Wanted(4))
    finally:
        host.here.close()
    assert [perturb for perturb, _ in host.asked] == ["", "seed 0", *(f"seed {seed}" for seed in range(1, 5))]
    verdict = judge.judge(case, GPU, outcome, project, update=True)
    assert verdict.status == status
    if status == "pass":
        assert outcome.kind == "race" and outcome.text.startswith(
            "one program gave two answers\n5 runs, 4 of them under"
        )
    else:
        assert verdict.reason == "no checker" and "5 runs, 4 of them under delays: 1 answer" in verdict.text
