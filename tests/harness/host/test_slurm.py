"""What is asked of Slurm and what its words mean; its programs are run by tests/harness/fleet/test_slurm_slots.py."""

import pytest

from harness.host import slurm
from harness.host.settings import Settings
from harness.host.slurm import Job, Wanted


@pytest.mark.parametrize(
    ("target", "settings", "options"),
    [
        ("slurm:gpu", {}, ["--partition=gpu"]),
        ("slurm:gpu:gpu:h100:4", {"gres": "gpu:1"}, ["--partition=gpu", "--gres=gpu:h100:4"]),
        ("slurm:a", {"gres": "gpu:2"}, ["--partition=a", "--gres=gpu:2"]),
        ("slurm:a", {"constraint": "x&y", "time": "1-0", "account": "z"}, "--partition=a --constraint=x&y --time=1-0 --account=z".split()),
    ],
)  # fmt: skip
def test_what_is_asked_for(target, settings, options):
    assert slurm.wanted(target, Settings(**settings)).options() == options


@pytest.mark.parametrize(("gres", "gpus"), [("gpu:2", 2), ("gpu:h100:4", 4), ("gpu", 1), ("gpu:h100", 1), ("", 1)])
def test_gpus_of_an_allocation(gres, gpus):
    assert Wanted("p", gres).gpus == gpus


def test_the_settings_of_a_partition_stand_over_those_of_slurm():
    by_host = {"slurm": Settings(slurm="login", time="10"), "slurm:gpu": Settings(time="20", is_listed=True)}
    assert slurm.settings_of("slurm:gpu:gpu:2", by_host) == Settings(slurm="login", time="20", is_listed=True)
    assert slurm.settings_of("slurm:other", by_host) == Settings(slurm="login", time="10")
    assert slurm.settings_of("slurm", {}) == Settings()


def test_jobs_that_would_wait_for_ever():
    never, later = Job("4", "PENDING", "PartitionTimeLimit", ""), Job("5", "PENDING", "Resources", "")
    assert slurm.problems([never]) == (
        "job 4 would wait for ever: Slurm says PartitionTimeLimit\n"
        "fix: ask for less time than the partition allows, by `time`"
    )
    assert slurm.problems([later]) == slurm.problems([]) == slurm.problems([never, later]) == ""
    assert Job("6", "PREEMPTED", "None", "n1").ended_because == "it was preempted"
