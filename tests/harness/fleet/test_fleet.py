"""Suites spread over two real hosts of four GPUs each: pytest alone, with workers, a lost host, Ctrl-C; and the record.

Modules tested here: harness/cli/hosts_command.py.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.harness.conftest import repro_text, wait_until

REPRO = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]

CASES = 12
PROJECT = '[tool.repro.pools.both]\nhosts = ["p1:0-3", "p2:0-3"]\n[tool.pytest.ini_options]\n'
# Every case waits until as many have begun as there are slots: fewer slots at once, and the first would never end.
TOGETHER = """
import os, time, numpy as np
def run(n):
    open(os.path.join({folder!r}, "%d" % n), "w").close()
    end = time.monotonic() + 600
    while len(os.listdir({folder!r})) < {count}:
        assert time.monotonic() < end
        time.sleep(0.01)
    return {{"out": np.array(n)}}
def expected(n):
    return {{"out": np.array(n)}}
"""
SLEEP = """
import os, subprocess, time
def run(n):
    subprocess.Popen(["setsid", "sleep", "995"])
    open(os.path.join({folder!r}, "%d" % n), "w").close()
    time.sleep(99)
"""


@pytest.fixture
def project(two_hosts, tmp_path, monkeypatch):
    """A project with a pool; cases write to `project.begun` when they begin."""
    monkeypatch.delenv("CI", raising=False)

    class Project:
        folder, begun = tmp_path, tmp_path / "begun"

        def write(self, body: str, count: int = 8) -> None:
            text = repro_text(
                body.format(folder=str(self.begun), count=count), f"params = {{ n = {list(range(CASES))} }}"
            )
            (tmp_path / "repros/one.py").write_text(text)

        def start(self, *options: str) -> subprocess.Popen:
            argv = [sys.executable, "-m", "pytest", "repros", "-p", "no:cacheprovider", "--gpu-host", "pool:both"]
            return subprocess.Popen(
                [*argv, *options], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )

        def records(self) -> list[dict]:
            files = (tmp_path / "repros/records").glob("*.jsonl")
            return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "repros").mkdir()
    Project.begun.mkdir()
    return Project()


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_a_suite_is_spread_over_all_slots(project, two_hosts, workers):
    """One connection and one agent a host, whatever -n is; each record names the host and the GPU it ran on."""
    before = two_hosts.logins()
    project.write(TOGETHER)
    run = project.start("-n", workers)
    wait_until(lambda: len(os.listdir(project.begun)) == CASES or run.poll() is not None, 300)
    said = run.communicate(timeout=600)[0]
    assert run.returncode == 0 and f"{CASES} passed" in said, said
    assert "gpu-repro: pool:both (p1:0-3, p2:0-3)" in said
    assert two_hosts.logins() == {name: count + 1 for name, count in before.items()}
    records = project.records()
    assert len(records) == CASES and {line["verdict"] for line in records} == {"pass"}
    places = {(line["host"], line["device"]["uuid"][-4:]) for line in records}
    assert len(places) == 8 and {host for host, _ in places} == {"p1", "p2"}
    assert all(uuid.startswith({"p1": "01", "p2": "02"}[host]) for host, uuid in places)


@pytest.mark.slow
def test_a_host_that_dies_gives_its_cases_to_the_other(project, two_hosts):
    project.write(TOGETHER, CASES + 1)  # they wait for a file that the test makes
    run = project.start("-n", "0")
    wait_until(lambda: len(os.listdir(project.begun)) == 8 or run.poll() is not None, 300)
    for pid in two_hosts.sshds["p2"].connections():
        os.kill(pid, signal.SIGKILL)
    for number in range(CASES + 1):
        (project.begun / str(number)).touch()
    said = run.communicate(timeout=600)[0]
    assert run.returncode == 0 and f"{CASES} passed" in said, said
    assert "p2: the connection was lost" in said and "; what ran there goes to other slots" in said


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_ctrl_c_ends_everything_everywhere(project, two_hosts, workers):
    project.write(SLEEP)
    run = project.start("-n", workers)
    wait_until(lambda: len(os.listdir(project.begun)) == 8 or run.poll() is not None, 300)
    assert len([line for line in two_hosts.processes() if "sleep 995" in line]) == 8
    run.send_signal(signal.SIGINT)
    wait_until(lambda: not two_hosts.processes(), 30)
    said = run.communicate(timeout=600)[0]
    assert run.returncode == 2 and "INTERNALERROR" not in said, said


def test_the_longest_go_first(tmp_path):
    from harness import store
    from harness.claim.repro_file import read
    from harness.fleet.fleet import Fleet, Plan, Request
    from harness.fleet.targets import parse

    (tmp_path / "repros").mkdir()
    path = tmp_path / "repros/one.py"
    path.write_text(repro_text("def run(n):\n    return {}", "params = { n = [0, 1, 2, 3] }"))
    run, folder = store.Run(), store.folder(path, False, tmp_path)
    for number, seconds in ((0, 0.5), (1, 9.0), (2, 2.0)):
        line = {"schema": 2, "repro": "repros/one.py", "case": f"n={number}", "verdict": "pass", "host": "p1"}
        run.append(folder, line | {"date": f"2026-01-0{number + 1}T00:00:00.000000Z", "durations": {"run_s": seconds}})
    fleet = Fleet(Plan(tmp_path), [parse("p1:0-3", {})], {})
    cases = [Request(case.name, "p1", case, "ours") for case in read(path).cases()]
    assert [case.key for case in sorted(cases, key=fleet._order)] == ["n=1", "n=2", "n=3", "n=0"]
    single = Fleet(Plan(tmp_path), [parse("p1", {})], {})
    assert {single._order(case) for case in cases} == {(0,)}  # one slot: in the order of collection


def test_the_hosts_command_lists_who_holds_what(project, two_hosts, capsys, monkeypatch):
    """harness/cli/hosts_command.py, as a person runs it."""
    from harness.cli import main
    from harness.run import gpu_lock

    monkeypatch.chdir(project.folder)
    uuid = "7f" + "02" * 14 + "01"
    lock = gpu_lock.take(uuid, print, lambda: None)
    try:
        assert main(["hosts"]) == 0
    finally:
        gpu_lock.release(lock, uuid)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pool:both  p1:0-3, p2:0-3" and lines[2].startswith("p1  4 GPUs, 4 free, driver ")
    (held,) = [
        line for line in lines if "held by" in line and str(os.getpid()) in line
    ]  # other tests hold GPUs at the same time
    assert held.startswith("  p2:1     NVIDIA H100 sm_90 02020201") and held.endswith("pool:both")
    assert f", process {os.getpid()}, since {time.strftime('%H:')}" in held
    assert sum(line.rstrip().endswith("pool:both") for line in lines) == 8


@pytest.mark.parametrize(
    "host, why",
    [
        ("pool:bot", "ERROR: unknown pool 'bot': the pools are both\nfix: write `pool:both`\n"),
        ("p1:4-1", "ERROR: p1:4-1: the range 4-1 ends before it begins\nfix: write 1-4\n"),
        (
            "pool:lost",
            "ERROR: unknown host 'p9': the hosts are embedded, local, p1, p2\n"
            "fix: give ~/.ssh/config a `Host` of that name, or write user@address\n",
        ),
    ],
)
def test_mistakes_are_reported_before_anything_runs(project, pytester, host, why):
    (project.folder / "pyproject.toml").write_text(PROJECT + '[tool.repro.pools.lost]\nhosts = ["p9:0-3"]\n')
    if host == "pool:bot":
        (project.folder / "pyproject.toml").write_text(PROJECT)
    run = project.start("--gpu-host", host)
    said = run.communicate(timeout=600)[0]
    assert run.returncode == 4 and said.strip().endswith(why.strip()), said


def test_a_script_runs_once_in_a_pool(project, tmp_path, monkeypatch):
    """It reads and exits there as it does here; its two streams stay apart."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    text = "import os, sys\nprint(sys.argv[1:], input(), len(os.environ['CUDA_VISIBLE_DEVICES']) > 0)\n"
    (project.folder / "once.py").write_text(text + "print('aside', file=sys.stderr)\nsys.exit(4)\n")
    command = [*REPRO, "run", "once.py", "--host", "pool:both", "--", "-n", "3"]
    done = subprocess.run(command, cwd=project.folder, input="typed\n", capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.returncode) == ("['-n', '3'] typed True\n", 4), done.stderr
    assert "aside" in done.stderr.splitlines()


@pytest.mark.parametrize(
    "text, status, said",
    [
        ("import os; os.kill(os.getpid(), 11)", 139, "SIGSEGV"),
        ("import time; time.sleep(60)", 124, "did not end within"),
    ],
)
def test_how_a_script_ends_in_a_pool(project, tmp_path, monkeypatch, text, status, said):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    command = [*REPRO, "run", "-", "--host", "pool:both", "--timeout", "2" if status == 124 else "100"]
    done = subprocess.run(command, cwd=project.folder, input=text, capture_output=True, text=True, timeout=600)
    assert done.returncode == status and said in done.stderr, done.stderr


def test_ctrl_c_is_of_the_script_in_a_pool(project, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    (project.folder / "waits.py").write_text(
        "import time\ntry:\n    print('begun')\n    time.sleep(99)\nfinally:\n    print('cleaned')\n"
    )
    process = subprocess.Popen(
        [*REPRO, "run", "waits.py", "--host", "pool:both"], cwd=project.folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == b"cleaned\n" and process.wait(600) == 130
