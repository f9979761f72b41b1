"""Cases in allocations of a real Slurm of one node with two fake GPUs."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness import judge
from harness.fleet.engine import Engine, Events, Task
from harness.fleet.slurm_slots import SlurmPartition
from harness.host.hosts import Host
from harness.host.settings import JobSettings, Settings
from tests.conftest import missing
from tests.harness.conftest import wait_until
from tests.harness.fleet import slurm_cluster

WHERE = """
import numpy as np, os
def run(case):
    print(os.environ["SLURM_JOB_ID"], os.environ["CUDA_VISIBLE_DEVICES"])
    return {"out": np.array(case)}
"""


@pytest.fixture(scope="module")
def cluster():
    if lacks := slurm_cluster.missing():
        missing(f"there is no {lacks[0]}: {slurm_cluster.INSTALL}")
    if os.getuid() != 0:
        pytest.skip("only root can start a Slurm")
    folder = Path(tempfile.mkdtemp(prefix="gpu-repro-slurm-"))
    folder.chmod(0o755)
    one = slurm_cluster.Cluster(folder)
    yield one
    one.stop()
    shutil.rmtree(folder, ignore_errors=True)


class Notes(Events):
    def __init__(self):
        self.notes, self.used = [], []

    def note(self, text):
        self.notes.append(text)

    def end(self, task, slot):
        self.used.append(slot.name)


@pytest.fixture
def on_slurm(cluster, tmp_path, monkeypatch):
    """Run cases of a repro: `on_slurm("slurm:gpu:gpu:2", repro)` gives outcomes and events."""
    monkeypatch.setenv("SLURM_CONF", cluster.variables["SLURM_CONF"])
    engines = []

    def start(target, repro, **settings):
        chosen = {"python": sys.executable, "cache": str(tmp_path / "cache"), "device": "emulator"}
        chosen |= {key: settings.pop(key) for key in ("cache",) if key in settings}
        chosen |= {"job": JobSettings(**settings)}
        host = Host(":".join(target.split(":")[:2]), "unknown", settings=Settings(**chosen))
        events = Notes()
        engine = Engine([SlurmPartition(target, host)], events)
        engines.append(engine)

        def work(case):
            return lambda slot, transport: judge.run(transport, case, slot.host, None, False, "ours", 0)

        engine.submit([Task(case.name, work(case)) for case in repro.cases()])
        return engine, events

    def on_slurm(target, repro, **settings):
        engine, events = start(target, repro, **settings)
        return [engine.wait(case.name) for case in repro.cases()], events

    on_slurm.start = start
    yield on_slurm
    for engine in engines:
        engine.close()
    wait_until(lambda: not cluster.jobs())


def test_an_allocation_of_two_gpus_is_used_for_many_cases(on_slurm, write):
    tasks, events = on_slurm("slurm:gpu:gpu:2", write(WHERE, "params = { case = [1, 2, 3, 4, 5] }"))
    outcomes = [task.result for task in tasks]
    assert [one.kind for one in outcomes] == ["outputs"] * 5, [
        (one.text, task.unrun) for one, task in zip(outcomes, tasks)
    ]
    said = {one.stdout.strip() for one in outcomes}
    assert len({line.split()[0] for line in said}) == 1 and {line.split()[1] for line in said} <= {"0", "1"}
    (job,) = {line.split()[0] for line in said}
    assert set(events.used) <= {f"slurm:gpu/{job}.0", f"slurm:gpu/{job}.1"}


@pytest.mark.slow
def test_a_job_that_is_preempted_is_asked_for_again(on_slurm, write, cluster, tmp_path):
    """The case that ran gets no verdict, and runs in the next job."""
    body = WHERE.replace(
        "    print", f"    open({str(tmp_path / 'began')!r}, 'a').write('x')\n    import time; time.sleep(4)\n    print"
    )
    repro = write(body.replace("run(case)", "run(case=1)"))
    engine, events = on_slurm.start("slurm:gpu:gpu:2", repro)
    wait_until((tmp_path / "began").exists)
    cluster.run("sbatch", "--partition=urgent", "--gres=gpu:2", "--output=/dev/null", "--wrap=sleep 3")
    task = engine.wait(next(repro.cases()).name)
    assert task.result.kind == "outputs", (task.result.text, events.notes)
    assert (tmp_path / "began").read_text() == "xx"
    (said,) = [note for note in events.notes if "another is asked for" in note]
    assert said.startswith("slurm:gpu:gpu:2: job ") and "it was preempted (PREEMPTED" in said


@pytest.mark.slow
def test_a_job_that_reaches_its_time_limit_is_asked_for_again(on_slurm, write, tmp_path):
    body = WHERE.replace("    print", f"    began = open({str(tmp_path / 'began')!r}, 'a')\n    BEGIN\n    print")
    body = body.replace("BEGIN", "if not began.tell(): began.write('x'); began.close(); import time; time.sleep(300)")
    body = body.replace("run(case)", "run(case=1)").replace('os.environ["CUDA_VISIBLE_DEVICES"]', "0")
    (task,), events = on_slurm("slurm:gpu", write(body, "timeout = 290"), time="1")
    assert task.result.kind == "outputs", (task.result.text, events.notes)
    (said,) = [note for note in events.notes if "another is asked for" in note]
    assert re.fullmatch(
        r"slurm:gpu: job \d+ on \w+: its time limit was reached \(TIMEOUT, TimeLimit\); another is asked for", said
    ), said


@pytest.mark.slow
def test_an_array_of_jobs_as_it_was_asked_for(on_slurm, write, cluster, tmp_path):
    """Two jobs at the same time, with all settings; Slurm is asked what it understood."""
    meet = f"    open({str(tmp_path)!r} + f'/at{{case}}', 'w').close()\n    import time\n    END\n    print"
    meet = meet.replace(
        "END", f"while not all(os.path.exists({str(tmp_path)!r} + f'/at{{n}}') for n in (1, 2)): time.sleep(0.1)"
    )
    repro = write(WHERE.replace("    print", meet), "params = { case = [1, 2] }")
    settings = {"array": 8, "constraint": "fast", "time": "7", "sbatch": ["--comment=a b", "--nice=3"]}
    tasks, events = on_slurm("slurm:gpu:gpu:fake:1", repro, **settings)
    assert [task.result.kind for task in tasks] == ["outputs"] * 2, ([task.unrun for task in tasks], events.notes)
    jobs = [task.result.stdout.split()[0] for task in tasks]
    assert len(set(jobs)) == 2
    shown = cluster.run("scontrol", "show", "job", jobs[0])
    for text in (
        "Partition=gpu",
        "Features=fast",
        "TimeLimit=00:07:00",
        "Comment=a b",
        "Nice=3",
        "ArrayTaskId=",
        "gpu:fake:1",
    ):
        assert text in shown, shown


@pytest.mark.slow
def test_a_waiting_job_gives_its_reason_and_the_controller_may_go_meanwhile(on_slurm, write, cluster, tmp_path):
    body = WHERE.replace("    print", f"    while not os.path.exists({str(tmp_path / 'go')!r}): pass\n    print")
    cluster.set_node("state=drain", "reason=new disk")
    try:
        engine, events = on_slurm.start("slurm:gpu:gpu:1", repro := write(body.replace("run(case)", "run(case=1)")))
        wait_until(lambda: any("Slurm reports Nodes" in note for note in events.notes))
    finally:
        cluster.set_node("state=resume")
    (said,) = {note for note in events.notes if "Slurm reports Nodes" in note}
    assert re.fullmatch(
        r"slurm:gpu:gpu:1: job \d+ waits, the first in its queue: \w+ is drain \(new disk\); Slurm reports Nodes required "
        r"for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
        said,
    ), said
    wait_until(lambda: engine.counts()["running"])
    cluster.stop_controller()
    try:
        wait_until(lambda: any("does not answer" in note for note in events.notes))
        (tmp_path / "go").touch()
        task = engine.wait(next(repro.cases()).name)
    finally:
        cluster.start_controller()
        cluster.wait_for_node()
    assert task.result.kind == "outputs", task.result.text
    assert "slurm:gpu:gpu:1: Slurm's controller does not answer; jobs that run go on" in events.notes


@pytest.mark.slow
def test_a_folder_that_the_nodes_do_not_see(on_slurm, write, cluster):
    repro = write(WHERE.replace("run(case)", "run(case=1)"))
    (task,), _ = on_slurm("slurm:gpu", repro, cache=str(cluster.login_only / "cache"))
    assert re.fullmatch(
        rf"slurm:gpu: job \d+ does not see {cluster.login_only}/cache/slurm/gpu-repro-\w+ of this machine: login node and "
        r"compute nodes must share a home\nfix: name a folder that they share, by `cache`",
        task.unrun,
    ), task.unrun


@pytest.mark.parametrize(
    ("target", "settings", "text"),
    [
        ("slurm:nope", {}, "sbatch on this machine refused: sbatch: error: invalid partition specified: nope\n"),
        ("slurm:gpu:tpu:1", {}, "sbatch: error: Invalid generic resource (gres) specification\n"),
        (
            "slurm:short",
            {"time": "100"},
            " would wait for ever: Slurm reports PartitionTimeLimit\nfix: ask for less time",
        ),
    ],
)
def test_a_refusal_by_slurm_is_reported_in_its_own_words(on_slurm, write, target, settings, text):
    (task,), _ = on_slurm(target, write(WHERE.replace("run(case)", "run(case=1)")), **settings)
    assert task.unrun.startswith(f"{target}: ") and text in task.unrun and "\nfix: " in task.unrun, task.unrun


@pytest.fixture
def bare_shell(tmp_path, monkeypatch):
    """No program of Slurm on PATH; a login shell's PATH is what is given."""

    def bare_shell(path: str) -> None:
        (tmp_path / "bin").mkdir()
        for name in ("sh", "env", "mkdir", "rm", "cat"):
            (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
        (tmp_path / ".profile").write_text(f"echo Welcome\nPATH={path}\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("SHELL", "/bin/sh")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    return bare_shell


def test_a_machine_without_slurm(on_slurm, write, bare_shell):
    bare_shell("/nowhere")
    (task,), _ = on_slurm("slurm:gpu", write(WHERE.replace("run(case)", "run(case=1)")))
    assert task.unrun.startswith("slurm:gpu: there is no sbatch on this machine: "), task.unrun
    assert task.unrun.endswith(
        'fix: name a login node of the cluster, by `job.login = "ALIAS"`, whose shells have Slurm on PATH'
    )


@pytest.mark.slow
def test_slurm_on_the_path_of_a_login_shell_alone(on_slurm, write, bare_shell):
    """As where it comes by a module or /etc/profile.d."""
    bare_shell(os.environ["PATH"])
    (task,), _ = on_slurm("slurm:gpu:gpu:1", write(WHERE.replace("run(case)", "run(case=1)")))
    assert task.result and task.result.kind == "outputs", task.unrun or task.result.text


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_nothing_stays_where_this_side_ends(cluster, sshd, write, tmp_path, way):
    """By `repro run`, over a login node, with kill -9 or Ctrl-C while a case runs."""
    sshd.key(login := f"login{way}")
    conf = cluster.variables["SLURM_CONF"]
    sshd.authorize(login, f'command="env SLURM_CONF={conf} sh -c \\"$SSH_ORIGINAL_COMMAND\\""')
    sshd.alias(login, login)
    began = tmp_path / "began"
    sleep = f"    open({str(began)!r}, 'w').close()\n    import time; time.sleep(300)\n    print"
    repro = write(WHERE.replace("    print", sleep).replace("run(case)", "run(case=1)"))
    argv = ["run", str(repro.path), "--host", "slurm:gpu:gpu:1"]
    settings = {"slurm": login, "python": sys.executable, "cache": tmp_path / "cache", "device": "emulator"}
    argv += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    root = str(Path(__file__).parents[3])
    variables = {**os.environ, "GPU_REPRO_SSH_CONFIG": str(sshd.folder / "ssh_config"), "PYTHONPATH": root}
    variables |= {"XDG_CONFIG_HOME": str(tmp_path), "SLURM_CONF": "/nowhere"}
    start = "import sys; from harness.cli import main; sys.exit(main(sys.argv[1:]))"
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen([sys.executable, "-c", start, *argv], env=variables, stdout=said, stderr=said)
        wait_until(lambda: began.exists() or process.poll() is not None)
        assert began.exists(), (tmp_path / "said").read_text()
        assert cluster.jobs() == ["RUNNING"]
        process.send_signal(way)
        assert process.wait(600) == (130 if way == signal.SIGINT else -way)
    wait_until(lambda: not (cluster.jobs() or sshd.processes()))
    assert list((tmp_path / "cache/slurm").iterdir()) == list((tmp_path / "cache/runs").iterdir()) == []


def test_a_script_from_standard_input_runs_once_in_a_job(cluster, tmp_path, monkeypatch):
    """It prints, reads and exits there as it does here; a module of the author's goes with it."""
    monkeypatch.setenv("SLURM_CONF", cluster.variables["SLURM_CONF"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    settings = [f"python={sys.executable}", f"cache={tmp_path / 'cache'}", "device=emulator"]
    options = [part for one in settings for part in ("--set", one)]
    (tmp_path / "width.py").write_text("WIDTH = 8\n")
    text = "import os, sys, width\nprint('job', 'SLURM_JOB_ID' in os.environ, width.WIDTH, sys.argv)\nsys.exit(6)\n"
    repro = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]
    command = [*repro, "run", "-", "one", "--host", "slurm:gpu:gpu:1", *options]
    done = subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.returncode) == ("job True 8 ['-', 'one']\n", 6), done.stderr
    crashes = "import os; os.kill(os.getpid(), 11)"
    done = subprocess.run(command, cwd=tmp_path, input=crashes, capture_output=True, text=True, timeout=600)
    assert done.returncode == 139 and "SIGSEGV" in done.stderr, done.stderr
    (tmp_path / "waits.py").write_text(
        "import time\ntry:\n    print('begun')\n    time.sleep(99)\nfinally:\n    print('end')\n"
    )
    command[command.index("-")] = "waits.py"
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == b"end\n" and process.wait(600) == 130
    wait_until(lambda: not cluster.jobs())
