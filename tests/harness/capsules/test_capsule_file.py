"""Capsules from end to end: recorded on the emulator, replayed below a stand-in for the driver, judged, accepted.

Modules tested here: harness/capsules/replay.py, harness/cli/capsule_commands.py.
"""

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from harness import cli
from harness.capsules import capsule_file, replay
from harness.claim.repro_file import read
from harness.comparison import golden
from harness.errors import UsageError
from tests.harness.by_a_gpu import DRIVER, UUID

STAND_IN = Path(__file__).parents[2] / "launch" / "stand_in" / "stand_in_driver.py"

HEAD = """
import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import make_ptr
"""

TWO_LAUNCHES = """
@cute.kernel
def scale(x: cute.Tensor, nothing: cute.Pointer, by: cutlass.Float32):
    i, _, _ = cute.arch.thread_idx()
    if nothing.toint() == 0:
        x[i] = x[i] * by

@cute.jit
def host(x: cute.Tensor, nothing: cute.Pointer, by: cutlass.Float32):
    scale(x, nothing, by).launch(grid=(1, 1, 1), block=(32, 1, 1))

def run(by):
    x = torch.arange(32, dtype=torch.float32, device="cuda")
    null = make_ptr(cutlass.Float32, 0, cute.AddressSpace.gmem)
    host(x, null, by)
    first = x.clone()
    x[5] = 100
    host(x, null, by)
    return {"first": first, "sum": x.sum().reshape(1)}
"""

OUTSIDE = """
@cute.kernel
def outside(x: cute.Tensor, far: cutlass.Int32):
    x[far] = 1.0

@cute.jit
def host(x: cute.Tensor, far: cutlass.Int32):
    outside(x, far).launch(grid=(1, 1, 1), block=(1, 1, 1))

def run():
    x = torch.zeros(32, device="cuda")
    host(x, 2**30)
    return {"x": x}
"""

ADDS = """
@cute.kernel
def adds(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] + 1.0

@cute.jit
def host(x: cute.Tensor):
    adds(x).launch(grid=(1, 1, 1), block=(32, 1, 1))

def run():
    x = torch.zeros(32, device="cuda")
    host(x)
    return {"x": x}
"""

RACES = """
@cute.kernel
def races(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[0] = i * 1.0

@cute.jit
def host(x: cute.Tensor):
    races(x).launch(grid=(1, 1, 1), block=(32, 1, 1))

def run():
    x = torch.zeros(1, device="cuda")
    host(x)
    return {"x": x}
"""

POISON = "poison = true"
REPROS = {
    "two_launches": (TWO_LAUNCHES, "params = { by = [2, 3] }"),
    "outside": (OUTSIDE, 'outcome = "fault"'),
    "near": (OUTSIDE.replace("outside", "near").replace("2**30", "32"), 'outcome = "out_of_bounds"'),
    "races": (RACES, 'outcome = "race"'),
    "adds": (ADDS, ""),
    "hangs": (ADDS.replace("adds", "hangs"), 'outcome = "deadlock"'),
    "often": (ADDS.replace("adds", "often"), f"runs = 3\nallowed = {{ x = [{[1.0] * 32}] }}"),
    "poisoned": (ADDS.replace("adds", "poisoned").replace("zeros", "empty").replace("x[i] + 1.0", "1.0"), POISON),
    "refused": (ADDS.replace("x[i] = x[i] + 1.0", "x[i] = no_such_name"), ""),
    "raises": ("def run():\n    raise ValueError('so')", ""),
    "no_kernel": ("def run():\n    return {'x': np.zeros(3)}", ""),
}


def text_of(body: str, table: str) -> str:
    lines = ["/// script", "[tool.repro]", *table.splitlines(), "///"]
    return "\n".join([*(f"# {line}".rstrip() for line in lines), '"""It is so."""', HEAD, body, ""])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A project with repros, a capsule of them, and the line printed about each."""
    root = tmp_path_factory.mktemp("project")
    (root / "pyproject.toml").write_text("")
    (root / "repros").mkdir()
    for name, (body, table) in REPROS.items():
        (root / "repros" / f"{name}.py").write_text(text_of(body, table))
    said = []
    cases = capsule_file.find([root / "repros"])
    assert capsule_file.record(cases, root / "all.capsule", None, said.append) == 9
    return root, said


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory, needs) -> dict[str, str]:
    needs("cc", "build-essential")
    return runpy.run_path(str(STAND_IN))["build"](tmp_path_factory.mktemp("stand_in")) | {
        "STAND_IN_NAME": "NVIDIA H100"
    }


def replayed(stand_in, file: Path, out: Path, *options: str, **variables: str) -> tuple[int, list[str]]:
    """Exit status and lines of `python all.capsule -o out`, as on a machine that has nothing of this project."""
    script = out.parent / "elsewhere" / "any.capsule"
    script.parent.mkdir(exist_ok=True)
    shutil.copyfile(file, script)
    argv = [sys.executable, str(script), "-o", str(out), *options]
    done = subprocess.run(argv, env=os.environ | stand_in | variables, capture_output=True, text=True, timeout=600)
    return done.returncode, (done.stdout + done.stderr).strip().replace(str(out), "OUT").splitlines()


@pytest.fixture(scope="module")
def results(recorded, stand_in, tmp_path_factory):
    out = tmp_path_factory.mktemp("replay") / "out"
    status, lines = replayed(stand_in, recorded[0] / "all.capsule", out, "--timeout", "4", STAND_IN_HANG="hangs")
    return out, status, lines


@pytest.fixture
def project(recorded, tmp_path, monkeypatch):
    """A copy of the project to accept results in."""
    monkeypatch.delenv("CI", raising=False)
    shutil.copytree(recorded[0], tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def accepted(root: Path, out: Path, accept_differences: bool = False) -> tuple[dict, dict[str, str]]:
    said = []
    found = capsule_file.accept(out, root, accept_differences, said.append)
    return found, {text.partition(": ")[0]: text.partition(": ")[2] for text in said}


@pytest.mark.slow
def test_every_case_is_recorded_or_skipped_with_a_reason(recorded):
    assert recorded[1] == [
        "[1/12] adds: recorded, 1 launch",
        "[2/12] hangs: recorded, 1 launch",
        "[3/12] near: recorded, 1 launch",
        "[4/12] no_kernel: skipped: it launches no kernel",
        "[5/12] often: recorded, 3 launches",
        "[6/12] outside: recorded, 1 launch",
        "[7/12] poisoned: recorded, 2 launches",
        '[8/12] races: skipped: the claim states `outcome = "race"`, but only a checker sees that: a GPU reports no error',
        "[9/12] raises: skipped: error: ValueError: so",
        "[10/12] refused: skipped: the compiler rejects it, so there is nothing to replay",
        "[11/12] two_launches--by=2: recorded, 2 launches",
        "[12/12] two_launches--by=3: recorded, 2 launches",
    ]


@pytest.mark.slow
def test_a_capsule_names_no_folder_of_this_machine(recorded):
    with zipfile.ZipFile(recorded[0] / "all.capsule") as file:
        for name in file.namelist():
            assert str(recorded[0]).encode() not in file.read(name), name
        index = json.loads(file.read("capsule.json"))
        assert file.read("__main__.py") == Path(replay.__file__).read_bytes()
    two = next(case for case in index["cases"] if case["name"] == "two_launches--by=2")
    assert two["outputs"] == [
        {"name": "first", "dtype": "float32", "shape": [32]},
        {"name": "sum", "dtype": "float32", "shape": [1]},
    ]
    assert two["repro"] == "repros/two_launches.py" and two["arch"] == "sm_80"


@pytest.mark.slow
def test_replay_runs_every_case_whatever_became_of_the_others(results):
    out, status, lines = results
    assert (status, lines) == (
        0,
        [
            "[1/9] adds: ran",
            "[2/9] hangs: deadlock",
            "[3/9] near: ran",
            "[4/9] often: ran",
            "[5/9] outside: fault",
            "[6/9] poisoned: ran",
            "[7/9] poisoned--again: ran",
            "[8/9] two_launches--by=2: ran",
            "[9/9] two_launches--by=3: ran",
            "1 deadlock, 1 fault, 7 ran on NVIDIA H100: OUT",
        ],
    )
    table = json.loads((out / "two_launches--by=2.json").read_text())
    assert table["device"] == {
        "kind": "cuda",
        "name": "NVIDIA H100",
        "driver": DRIVER,
        "cuda": "13.0",
        "arch": "sm_90",
        "uuid": UUID,
    }
    assert [launch["as_predicted"] for launch in table["result"]["launches"]] == [True, True]
    assert json.loads((out / "outside.json").read_text())["result"]["name"] == "CUDA_ERROR_ILLEGAL_ADDRESS"


@pytest.mark.slow
def test_results_become_validated_goldens(project, results):
    found, said = accepted(project, results[0])
    assert found == {
        "validated": ["adds", "hangs", "often", "outside", "poisoned", "two_launches--by=2", "two_launches--by=3"],
        "skipped": ["near"],
    }
    assert said["near"].startswith("not judged: the GPU wrote outside of ")
    assert said["adds"] == "validated by replay (NVIDIA H100, sm_90, driver 580.65.06)"
    case = next(read(project / "repros" / "two_launches.py").cases())
    known = golden.read(golden.path_of(case))
    table = json.loads((results[0] / "two_launches--by=2.json").read_text())
    made = known.provenance
    assert known.validated and made["gpu"] == "NVIDIA H100" and made["date"] == table["date"]
    assert made["host"] == "replay" and made["compiler"]["name"] == "ours" and made["ptx_sha256"]
    assert list(known.outputs["first"].values()) == [2.0 * i for i in range(32)]
    assert known.outputs["sum"].values()[0] == 4 * (sum(range(32)) - 5) + 200
    records = [json.loads(line) for file in (project / "repros" / "records").glob("*.jsonl") for line in open(file)]
    assert {record["verdict"] for record in records} == {"pass"} and len(records) == 7
    assert golden.read(project / "repros/goldens/outside/default.json").outcome == "out_of_bounds"
    often = next(record for record in records if record["repro"] == "repros/often.py")
    assert often["histogram"] == [{"count": 3, "outputs": {"x": [1.0] * 32}}]


@pytest.mark.slow
def test_a_folder_of_results_that_comes_again_is_named(project, results):
    accepted(project, results[0])
    kept = {path: path.read_bytes() for path in (project / "repros").rglob("*.json*")}
    found, said = accepted(project, results[0])
    assert {status: len(names) for status, names in found.items()} == {"accepted before": 7, "skipped": 1}
    date = json.loads((results[0] / "adds.json").read_text())["date"]
    assert re.fullmatch(rf"this replay was accepted before: record \w+-\d+ of {re.escape(date)}", said["adds"])
    assert {path: path.read_bytes() for path in (project / "repros").rglob("*.json*")} == kept


@pytest.mark.slow
def test_results_that_name_an_emulator_validate_nothing(project, results, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(results[0], out)
    table = json.loads((out / "adds.json").read_text())
    table["device"]["name"] = "PTX emulator"
    for path in out.glob("*.json"):
        path.unlink()
    (out / "adds.json").write_text(json.dumps(table))
    found, said = accepted(project, out)
    assert found == {"skipped": ["adds"]}
    assert said["adds"] == "not accepted: its result names PTX emulator, a stand-in for a GPU"
    assert not (project / "repros/goldens").exists() and not (project / "repros/records").exists()


@pytest.mark.slow
def test_a_gpu_that_leaves_an_element_as_it_was_shows_it_by_the_second_recording(project, recorded, stand_in, tmp_path):
    path = project / "repros/poisoned.py"
    path.write_text(path.read_text().replace("x[i] = 1.0", "x[i // 2] = 1.0"))
    assert capsule_file.record(capsule_file.find([path]), project / "one.capsule", None, print) == 2
    out = tmp_path / "out"
    assert replayed(stand_in, project / "one.capsule", out)[0] == 0
    found, said = accepted(project, out)
    assert found == {"failed": ["poisoned"]}
    assert said["poisoned"].startswith("failed: not written\n    `x` differs from a run over other contents of new mem")
    (out / "poisoned--again.json").unlink()
    assert accepted(project, out)[1]["poisoned"].startswith("not replayed: its second run, over other contents of")


@pytest.mark.slow
def test_a_gpu_that_disagrees_is_listed_and_believed_only_when_asked(project, recorded, stand_in, tmp_path):
    accept = ["pytest", "-q", "-p", "no:cacheprovider", "repros/adds.py", "--update-goldens"]
    subprocess.run([sys.executable, "-m", *accept], cwd=project, check=True, capture_output=True, timeout=600)
    out = tmp_path / "out"
    assert replayed(stand_in, project / "all.capsule", out, "-k", "adds", STAND_IN_WRONG="adds")[0] == 0
    found, said = accepted(project, out)
    assert found == {"disagreement": ["adds"]}
    assert said["adds"].splitlines()[:4] == [
        "disagreement: differs from the golden",
        "    `x` differs from the golden in 1 of 32 elements (bits)",
        "        index  where                  expected        got",
        "        [0]    block 0 warp 0 lane 0  0x3f800000 1.0  0x3f800040 1.0000076293945312",
    ]
    assert "hardware contradicts it" in said["adds"]
    path = project / "repros/goldens/adds/default.json"
    assert not golden.read(path).validated
    assert accepted(project, out, accept_differences=True)[0] == {"validated": ["adds"]}
    assert golden.read(path).validated and golden.read(path).outputs["x"].raw[0] == 0x3F800040


def only(out: Path, to: Path, name: str, **changes) -> Path:
    """A copy of a folder of results that keeps the result of one case, changed."""
    shutil.copytree(out, to, ignore=lambda _, names: [n for n in names if n.endswith(".json") and n != f"{name}.json"])
    table = json.loads((to / f"{name}.json").read_text())
    (to / f"{name}.json").write_text(json.dumps(table | changes))
    return to


@pytest.mark.slow
def test_a_timeout_does_not_judge_a_claim_of_no_deadlock(project, results, tmp_path):
    ended = json.loads((results[0] / "hangs.json").read_text())["result"]
    assert (ended["name"], ended["limit_s"]) == (replay.TIMEOUT, 4.0)
    found, said = accepted(project, only(results[0], tmp_path / "out", "adds", result=ended))
    assert found == {"skipped": ["adds"]} and said["adds"] == "not replayed: did not end within 4 s"
    assert not (project / "repros/records").exists()


@pytest.mark.slow
def test_a_replay_that_is_accepted_after_its_claim_was_forgotten_counts(project, results, tmp_path, capsys):
    """The clock of the GPU's machine does not matter."""
    out = only(results[0], tmp_path / "out", "adds", date="2026-01-01T00:00:00Z")
    assert accepted(project, out)[0] == {"validated": ["adds"]}
    assert cli.main(["record", "forget", "adds", "--host", "replay"]) == 0
    capsys.readouterr()
    assert accepted(project, out)[0] == {"validated": ["adds"]}
    assert accepted(project, out)[0] == {"accepted before": ["adds"]}
    cli.main(["record", "status"])
    assert ": 1 validated\n" in capsys.readouterr().out
    records = [json.loads(line) for file in (project / "repros/records").glob("*.jsonl") for line in open(file)]
    passes = [record for record in records if record["verdict"] == "pass"]
    assert [one["replayed"] for one in passes] == ["2026-01-01T00:00:00Z"] * 2
    assert all(one["date"] > "2026-01-02" for one in passes)


@pytest.mark.parametrize(
    "predicted, limit_s, is_final", [("outputs", 60, False), ("deadlock", 5, False), ("deadlock", 10, True)]
)
def test_only_a_timeout_that_was_predicted_and_no_shorter_is_final(predicted, limit_s, is_final):
    case = {"predicted": predicted, "launches": [{"regions": {"0": {"size_bytes": 1000}}}]}
    result = {"outcome": "deadlock", "name": replay.TIMEOUT, "limit_s": limit_s}
    assert replay.is_final(case, result, 10) is is_final
    assert replay.is_final(case, {"outcome": "deadlock", "name": "CUDA_ERROR_LAUNCH_TIMEOUT"}, 10)


def test_a_disk_that_takes_nothing_is_one_sentence(project, stand_in, tmp_path):
    out = tmp_path / "out"
    (out / "adds.json").mkdir(parents=True)  # a file cannot take its place
    status, lines = replayed(stand_in, project / "all.capsule", out, "-k", "adds")
    assert (status, lines) == (2, ["replay: cannot write into OUT: Is a directory"])
    assert sorted(path.name for path in out.iterdir()) == ["adds.bin", "adds.json", "replayed.capsule"]


@pytest.mark.slow
def test_a_stale_capsule_is_refused_by_name(project, results):
    (project / "repros" / "adds.py").write_text(text_of(ADDS + "\n# changed", ""))
    (project / "repros" / "outside.py").unlink()
    (project / "repros" / "often.py").write_text(text_of(ADDS, "run = 3"))
    found, said = accepted(project, results[0])
    assert found["stale"] == ["adds", "often", "outside"]
    assert said["often"].startswith("stale: repros/often.py cannot be read: repros/often.py:3:3: UNKNOWN_KEY\n")
    assert said["adds"] == "stale: repros/adds.py has changed since it was recorded; record and replay it again"
    assert said["outside"] == "stale: repros/outside.py is gone"
    assert not (project / "repros/goldens/adds").exists()


@pytest.mark.slow
def test_a_repro_that_moved_since_it_was_recorded_is_judged_where_it_is(project, results):
    (project / "repros/warp").mkdir()
    (project / "repros/adds.py").rename(project / "repros/warp/adds.py")
    found, _ = accepted(project, results[0])
    assert "adds" in found["validated"]
    assert golden.read(project / "repros/warp/goldens/adds/default.json").validated
    assert list((project / "repros/warp/records").glob("*.jsonl"))


def test_equal_names_begin_with_their_folders(tmp_path):
    for folder in ("warp", "loops"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "first.py").write_text(text_of("def run(n):\n    return {}", "params = { n = [1] }"))
    (tmp_path / "warp/second.py").write_text(text_of("def run():\n    return {}", ""))
    cases = capsule_file.find([tmp_path])
    assert capsule_file.names_of(cases) == ["loops.first--n=1", "warp.first--n=1", "second"]


def test_goldens_are_not_accepted_in_ci(project, results, monkeypatch, capsys):
    monkeypatch.setenv("CI", "true")
    assert cli.main(["replay", "accept", str(results[0])]) == 2
    assert capsys.readouterr().err.startswith("goldens are not accepted where CI is set: ")


@pytest.mark.slow
def test_a_crash_is_reported_and_the_rest_goes_on(project, stand_in, tmp_path):
    file, out = project / "all.capsule", tmp_path / "out"
    status, lines = replayed(stand_in, file, out, "-k", "two", STAND_IN_CRASH="scale")
    assert status == 1 and lines == [
        "[1/2] two_launches--by=2: crash",
        "[2/2] two_launches--by=3: crash",
        "2 crash on NVIDIA H100: OUT",
    ]
    found, said = accepted(project, out)
    assert found == {"skipped": ["two_launches--by=2", "two_launches--by=3"]}
    assert said["two_launches--by=2"] == "not replayed: it died: 86" and not (project / "repros/records").exists()


def test_a_machine_without_a_gpu(recorded, stand_in, tmp_path):
    status, lines = replayed(stand_in, recorded[0] / "all.capsule", tmp_path / "out", STAND_IN_FAIL="cuInit=100")
    why = "no GPU that can be used: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected (cuInit)"
    assert (status, lines) == (3, [why])


@pytest.mark.parametrize(
    "damage, why",
    [
        (lambda data: b"", "is not a capsule, or only part of one: File is not a zip file"),
        (lambda data: data[: len(data) // 2], "is not a capsule, or only part of one: File is not a zip file"),
        (lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:], "is damaged"),
        (lambda data: b"PK\5\6" + bytes(18), 'is not a capsule, or only part of one: "There is no item'),
    ],
)
def test_a_damaged_capsule_is_one_message(recorded, tmp_path, damage, why, capsys):
    path = tmp_path / "bad.capsule"
    path.write_bytes(damage((recorded[0] / "all.capsule").read_bytes()))
    assert replay.main([str(path), "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"replay: {path} ") and why in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "damage, why",
    [
        (lambda out: (out / "adds.bin").write_bytes(b"x"), "its data file does not have the sha256 it names"),
        (lambda out: (out / "adds.json").write_text("{"), "adds.json is not a result of a replay"),
        (lambda out: (out / "replayed.capsule").unlink(), "it has no replayed.capsule"),
        (lambda out: [file.unlink() for file in out.glob("*.json")], "holds no results"),
    ],
)
def test_damaged_results_are_refused(project, results, tmp_path, damage, why):
    shutil.copytree(results[0], tmp_path / "out")
    damage(tmp_path / "out")
    with pytest.raises(capsule_file.Refused, match=why):
        accepted(project, tmp_path / "out")
    assert not (project / "repros" / "goldens").exists()


def test_a_recording_that_is_stopped_leaves_nothing(tmp_path):
    def stop(line: str) -> None:
        raise KeyboardInterrupt

    (tmp_path / "plain.py").write_text(text_of("def run():\n    return {}", "").replace(HEAD, ""))
    with pytest.raises(KeyboardInterrupt):
        capsule_file.record(capsule_file.find([tmp_path]), tmp_path / "one.capsule", None, stop)
    assert [path.name for path in tmp_path.iterdir()] == ["plain.py"]


def test_k_takes_pytests_expressions(recorded):
    folder = recorded[0] / "repros"
    names = [capsule_file.name_of(case) for case in capsule_file.find([folder], "two and by=3 or adds")]
    assert names == ["adds", "two_launches--by=3"]
    with pytest.raises(UsageError, match="-k and: "):
        capsule_file.find([folder], "and")


@pytest.mark.slow
def test_a_recording_made_again_has_the_same_bytes(recorded, tmp_path):
    def blobs(path: Path) -> set[str]:
        with zipfile.ZipFile(path) as file:
            return {name for name in file.namelist() if name.startswith("blobs/")}

    again = tmp_path / "again.capsule"
    capsule_file.record(capsule_file.find([recorded[0] / "repros"], "two"), again, None, lambda line: None)
    assert blobs(again) and blobs(again) <= blobs(recorded[0] / "all.capsule")
    assert all(hashlib.sha256(zipfile.ZipFile(again).read(name)).hexdigest() == name[6:] for name in blobs(again))


def test_a_pointer_in_memory_changes_as_a_whole():
    """Some of its new bytes may equal its old bytes by chance."""
    region = object.__new__(replay.Region)
    region.known = np.frombuffer(bytes(8) + bytes.fromhex("80123456789a0000") + bytes(8), np.uint8).copy()
    now = region.known.copy()
    now[8:12] = [0x80, 0x12, 1, 2]
    region.read = lambda at, size: now[at : at + size].copy()
    ((at, data, differs),) = region.changes([8])
    assert (at, data.tobytes().hex(), differs.all()) == (8, "80120102789a0000", True)
    assert region.changes([8]) == []


HOPPER = (
    "cluster/cluster_barrier_that_one_block_never_reaches_deadlocks",
    "cluster/dsmem_store_is_seen_after_the_cluster_barrier",
    "cluster/multicast_parts_make_the_whole_tile",
    "launch/pdl_wait_sees_what_the_kernel_before_wrote",
    "launch/setmaxnreg_leaves_values_where_they_are",
    "mma/wgmma_descriptor_reads_each_swizzle",
    "tma/tma_reduce_adds_the_boxes_of_all_blocks",
)


@pytest.mark.slow
def test_claims_of_hopper_replay(stand_in, tmp_path, monkeypatch):
    """Clusters, tensor maps, dependent launches: what a launch needs of the driver is in the capsule."""
    monkeypatch.delenv("CI", raising=False)
    root, ours = tmp_path / "project", Path(__file__).parents[3] / "repros"
    for name in HOPPER:
        folder, claim = name.split("/")
        shutil.copytree(ours / folder / "goldens" / claim, root / "repros" / folder / "goldens" / claim)
        shutil.copyfile(ours / f"{name}.py", root / "repros" / f"{name}.py")
    (root / "pyproject.toml").write_text("")
    monkeypatch.chdir(root)
    said = []
    assert capsule_file.record(capsule_file.find([root / "repros"]), root / "all.capsule", None, said.append) == 12, (
        said
    )
    status, lines = replayed(stand_in, root / "all.capsule", tmp_path / "out", "--timeout", "20")
    assert (status, lines[-1]) == (0, "1 deadlock, 11 ran on NVIDIA H100: OUT"), lines
    _, texts = accepted(root, tmp_path / "out")
    assert len(texts) == 12 and {text.partition(" (")[0] for text in texts.values()} == {"validated by replay"}, texts
