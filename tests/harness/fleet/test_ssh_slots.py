"""Slots of real hosts over SSH: which GPUs, one connection, isolation of one slot from another, what is refused."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from harness.fleet import ssh_slots
from harness.fleet.targets import member
from harness.host import hosts, settings
from harness.run import gpu_lock
from harness.run.transport import Declined, Job, LinkDown
from tests.harness.conftest import repro_text

INFO = """
import os, numpy as np
def run():
    print(os.environ.get("CUDA_VISIBLE_DEVICES"))
    return {"out": np.zeros(1)}
"""
KILLER = """
import os, signal, subprocess
def run():
    subprocess.Popen(["setsid", "sleep", "993"])
    os.kill(os.getppid(), signal.SIGKILL)
    while True:
        pass
"""
MEET = """
import os, time, numpy as np
def run():
    open(os.path.join({folder!r}, os.environ["CUDA_VISIBLE_DEVICES"][-2:]), "w").close()
    end = time.monotonic() + 600
    while len(os.listdir({folder!r})) < {count}:
        assert time.monotonic() < end
        time.sleep(0.01)
    return {{"out": np.zeros(1)}}
"""


@pytest.fixture
def slots(two_hosts, tmp_path):
    """`slots("p1:0,2")`: slots of a host, on a connection that ends with the test."""
    made = []

    def slots(text: str, **chosen):
        one = member(text)
        notes = []
        host = hosts.resolve(one.host, settings.load(tmp_path, [f"{one.host}.{k}={v}" for k, v in chosen.items()]))
        provider = ssh_slots.SshHost(one, host.connect(), host, lambda: 3)
        made.append(provider)
        provider.remote.note = notes.append
        found = provider.slots()
        for slot in found:
            slot.notes = notes
        return found

    yield slots
    for provider in made:
        provider.close()


def job(body: str, gpu: str = "", **more) -> Job:
    return Job("one.py", repro_text(body), {}, "cuda", 30.0, gpu=gpu, **more)


def said(slot, body: str = INFO) -> str:
    header, _ = slot.transport.run(job(body))
    assert header["result"], header
    return header["stdout"].strip()


def test_a_slot_is_a_gpu_by_uuid(slots, two_hosts):
    before = two_hosts.logins()
    found = slots("p1:0,2")
    assert [slot.name for slot in found] == ["p1:0", "p1:2"] and {slot.place for slot in found} == {"p1"}
    assert [slot.host.device_facts["uuid"][-4:] for slot in found] == ["0100", "0102"]
    assert found[0].host.describe().startswith("p1 (NVIDIA H100, sm_90, driver ")
    uuids = ["GPU-7f010101-0101-0101-0101-010101010100", "GPU-7f010101-0101-0101-0101-010101010102"]
    assert [said(slot) for slot in found] == uuids
    assert two_hosts.agents() == {"p1": 1, "p2": 0}
    assert two_hosts.logins() == before | {"p1": before["p1"] + 1}


def test_all_slots_work_side_by_side(slots, tmp_path):
    """Four cases that end only when all four are there."""
    (tmp_path / "here").mkdir()
    found = slots("p1:all")
    body = MEET.format(folder=str(tmp_path / "here"), count=4)
    threads = [threading.Thread(target=said, args=(slot, body)) for slot in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert [slot.name for slot in found] == ["p1:0", "p1:1", "p1:2", "p1:3"]
    assert sorted(os.listdir(tmp_path / "here")) == ["00", "01", "02", "03"]


def test_a_repro_that_ends_one_supervisor_leaves_the_others(slots, two_hosts, tmp_path):
    victim, killer = slots("p1:0,1")
    (tmp_path / "here").mkdir()
    outcome = []
    body = MEET.format(folder=str(tmp_path / "here"), count=2)
    waiting = threading.Thread(target=lambda: outcome.append(victim.transport.run(job(body))))
    waiting.start()
    with pytest.raises(Declined, match="the supervisor there ended") as error:
        killer.transport.run(job(KILLER))
    assert error.value.started
    end = time.monotonic() + 60  # what the repro started is killed after the answer
    while any("sleep 993" in line for line in two_hosts.processes()):
        assert time.monotonic() < end
        time.sleep(0.05)
    (tmp_path / "here/other").touch()
    waiting.join(600)
    assert outcome and outcome[0][0]["result"]["outcome"] == "outputs"
    assert said(killer).startswith("GPU-")


def test_who_holds_a_gpu(slots, two_hosts):
    """A lock's holder, since when; gone with its process."""
    (slot,) = slots("p2:3")
    uuid = slot.host.device_facts["uuid"]
    lock = gpu_lock.take(uuid, print, lambda: None)
    holder = gpu_lock.holder(uuid)
    assert holder["pid"] == os.getpid() and holder["since"] > 1.7e9
    header, _ = slot.transport.run(job(INFO, uuid, gpu_patience_s=0.0))
    assert header["kind"] == "busy" and header["locked"] and header["holder"] == f"process {os.getpid()} has it"
    gpu_lock.release(lock, uuid)
    assert gpu_lock.holder(uuid) is None and not list(Path(gpu_lock.FOLDER).glob(f"{uuid}.*"))
    assert slot.transport.run(job(INFO, uuid, gpu_patience_s=0.0))[0]["kind"] == "reply"


@pytest.mark.parametrize(
    "text, chosen, why",
    [
        ("p1:2-5", {}, "p1:2-5: there is no GPU 4 on p1, which has 4 GPUs, numbers 0-3\nfix: write `p1:0-3`"),
        (
            "p1:0",
            {"env": "LD_LIBRARY_PATH=/nowhere"},
            "p1 has no CUDA device that can be used: there is no NVIDIA driver",
        ),
        (
            "p1",
            {"env": "LD_LIBRARY_PATH=/nowhere", "device": "cuda"},
            "p1 has no CUDA device that can be used: there is no NVIDIA driver",
        ),
    ],
)
def test_gpus_that_are_not_there(slots, text, chosen, why):
    with pytest.raises(LinkDown) as error:
        slots(text, **chosen)
    assert str(error.value).startswith(why)


def test_a_host_without_a_gpu_has_as_many_slots_as_asked_for(slots):
    without = {"env": "LD_LIBRARY_PATH=/nowhere"}
    assert [(slot.name, slot.host.device) for slot in slots("p1", **without)] == [
        (f"p1/{number}", "emulator") for number in range(3)
    ]
    assert [slot.name for slot in slots("p1", slots="1", **without)] == ["p1"]
    assert [slot.name for slot in slots("p1", device="emulator", slots="2")] == ["p1/0", "p1/1"]


def test_a_link_that_is_lost_is_lost_for_all_its_slots_and_comes_back(slots, two_hosts, tmp_path):
    found = slots("p1:0,1")
    (tmp_path / "here").mkdir()
    body = MEET.format(folder=str(tmp_path / "here"), count=9)
    errors = []

    def lose(slot):
        try:
            slot.transport.run(job(body))
        except LinkDown as error:
            errors.append(str(error))

    threads = [threading.Thread(target=lose, args=(slot,)) for slot in found]
    for thread in threads:
        thread.start()
    while len(os.listdir(tmp_path / "here")) < 2:
        threads[0].join(0.01)
    for pid in two_hosts.sshds["p1"].connections():
        os.kill(pid, signal.SIGKILL)
    for thread in threads:
        thread.join(600)
    assert len(errors) == 2 and all(text.startswith("the connection was lost") for text in errors)
    assert said(found[0]).startswith("GPU-")
