"""`--compiler nvidia==4.6.3`: a release has its own environment, made once, and a column of a table."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import judge
from harness.errors import UsageError
from harness.host import hosts
from harness.host.environment import own_wheel, releases, remote_env
from harness.host.hosts import Host, HostError
from harness.host.settings import Settings
from harness.reporting import release_table
from harness.run.transport import Job, LinkDown, Local
from harness.session import Session

JOB = Job("r.py", "", {}, "emulator", 5.0)
NUMPY_ONLY = "import numpy as np\ndef run(): return {'out': np.arange(3)}\ndef expected(): return run()"


@pytest.mark.parametrize("text", ["ours", "nvidia", "nvidia==4.6.3", "nvidia==4.8.0.dev0"])
def test_names_of_compilers(text):
    assert releases.split(text) == (text.split("=")[0], text.partition("==")[2])


@pytest.mark.parametrize("text", ["nvidia==", "nvidia==4", "nvidia==4.6; x", "ours==1.0", "embedded", "nvida", ""])
def test_names_that_no_compiler_has(text, tmp_path):
    with pytest.raises(UsageError, match="there are ours, nvidia and its releases, as in nvidia==4.6.3"):
        Session(tmp_path, ["embedded"], compiler=[text])


def test_goldens_are_not_made_with_a_release(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(UsageError, match="--update-goldens is refused with --compiler nvidia"):
        Session(tmp_path, ["embedded"], update=True, compiler=["ours", "nvidia==4.6.3"])


def test_the_release_joins_the_packages_of_this_process():
    needs = releases._beside([*own_wheel.needs(), "nvidia-cutlass-dsl", "a-package-that-is-not-here>=2"])
    environment = releases.environment_of("nvidia==4.6.3", needs)
    found = dict(need.split("==") for need in environment["requires"] if "==" in need)
    assert found["nvidia-cutlass-dsl"] == "4.6.3"
    assert found["numpy"] == releases._version("numpy")
    assert "a-package-that-is-not-here>=2" in environment["requires"]
    other = releases.environment_of("nvidia==4.5.3", needs)
    assert remote_env.environment_name(environment) != remote_env.environment_name(other)


def test_on_a_host_the_release_joins_the_needs_of_the_repro(write):
    (case,) = write(NUMPY_ONLY).cases()
    asked = []

    class Elsewhere:
        def run(self, job):
            asked.append(job)
            raise LinkDown("seen")

    outcome = judge.run(Elsewhere(), case, Host("p1", "emulator"), compiler="nvidia==4.6.3")
    assert asked[0].compiler == outcome.compiler == "nvidia"
    assert asked[0].needs[-2:] == ("nvidia-cutlass-dsl==4.6.3", "apache-tvm-ffi")


@pytest.mark.parametrize("key", ["python", "workdir"])
def test_a_host_with_an_environment_of_somebody_has_its_own_release(key):
    host = dataclasses.replace(Host("p1", "unknown"), settings=Settings(**{key: "~/x"}))
    with pytest.raises(HostError, match=f"fix: remove `{key}` of this host, or run `--compiler nvidia`"):
        hosts.under(host, "nvidia==4.6.3")
    assert hosts.under(host, "nvidia").compiler == "nvidia"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gpu-repro"


def test_an_environment_that_could_not_be_made_is_asked_for_once(cache, monkeypatch):
    made = []

    def make(uv, environment, path, python, note):
        made.append(path)
        raise remote_env.Refused("there is no nvidia-cutlass-dsl 9.9.9")

    monkeypatch.setattr(remote_env, "_make", make)
    monkeypatch.setattr(remote_env, "find_uv", lambda cache: "uv")
    transport = releases.Released("nvidia==9.9.9")
    why = "^nvidia==9.9.9 has no environment here: there is no nvidia-cutlass-dsl 9.9.9$"
    for _ in range(2):
        with pytest.raises(LinkDown, match=why):
            transport.run(JOB)
    assert len(made) == 1


@pytest.mark.parametrize("lost", ["bin/python", "lib/python3.11/site-packages/cutlass/cute.py"])
def test_an_environment_that_lost_a_file_is_made_again(cache, monkeypatch, lost):
    made = []

    def make(uv, environment, path, python, note):
        made.append(Path(path))
        info = Path(path, "lib/python3.11/site-packages/nvidia_cutlass_dsl-4.6.3.dist-info")
        for file in (Path(python), info.with_name("cutlass") / "cute.py", info / "RECORD"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o755)
        (info / "RECORD").write_text('cutlass/cute.py,sha256=x,0\n"cutlass/__pycache__/cute.cpython-311.pyc",,\n')

    monkeypatch.setattr(remote_env, "_make", make)
    monkeypatch.setattr(remote_env, "find_uv", lambda cache: "uv")
    notes = []
    for wanted in (1, 1, 2):
        command = releases.Released("nvidia==4.6.3", notes.append).start(("numpy",))
        assert len(made) == wanted
        if wanted == 1 and len(notes) == 0:
            notes.append("whole")
        elif wanted == 1:
            (made[0] / lost).unlink()
    assert command.argv == [str(made[0] / "bin/python")]
    assert notes[-1] == f"nvidia==4.6.3: its environment lacks {lost} and is made again"


@pytest.mark.slow
def test_ctrl_c_while_uv_works_leaves_nothing(cache, write):
    uv = cache.parent / ".local/bin/uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(
        '#!/bin/sh\nif [ "$1" = --version ]; then echo "uv 0.13.8"; exit; fi\nif [ "$1" = venv ]; then for p; do :; done; mkdir -p "$p"; exit; fi\n'
        f"echo $$ > {cache.parent}/pid\nexec sleep 60\n"
    )
    uv.chmod(0o755)
    path = write(NUMPY_ONLY).path
    code = "import sys; from harness import cli; sys.exit(cli.main(sys.argv[1:]))"
    argv = [sys.executable, "-c", code, "run", str(path), "--compiler", "nvidia==4.6.3"]
    variables = {**os.environ, "HOME": str(cache.parent)}
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=variables)
    pid = cache.parent / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=600)[1]
    assert process.returncode == 130 and said.endswith("interrupted: nothing is left running, no golden was written\n")
    assert not Path("/proc", pid.read_text().strip()).exists()
    assert [path.suffix for path in (cache / "envs").iterdir()] == [".lock"]


@pytest.mark.slow
def test_every_release_is_a_column(repros, pytester, monkeypatch):
    monkeypatch.setattr(releases, "Released", lambda compiler, note: Local(note))
    repros(one=NUMPY_ONLY, two=NUMPY_ONLY.replace("3)", "n)").replace("def run()", "def run(n)").replace("n)}", "n)}"))
    repros(two=("import numpy as np\ndef run(n): return {'out': np.arange(n)}", "params = {n = [1, 2]}"))
    assert pytester.runpytest_inprocess("repros", "--update-goldens").ret == 0
    table = pytester.path / "table.md"
    table.write_text(f"# Ours\n{release_table.BEGIN}\nold\n{release_table.END}\nafter\n")
    options = ("--compiler", "nvidia==4.5.3", "--compiler", "nvidia==4.6.3", "--release-table", str(table))
    result = pytester.runpytest_inprocess("repros", "-v", *options)
    result.assert_outcomes(passed=6)
    ran = re.findall(r"::(embedded \S+?)(?:::|\s)", result.stdout.str())
    assert [name.split("==")[1] for name in ran[:6]] == ["4.5.3"] * 3 + ["4.6.3"] * 3
    text = table.read_text()
    assert text.startswith("# Ours\n") and text.endswith("\nafter\n") and "old" not in text
    assert "2 claims, 6 cases in all" in text
    assert "`pass` under every release, 2 claims: one, two." in text


def report(claim: str, compiler: str, outcome: str, verdict: str, brief: str = "", reason: str = "", **detail) -> dict:
    record = {"repro": f"repros/{claim}.py", "outcome": outcome, "verdict": verdict, "reason": reason, "detail": detail}
    return {"record": record, "compiler": compiler, "brief": brief}


def test_the_table_shows_how_each_ends_and_what_changed():
    old, new = "nvidia==4.3.5", "nvidia==4.4.2"
    text = release_table.markdown([old, new], [
        report("early", old, "rejected", "fail", "no such thing", **{"class": "DSLRuntimeError", "id": None}),
        report("early", new, "outputs", "pass"),
        *(report("named", release, "rejected", "pass", id="UNSUP_X") for release in (old, new)),
        *(report("cases", release, "outputs", "pass") for release in (old, new)),
        report("cases", old, "outputs", "fail", reason="CHECK-PTX"),
        report("cases", new, "outputs", "fail", reason="differs from the golden"),
        report("late", old, "outputs", "fail", reason="not rejected"), report("late", new, "rejected", "pass", id="A"),
        report("gone", old, "error", "fail", "error: AttributeError: no | `x`"),
        report("gone", new, "infra", "infra", "no uv"),
        *(report("in_quadrants", release, "skipped", "skip", reason="not its language") for release in (old, new)),
    ])  # fmt: skip
    assert text.startswith("5 claims, 12 cases in all.") and "in_quadrants" not in text
    assert "| claim | 4.3.5 | 4.4.2 |" in text
    assert "| early | **rejected DSLRuntimeError** | pass |" in text
    assert "| cases | **CHECK-PTX** 1, pass 1 | **differs** 1, pass 1 |" in text
    assert "| late | **accepted** | rejected A |" in text
    assert "| gone | **error AttributeError** | not run |" in text
    assert "`rejected UNSUP_X` under every release, 1 claims: named." in text
    assert "| as the claim and its header state | 2 | 4 |" in text and "| not run | 0 | 1 |" in text
    assert "**rejected DSLRuntimeError** became pass: early" in text
    assert "- **error AttributeError**: `error: AttributeError: no \\| 'x'`: gone (4.3.5)" in text
    assert "- not run: `no uv`: gone (4.4.2)" in text


@pytest.mark.slow
def test_a_release_really_runs(write, tmp_path, needs):
    """The release that is installed, in its own environment: uv need not fetch the files that it has."""
    needs("cc", "gcc libc6-dev")
    installed = releases._version("nvidia-cutlass-dsl")
    (case,) = write(RUNS_ON_NVIDIA).cases()
    run = Session(tmp_path, ["embedded"], compiler=[f"nvidia=={installed or '4.8.1'}"])
    try:
        host, outcome = run.run(case, run.hosts()[0], None, False)
    finally:
        run.close()
    if "has no environment here" in outcome.text:
        (pytest.fail if judge.in_ci() else pytest.skip)(outcome.text)
    assert outcome.kind == "outputs", outcome.text
    assert outcome.outputs["out"].values().tolist() == [2 * n for n in range(32)]
    assert outcome.facts["compiler"] == {"name": "nvidia", "version": installed or "4.8.1"}


RUNS_ON_NVIDIA = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
@cute.kernel
def kernel(out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    out[tid] = tid * 2
@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))
def run():
    out = torch.zeros(32, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}
"""


def test_pins_come_before_the_versions_of_this_process():
    pinned = releases.Released("ours", pins=["numpy==2.0.0", "tiny==1.0"])
    found = dict(need.split("==") for need in pinned.needs(["tiny>=0.5", "torch"]) if "==" in need)
    assert (found["numpy"], found["tiny"]) == ("2.0.0", "1.0") and "nvidia-cutlass-dsl" not in found
    assert found["torch"] == releases._version("torch").partition("+")[0]
    environment = releases.environment_of("ours", pinned.needs([]))
    assert not any(need.startswith("nvidia-cutlass-dsl") for need in environment["requires"])
    # NVIDIA's compiler without a release is the one of this process. A pin may name it too.
    (compiler,) = (need for need in releases.Released("nvidia", pins=["x==1"]).needs([]) if "cutlass" in need)
    assert compiler == f"nvidia-cutlass-dsl=={releases._version('nvidia-cutlass-dsl')}"


@pytest.mark.parametrize(
    ("need", "gets"),
    [("numpy>=1", "numpy=={here}"), ("numpy", "numpy=={here}"), ("numpy[a,b]>=1", "numpy[a,b]=={here}"),
     ("numpy<1", "numpy<1"), ("numpy>=999", "numpy>=999"), ("numpy<2, >1 nonsense", "numpy<2, >1 nonsense")],
)  # fmt: skip
def test_a_block_that_does_not_take_the_version_of_this_process_gets_its_own(need, gets):
    assert releases._beside(["numpy>=2.0", need], "ours") == [gets.format(here=releases._version("numpy"))]
