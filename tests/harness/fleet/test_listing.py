"""The output of `repro hosts` for hosts that answer, have no GPU, or do not answer."""

import time
from dataclasses import replace

from harness.fleet import listing
from harness.fleet.targets import parse
from harness.host.hosts import Host
from harness.host.settings import Settings
from harness.run.reply import Holder
from harness.run.transport import LinkDown
from tests.harness.documents import check_result

GPU = {"name": "NVIDIA H100", "arch": "sm_90", "driver": "570.1", "uuid": "0a" * 16}


class Answers:
    """A connection to a host with these GPUs, or to none."""

    def __init__(self, rows, why="", failure=""):
        self.rows, self.why, self.failure, self.closed = rows, why, failure, False

    def devices(self, probe, timeout_s, variables):
        assert variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
        if self.failure:
            raise LinkDown(self.failure)
        return self.rows, self.why

    def close(self):
        self.closed = True


def test_pools_slots_and_holders():
    held = Holder(4711, "anna", time.time() - 200, "run"), Holder(12, "", 0.0)
    pools = {"all": ("p1:0-1", "p2"), "one": ("p1:1",)}
    answers = {
        "p1": Answers([(GPU, None), (GPU, held[0]), (GPU, held[1])]),
        "p2": Answers([], "there is no NVIDIA driver"),
        "p3": Answers([], failure="p3 (10.0.0.3:22) cannot be reached: no answer\ncheck: `ssh p3 true`"),
    }
    machines = {name: Host(name, "unknown", lambda one=one: one) for name, one in answers.items()}
    machines["p2"] = replace(machines["p2"], settings=Settings(slots=4))
    targets = [parse(f"pool:{name}", pools) for name in pools]
    check_result("hosts", listing.look(pools, targets, machines)[1])
    text, all_answered = listing.report(pools, targets, machines)
    since = time.strftime("%H:%M", time.localtime(time.time() - 200))
    lines = text.splitlines()
    assert not all_answered and all(one.closed for one in answers.values())
    assert lines[:4] == ["pool:all  p1:0-1, p2", "pool:one  p1:1", "", "p1  3 GPUs, 1 free, driver 570.1"]
    assert lines[4].split() == "p1:0 NVIDIA H100 sm_90 0a0a0a0a free pool:all".split()
    assert f"held by anna, process 4711, since {since}" in lines[5] and "(3 min)" in lines[5]
    assert lines[5].endswith("pool:all pool:one") and lines[6].endswith("held by somebody, process 12")
    assert lines[7:] == [
        "p2  4 of the emulator: there is no NVIDIA driver",
        "p3 (10.0.0.3:22) cannot be reached: no answer",
        "    check: `ssh p3 true`",
    ]
