"""What SSH costs, measured against a real sshd on loopback (needs /usr/sbin/sshd; `apt-get install openssh-server`).

    uv run python benchmarks/harness.py            all of it
    uv run python benchmarks/harness.py --quick    without the suite in repros/
    uv run python benchmarks/harness.py --fleet    200 cases that sleep 1 s on two hosts of four GPUs; collecting
    uv run python benchmarks/harness.py --fleet --whole     the same, and all 200 in one slot too: 2 minutes more

The GPUs of --fleet are a stand-in for the driver's library (needs a C compiler). It takes about 2 minutes.

The far side runs this interpreter, so that both sides do the same work. Bytecode is written on both sides.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder, in which this file hides the package
REPEATS = 7
CASES = 40
SLEEPERS = 200
SHARE = 60  # of them in one slot, unless --whole
TOLD_EVERY_S = 10.0
REPROS = 1000
ARRAY = "import numpy as np\ndef run():\n    return {'out': np.arange(1024)}"
SLEEP = "import subprocess, time\ndef run():\n    subprocess.Popen(['setsid', 'sleep', '995'])\n    time.sleep(99)"


def loopback() -> Any:
    """The module of the tests that starts an sshd."""
    spec = importlib.util.spec_from_file_location("loopback", ROOT / "tests/harness/conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONNECT = """
import sys, time
began = time.perf_counter()
from harness.host import hosts, settings
from harness.fleet import ssh_slots, targets
host = hosts.resolve("p1", settings.load(__import__("pathlib").Path(sys.argv[1])))
provider = ssh_slots.SshHost(targets.member("p1"), host.connect(), host)
provider.remote.open()
connected = time.perf_counter() - began
(slot,) = provider.slots()
transport, host = slot.transport, slot.host
from harness.claim.repro_file import read
from harness import judge
outcome = judge.run(transport, next(read(__import__("pathlib").Path(sys.argv[1]) / "repros/one.py").cases()), host)
assert outcome.kind == "outputs", outcome
print(connected, time.perf_counter() - began)
provider.close()
"""


def connect(project: Path) -> tuple[list[float], list[float]]:
    """Seconds to a connected agent, and to the first reply, each in a new process."""
    rows = []
    for _ in range(REPEATS):
        done = subprocess.run([sys.executable, "-c", CONNECT, project], capture_output=True, text=True, check=True)
        rows.append([float(word) for word in done.stdout.split()])
    connected, replied = zip(*rows, strict=True)
    return list(connected), list(replied)


def cases(project: Path, name: str, fresh: bool, count: int) -> list[float]:
    """Seconds for each of `count` runs of a small repro on a host, after the first."""
    from harness.claim.repro_file import read
    from harness.session import Session

    session = Session(project, [name])
    host, case = session.hosts()[0], next(read(project / "repros/one.py").cases())
    found = []
    try:
        for _ in range(count + 1):
            began = time.perf_counter()
            outcome = session.run(case, host, None, fresh)[1]
            found.append(time.perf_counter() - began)
            assert outcome.kind == "outputs", outcome.text
    finally:
        session.close()
    return found[1:]


def suite(host: str) -> tuple[float, int]:
    """Seconds and cases of `pytest repros` on a host."""
    argv = [sys.executable, "-m", "pytest", "repros", "-q", "--gpu-host", host, "-p", "no:cacheprovider"]
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(done.stdout)
    return took, int(done.stdout.split(" passed")[0].split()[-1])


def interrupted(project: Path, processes: Callable[[], list[str]]) -> float:
    """Seconds from Ctrl-C to nothing left on the host."""
    code = "import sys; from harness.cli import main; sys.exit(main(['run', 'repros/sleep.py', '--host', 'p1']))"
    client = subprocess.Popen([sys.executable, "-c", code], cwd=project, stderr=subprocess.DEVNULL)
    while not any("sleep 995" in line for line in processes()):
        time.sleep(0.01)
    client.send_signal(signal.SIGINT)
    began = time.perf_counter()
    while processes():
        time.sleep(0.002)
    took = time.perf_counter() - began
    client.wait()
    return took


def fleet(tests: Any, is_whole: bool) -> None:
    """200 cases that sleep, in one slot and in eight; connections; collecting."""
    folder = Path(tempfile.mkdtemp(prefix="gpu-repro-benchmark-"))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    project = folder / "project"
    (project / "repros").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[tool.repro.pools.both]\nhosts = ["p1:0-3", "p2:0-3"]\n')
    body = "import time, numpy as np\ndef run(n):\n    time.sleep(SECONDS)\n    return {'out': np.zeros(1)}"
    for name, seconds in (("sleep", 1.0), ("warm", 0.3)):
        text = tests.repro_text(body.replace("SECONDS", str(seconds)), f"params = {{ n = {list(range(SLEEPERS))} }}")
        (project / f"repros/{name}.py").write_text(text)
    hosts = tests.TwoHosts(folder, gpus=4)
    os.environ |= hosts.environment()
    count = SLEEPERS if is_whole else SHARE
    try:
        one, _ = slept(project, "p1:0", 1, count)
        logins = hosts.logins()
        eight, slots = slept(project, "pool:both", 8, SLEEPERS)
        opened = {name: count - logins[name] for name, count in hosts.logins().items()}
    finally:
        hosts.stop()
        shutil.rmtree(folder, ignore_errors=True)
    one_each, eight_each = one / count, eight * slots / SLEEPERS
    part = "" if is_whole else f" ({count} of {SLEEPERS})"
    print(f"{f'cases that sleep 1 s, in one slot{part}':56} {one:.1f} s, {one_each - 1:.3f} s a case more")
    print(
        f"{f'{SLEEPERS} of them over 2 hosts x 4 slots':56} {eight:.1f} s, {eight_each - 1:.3f} s a case more   "
        "(wanted: under 0.06 s)"
    )
    print(f"{'times the cases a second of one slot':56} {one_each * SLEEPERS / eight:.2f}   (wanted: at least 7)")
    print(f"{'connections':56} {opened}   (wanted: one a host)")
    tell(f"collecting {REPROS} repros")
    print(f"{f'collecting {REPROS} repros, CPU seconds':56} {collecting():.2f}   (wanted: under 1)")


def tell(text: str) -> None:
    print(f"... {text}", file=sys.stderr, flush=True)


def slept(project: Path, name: str, slots: int, count: int) -> tuple[float, int]:
    """Seconds for `count` sleeping cases on a target once its slots are warm, and how many slots took part."""
    from harness.claim.repro_file import read
    from harness.session import Session

    session = Session(project, [name])
    (host,) = session.hosts()

    def run(file: str, count: int) -> set[str]:
        cases = list(read(project / f"repros/{file}.py").cases())[:count]
        session.begin([(case, host) for case in cases], None, False)
        used, told = set(), time.monotonic()
        for number, case in enumerate(cases):
            where, outcome = session.run(case, host, None, False)
            assert outcome.kind == "outputs", outcome.text
            used.add(str(where.device_facts["uuid"]))
            if time.monotonic() - told > TOLD_EVERY_S:
                told = time.monotonic()
                tell(f"{name}: {number + 1} of {count} done")
        return used

    try:
        tell(f"{name}: starting")
        while len(run("warm", 4 * slots)) < slots:
            pass  # a slot had no case yet
        tell(f"{name}: {count} cases of 1 s in {slots} slot{'s' * (slots > 1)}")
        began = time.perf_counter()
        used = run("sleep", count)
        return time.perf_counter() - began, len(used)
    finally:
        session.close()


def collecting() -> float:
    """CPU seconds that pytest takes more to collect REPROS files than to collect one."""
    text = loopback().repro_text(ARRAY)
    took = []
    for count in (1, REPROS):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "repros").mkdir()
            for number in range(count):
                (Path(folder) / f"repros/claim_{number}.py").write_text(text)
            argv = [sys.executable, "-m", "pytest", "repros", "--collect-only", "-q", "-p", "no:cacheprovider"]
            samples = []
            for _ in range(3):
                began = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(argv, cwd=folder, check=True, stdout=subprocess.DEVNULL)
                ended = resource.getrusage(resource.RUSAGE_CHILDREN)
                samples.append(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
            took.append(min(samples))
    return took[1] - took[0]


def show(what: str, seconds: list[float], limit_s: float | None = None) -> None:
    middle, worst = statistics.median(seconds), max(seconds)
    limit = f"   (wanted: under {limit_s:g} s)" if limit_s else ""
    print(f"{what:56} median {middle:.3f} s  worst {worst:.3f} s  of {len(seconds)}{limit}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the suite in repros/")
    parser.add_argument("--fleet", action="store_true", help="only what several hosts and GPUs are for")
    parser.add_argument("--whole", action="store_true", help="with --fleet: all cases in one slot, not a share of them")
    arguments = parser.parse_args()
    quick, tests = arguments.quick, loopback()
    if arguments.fleet:
        return fleet(tests, arguments.whole)
    folder = Path(tempfile.mkdtemp(prefix="gpu-repro-benchmark-"))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ |= {"GPU_REPRO_SSH_CONFIG": str(folder / "ssh_config"), "XDG_CONFIG_HOME": str(folder / "config")}
    (folder / "config/gpu-repro").mkdir(parents=True)
    settings = f'[p1]\npython = "{sys.executable}"\ncache = "{folder}/cache"\n'
    (folder / "config/gpu-repro/hosts.toml").write_text(settings)
    (folder / "repros").mkdir()
    for name, body in (("one", ARRAY), ("sleep", SLEEP)):
        (folder / f"repros/{name}.py").write_text(tests.repro_text(body))
    (folder / "pyproject.toml").touch()
    sshd = tests.Sshd(folder)
    try:
        measure(folder, sshd.processes, quick)
    finally:
        sshd.stop()
        shutil.rmtree(folder, ignore_errors=True)  # sshd may still be removing its own


def measure(folder: Path, processes: Callable[[], list[str]], quick: bool) -> None:
    connect(folder)  # the package goes there, and bytecode is written
    connected, replied = connect(folder)
    show("connect and bootstrap, in a new process", connected, 1.5)
    show("the same, and the first small repro's reply", replied)
    for fresh, count in ((False, CASES), (True, CASES // 4)):
        way = "a new interpreter" if fresh else "a fork"
        here, there = cases(folder, "embedded", fresh, count), cases(folder, "p1", fresh, count)
        show(f"one small repro here, {way} for each", here)
        show(f"one small repro over SSH, {way} for each", there)
        more = statistics.median(there) - statistics.median(here)
        print(f"{'over SSH it takes more by':56} {more:.3f} s   (wanted: at most 0.2 s)")
    show("Ctrl-C to nothing left on the host", [interrupted(folder, processes) for _ in range(REPEATS)], 1.0)
    if not quick:
        suite("p1")
        (here, count), (there, _) = suite("embedded"), suite("p1")
        print(f"the suite, {count} cases: here {here:.1f} s, over SSH {there:.1f} s, connecting included")
        print(f"{'over SSH a case takes more by':56} {(there - here) / count:.3f} s   (wanted: at most 0.2 s)")


if __name__ == "__main__":
    main()
