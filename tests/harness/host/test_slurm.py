"""Requests to Slurm and the meaning of its words; tests/harness/fleet/test_slurm_slots.py runs its programs."""

import pytest

from harness.host import slurm
from harness.host.settings import JobSettings, Settings
from harness.host.slurm import Job, Wanted


@pytest.mark.parametrize(
    ("target", "settings", "options"),
    [
        ("slurm:gpu", {}, ["--partition=gpu"]),
        ("slurm:gpu:gpu:h100:4", {"gres": "gpu:1"}, ["--partition=gpu", "--gres=gpu:h100:4"]),
        ("slurm:a", {"sbatch": ["--mem=64G", "--qos=x"]}, ["--partition=a", "--mem=64G", "--qos=x"]),
        ("slurm:a", {"gres": "gpu:2"}, ["--partition=a", "--gres=gpu:2"]),
        ("slurm:a", {"constraint": "x&y", "time": "1-0", "account": "z"}, "--partition=a --constraint=x&y --time=1-0 --account=z".split()),
    ],
)  # fmt: skip
def test_options_that_are_asked_for(target, settings, options):
    assert slurm.wanted(target, Settings(job=JobSettings(**settings))).options() == options


@pytest.mark.parametrize(("gres", "gpus"), [("gpu:2", 2), ("gpu:h100:4", 4), ("gpu", 1), ("gpu:h100", 1), ("", 1)])
def test_gpus_of_an_allocation(gres, gpus):
    assert Wanted("p", gres).gpus == gpus


def test_settings_of_a_partition_override_settings_of_slurm():
    base = Settings(cache="/a", slots=3, job=JobSettings(login="login", time="10"))
    by_host = {"slurm": base, "slurm:gpu": Settings(cache="/b", job=JobSettings(time="20"), is_listed=True)}
    changed = Settings(cache="/b", slots=3, job=JobSettings(login="login", time="20"), is_listed=True)
    assert slurm.settings_of("slurm:gpu:gpu:2", by_host) == changed
    assert slurm.settings_of("slurm:other", by_host) == slurm.settings_of("slurm", by_host) == base
    assert slurm.settings_of("slurm", {}) == Settings()


def test_jobs_that_would_wait_for_ever():
    never, later = Job("4", "PENDING", "PartitionTimeLimit", ""), Job("5", "PENDING", "Resources", "")
    assert slurm.problems([never]) == (
        "job 4 would wait for ever: Slurm reports PartitionTimeLimit\n"
        "fix: ask for less time than the partition allows, by `job.time`"
    )
    assert slurm.problems([later]) == slurm.problems([]) == slurm.problems([never, later]) == ""
    assert Job("6", "PREEMPTED", "None", "n1").ended_because == "it was preempted"


def test_how_a_job_ended_and_what_to_do():
    memory, limit = Job("7", "OUT_OF_MEMORY", "OutOfMemory", "n1"), Job("8", "TIMEOUT", "TimeLimit", "n1")
    assert memory.end == "job 7 on n1: it used more memory than it asked for (OUT_OF_MEMORY, OutOfMemory)"
    assert memory.advice == '\nfix: ask for more memory, by `job.sbatch = ["--mem=64G"]`' and not memory.ended_because
    assert limit.end == "job 8 on n1: its time limit was reached (TIMEOUT, TimeLimit)"
    assert limit.advice == "\nfix: where one case needs longer than the limit, ask for more, by `job.time`"
    assert Job("9", "NODE_FAIL", "None", "").end == "job 9: its node failed (NODE_FAIL)"
