"""The lock of a GPU: one at a time, told while waiting, and gone with its holder."""

import getpass
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from harness import judge
from harness.host.hosts import Host
from harness.run import gpu_lock
from harness.run.transport import Local

HOLD = """
import time
from harness.run import gpu_lock
gpu_lock.FOLDER = {folder!r}
gpu_lock.take("7", print, print)
print("held", flush=True)
time.sleep(99)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_lock, "FOLDER", str(tmp_path / "locks"))
    return tmp_path / "locks"


@pytest.fixture
def holder(folder):
    """Another process that holds the GPU 7."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(folder=str(folder))], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_one_at_a_time_and_the_wait_is_reported(holder):
    notes = []
    with pytest.raises(gpu_lock.Busy) as error:
        gpu_lock.take("7", notes.append, lambda: None, patience_s=0.1)
    assert error.value.holder == f"process {holder.pid} has it"
    assert str(error.value) == f"the GPU was not free within 0.1 s: process {holder.pid} has it"
    assert notes == [f"waiting for the GPU: process {holder.pid} has it"]
    os.close(gpu_lock.take("8", notes.append, lambda: None))
    assert len(notes) == 1


def test_it_ends_with_its_holder(holder):
    os.kill(holder.pid, signal.SIGKILL)
    os.close(gpu_lock.take("7", print, lambda: None, patience_s=10))


def test_who_holds_it(holder, folder):
    found = gpu_lock.holder("7")
    assert found["pid"] == holder.pid and found["user"] and 0 < found["since"] <= time.time()
    (note,) = folder.glob("7.*")
    note.unlink()
    assert gpu_lock.holder("7") == found | {"since": 0.0, "run": ""}
    for text in ("[" * 9, "[" * 100_000, '{"since": NaN}', '{"since": 1e300, "run": [1]}', '{"since": -1.0}'):
        note.write_text(text)
        assert gpu_lock.holder("7")["since"] == 0.0
    holder.kill()
    holder.wait()
    assert gpu_lock.holder("7") is None and gpu_lock.holder("8") is None
    gpu_lock.release(gpu_lock.take("7", print, lambda: None), "7")
    assert [path.name for path in folder.iterdir()] == ["7"]


def test_a_link_is_not_followed(folder, tmp_path):
    folder.mkdir()
    (folder / "7").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        gpu_lock.take("7", print, lambda: None)
    assert not (tmp_path / "elsewhere").exists()


def test_a_repro_holds_it_and_its_children_do_not(write, tmp_path):
    """Through a supervisor, whose folder of locks is the real one: a name of this test's own."""
    name = f"test-{os.getpid()}"
    body = f"""
    import numpy as np, os, subprocess
    def run():
        busy = subprocess.run(["flock", "-n", "/tmp/gpu-repro-locks/{name}", "true"]).returncode
        paths = ["/proc/self/fd/" + fd for fd in os.listdir("/proc/self/fd")]
        mine = [os.readlink(path) for path in paths if os.path.exists(path)]
        return {{"busy": np.array(busy), "open": np.array(any("gpu-repro-locks" in path for path in mine))}}
    """
    facts = {"name": "a GPU", "arch": "sm_90", "driver": "1", "uuid": name}
    transport = Local()
    try:
        for _ in range(2):
            outcome = judge.run(transport, next(write(body).cases()), Host("local", "cuda", device_facts=facts))
            assert outcome.kind == "outputs", outcome.text
            assert [outcome.outputs[key].values().item() for key in ("busy", "open")] == [1, False]
    finally:
        transport.close()
        os.unlink(f"/tmp/gpu-repro-locks/{name}")


NVML = r"""
#include <stdio.h>
#include <string.h>
struct info { unsigned pid; unsigned long long bytes; unsigned gpu, compute; };
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    *device = (void *)1;
    return strcmp(uuid, "GPU-07070707-0707-0707-0707-070707070707") ? 6 : 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct info *rows) {
    FILE *file = fopen("PIDS", "r");
    for (*count = 0; file && fscanf(file, "%u", &rows[*count].pid) == 1;) ++*count;
    if (file) fclose(file);
    return 0;
}
"""
ASK = """
import json, os
from harness.run import gpu_lock
gpu_lock.FOLDER = {folder!r}
notes = []
try:
    os.close(gpu_lock.take({uuid!r}, notes.append, lambda: None, patience_s=0.1))
    print(json.dumps(["taken", gpu_lock.holder({uuid!r})]))
except gpu_lock.Busy as error:
    print(json.dumps([str(error), gpu_lock.holder({uuid!r}), notes]))
"""


def test_a_process_that_does_not_know_the_lock_is_seen(needs, folder, tmp_path):
    """By the driver's own list, from a stand-in for its library."""
    needs("cc", "gcc libc6-dev")
    (tmp_path / "nvml.c").write_text(NVML.replace("PIDS", str(tmp_path / "pids")))
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "nvml.c"], check=True)

    def ask(uuid: str) -> list:
        env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
        argv = [sys.executable, "-c", ASK.format(folder=str(folder), uuid=uuid)]
        return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True, env=env).stdout)

    assert ask("07" * 16) == ["taken", None]
    other = subprocess.Popen(["sleep", "99"])
    try:
        (tmp_path / "pids").write_text(f"{other.pid}\n")
        user = getpass.getuser()
        who = f"process {other.pid} ({user}, sleep 99) computes on it"
        assert ask("07" * 16) == [
            f"the GPU was not free within 0.1 s: {who}",
            {"pid": other.pid, "user": user, "since": 0.0, "run": ""},
            [f"waiting for the GPU: {who}"],
        ]
        assert ask("08" * 16) == ["taken", None]  # another GPU
    finally:
        other.kill()
        other.wait()
