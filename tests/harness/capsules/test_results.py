"""Results of a replay come from other machines: a wrong one is refused by name before any of it is judged."""

import copy
import hashlib
import json
import os
import resource
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from harness.capsules import replay, results
from tests.harness.by_a_gpu import UUID
from tests.harness.capsules import hostile_results

PTX = b".version 8.0"
SHA = hashlib.sha256(PTX).hexdigest()
LAUNCH = {
    "ptx": SHA, "entry": "adds", "grid": [1, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "smem_bytes": 0,
    "flags": 0, "params": [{"bytes": "00" * 8, "pointers": [[0, 0, 0]]}],
    "regions": {"0": {"size_bytes": 16, "residue": 0, "label": "x"}}, "pointers": [], "tensor_maps": [],
    "writes": {"0": [{"at": 0, "size": 16, "fill": 0}]},
}  # fmt: skip
CASE = {
    "name": "adds", "repro": "repros/adds.py", "case": "", "claim": "It is so.", "repro_sha256": SHA, "arch": "sm_80",
    "predicted": "outputs", "outputs": [], "compiler": {"name": "ours"}, "versions": {"python": "3.11.7"},
    "kernels": [{"name": "adds", "arch": "sm_80", "ptx_sha256": SHA}], "launches": [LAUNCH],
}  # fmt: skip
DATA = bytes(range(5))
CHANGE = {"at": 12, "size": 4, "bytes": 0, "mask": 4}
RESULT = {
    "schema": 1, "name": "adds", "repro": "repros/adds.py", "case": "", "repro_sha256": SHA,
    "device": {"kind": "cuda", "name": "NVIDIA H100", "driver": "570.1", "cuda": "13.0", "arch": "sm_90", "uuid": UUID},
    "date": "2026-11-20T17:01:00Z", "data_sha256": hashlib.sha256(DATA).hexdigest(),
    "result": {
        "outcome": "ran", "launches": [{"changes": {"0": [CHANGE]}, "as_predicted": True, "wrote_outside": []}],
    },
}  # fmt: skip
LAUNCHED = ("result", "launches", 0)
CHANGED = (*LAUNCHED, "changes", "0", 0)
HOSTILE = [  # of a result: the place, the value, the message
    (("result", "outcome"), "banana", "result.outcome must be one of ran, fault, trap, deadlock, skipped, error, crash, got 'banana'"),
    (("result", "outcome"), [1], "result.outcome must be one of ran, fault, trap, deadlock, skipped, error, crash, got a list of 1"),
    (("result", "outcome"), "fault", "it has 1 launches of 1, and its outcome is fault"),
    (("result", "launches"), [], "it has 0 launches of 1, and its outcome is ran"),
    (("result",), {"launches": []}, "result.outcome is missing"),
    (("device", "kind"), "emulator", "device.kind must be one of cuda, got 'emulator'"),
    (("device", "name"), "", "device.name must be the name of a GPU, got ''"),
    (("device", "driver"), None, "device.driver must be a version, got nothing"),
    (("device",), {"kind": "cuda", "name": "H100", "driver": "1"}, "device.arch is missing"),
    (("date",), "9999-99-99T99:99:99Z", "date must be a time such as 2026-11-20T17:01:00Z, and not years from now, got '9999-99-99T99:99:99Z'"),
    (("name",), "other", "the capsule in its folder has no such case"),
    (("data_sha256",), "0" * 64, "its data file does not have the sha256 it names"),
    ((*LAUNCHED, "wrote_outside"), 1, "result.launches[0].wrote_outside must be a list of at most 100000, got 1"),
    ((*LAUNCHED, "wrote_outside"), [1], "result.launches[0].wrote_outside[0] must be a text of at most 1000 characters, got 1"),
    ((*LAUNCHED, "changes"), {"77": []}, "it names region 77, which its launch does not reach"),
    ((*CHANGED, "size"), 5, "it names bytes 12 to 17 of region 0, which has 16"),
    ((*CHANGED, "size"), 1 << 60, f"it names bytes 12 to {12 + (1 << 60)} of region 0, which has 16"),
    ((*CHANGED, "at"), -5, "result.launches[0].changes.0[0].at must be a whole number from 0 to 4611686018427387904, got -5"),
    ((*CHANGED, "bytes"), 2, "it names byte 6 of a data file of 5"),
    ((*CHANGED, "mask"), 5, "it names byte 6 of a data file of 5"),
]  # fmt: skip
PREDICTED = {**CASE, "launches": [{**LAUNCH, "predicted": {"0": [{"at": 12, "size": 4, "bytes": SHA}]}}]}
DAMAGED = [  # of the capsule's case
    (("compiler",), 5, "capsule.compiler must be a table of at most 100, got 5"),
    (("launches", 0), {k: v for k, v in LAUNCH.items() if k != "ptx"}, "capsule.launches[0].ptx is missing"),
    (("launches", 0, "regions"), {}, "the capsule names region 0, which its launch does not reach"),
    (("launches", 0, "writes", "0", 0), {"at": 0, "size": 1}, "the capsule writes region 0 with no bytes"),
    (("launches", 0, "writes", "0", 0, "size"), 17, "the capsule names bytes 0 to 17 of region 0, which has 16"),
    (("launches", 0, "pointers"), [[0, 9, 0, 0]], "the capsule names bytes 9 to 17 of region 0, which has 16"),
    (("launches", 0, "params", 0, "bytes"), "00", "the capsule has a pointer after the end of its parameter"),
    (("kernels",), [{}], "capsule.kernels[0].name is missing"),
]  # fmt: skip


def changed(table: dict, place: tuple, value: object) -> dict:
    table = copy.deepcopy(table)
    part = table
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return table


def written(out: Path, result: dict = RESULT, cases: object = (CASE,)) -> Path:
    with zipfile.ZipFile(out / results.KEPT_CAPSULE, "w") as file:
        file.writestr("capsule.json", json.dumps({"schema": replay.SCHEMA, "cases": cases}))
        file.writestr(f"blobs/{SHA}", PTX)
    (out / "adds.bin").write_bytes(DATA)
    (out / "adds.json").write_text(json.dumps(result))
    return out


def refusal(out: Path) -> str:
    with pytest.raises(results.Refused) as caught:
        results.read(out, out)
    return str(caught.value).partition("/adds.json is not a result of a replay, or is damaged: ")[2] or str(
        caught.value
    )


def test_a_result_is_read(tmp_path):
    _, (one,) = results.read(written(tmp_path), tmp_path)
    assert one.case == CASE and one.device == RESULT["device"] and one.data == DATA and one.date == RESULT["date"]
    assert one.result == RESULT["result"] and results.outside(one) == ""
    outside = changed(RESULT, (*LAUNCHED, "wrote_outside"), ["x", "y", "x"])
    assert results.outside(results.read(written(tmp_path, outside), tmp_path)[1][0]) == "x, y"


@pytest.mark.parametrize("place, value, text", HOSTILE, ids=[str(row[:2])[:60] for row in HOSTILE])
def test_wrong_results_are_refused(tmp_path, place, value, text):
    assert refusal(written(tmp_path, changed(RESULT, place, value))) == text


@pytest.mark.parametrize("place, value, text", DAMAGED, ids=[str(row[:2])[:60] for row in DAMAGED])
def test_wrong_cases_of_a_capsule_are_refused(tmp_path, place, value, text):
    assert refusal(written(tmp_path, cases=[changed(CASE, place, value)])) == text


def test_a_launch_that_changed_nothing_is_not_as_predicted(tmp_path):
    results.read(written(tmp_path, cases=[PREDICTED]), tmp_path)
    believed = changed(RESULT, (*LAUNCHED, "changes"), {})
    said = "launch 1 is marked as predicted, but changed nothing of region 0"
    assert refusal(written(tmp_path, believed, [PREDICTED])) == said
    results.read(written(tmp_path, changed(believed, (*LAUNCHED, "as_predicted"), False), [PREDICTED]), tmp_path)
    results.read(written(tmp_path, believed), tmp_path)  # nothing was predicted


@pytest.mark.parametrize("cases", [5, ["x"], [{}], [CASE | {"name": "../x"}], [CASE | {"name": [1]}], [CASE, CASE]])
def test_a_capsule_without_cases_of_a_name_is_refused(tmp_path, cases):
    path = str(tmp_path / results.KEPT_CAPSULE)
    assert "is not a capsule, or only part of one: " in refusal(written(tmp_path, cases=cases))


def test_the_files_of_the_playback_device(tmp_path):
    capsule, (one,) = results.read(written(tmp_path), tmp_path)
    folder = tmp_path / "playback"
    folder.mkdir()
    results.unpack(capsule, one, folder)
    table = json.loads((folder / "result.json").read_text())
    (row,) = table["launches"][0]["changes"]["0"]
    assert (row["at"], row["size"], table["arch"]) == (12, 4, "sm_80")
    assert [(folder / row[key]).read_bytes() for key in ("bytes", "mask")] == [DATA[:4], DATA[4:]]
    assert json.loads((folder / "launches.jsonl").read_text()) == LAUNCH
    one.case["launches"][0]["writes"]["0"] = [{"at": 0, "size": 16, "bytes": "0" * 64}]
    with pytest.raises(replay.BadCapsule, match="^the capsule is damaged: .*There is no item named 'blobs/0000"):
        results.unpack(capsule, one, folder)


# --- how much a file of results may be -------------------------------------------------------------------------------


def bomb(path: Path, name: str, size_bytes: int, how: int = zipfile.ZIP_DEFLATED) -> Path:
    """A file of results with a member of zeros."""
    with zipfile.ZipFile(path, "w", how) as file:
        with file.open(name, "w", force_zip64=True) as member:
            for _ in range(size_bytes >> 20):
                member.write(bytes(1 << 20))
    return path


def lying(path: Path, name: str, size_bytes: int, says_bytes: int) -> Path:
    """The same file, but its directory names another size of the member."""
    bomb(path, name, size_bytes)
    data = path.read_bytes()
    at = data.rindex(b"PK\1\2")
    return path.write_bytes(data[: at + 24] + says_bytes.to_bytes(4, "little") + data[at + 28 :]) and path


MANY = 64 << 20
BOMBS = {
    "another name": (lambda path: bomb(path, "x.bin", MANY), "it has no replayed.capsule"),
    "the capsule": (
        lambda path: bomb(path, results.KEPT_CAPSULE, MANY),
        "would be far larger unpacked than it is here",
    ),
    "one that lies": (
        lambda path: lying(path, results.KEPT_CAPSULE, MANY, 9),
        "replayed.capsule is damaged: Bad CRC-32",
    ),
    "another method": (lambda path: bomb(path, results.KEPT_CAPSULE, MANY, zipfile.ZIP_BZIP2), "would be far larger"),
    "what they say": (lambda path: bomb(path, "a.json", MANY), "it has no replayed.capsule"),
}


@pytest.mark.parametrize("make, text", BOMBS.values(), ids=BOMBS)
def test_large_files_are_refused_before_they_are_unpacked(tmp_path, make, text):
    path, unpacked = make(tmp_path / "out.zip"), tmp_path / "unpacked"
    unpacked.mkdir()
    tracemalloc.start()
    try:
        with pytest.raises(results.Refused) as caught:
            results.read(path, unpacked)
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert text in str(caught.value) and most_bytes < 8 << 20
    assert sum(file.stat().st_size for file in unpacked.iterdir()) <= 2 << 20


def test_a_list_of_members_is_bounded_before_it_is_read(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as file:
        for number in range(200):
            file.writestr(f"{number:0200}.json", b"{}")
    monkeypatch.setattr(replay, "MOST_MEMBERS_BYTES", 1 << 14)
    with pytest.raises(results.Refused, match="its list of members has more than "):
        results.read(tmp_path / "out.zip", tmp_path)


def test_data_are_in_memory_one_case_at_a_time(tmp_path):
    """Forty cases of 4 MB: a file that changes after the check is refused, and little data stays in memory."""
    data = bytes(range(256)) * (1 << 14)
    regions = {"0": {"size_bytes": len(data), "residue": 0, "label": "x"}}
    launch = {**LAUNCH, "regions": regions, "writes": {"0": [{"at": 0, "size": 16, "fill": 0}]}}
    result = changed(RESULT, (*LAUNCHED, "changes"), {"0": [{"at": 0, "size": len(data), "bytes": 0}]})
    result |= {"data_sha256": hashlib.sha256(data).hexdigest()}
    names = [f"case{number}" for number in range(40)]
    out = written(tmp_path, cases=[{**CASE, "name": name, "launches": [launch]} for name in names])
    (out / "adds.json").unlink()
    for name in names:
        (out / f"{name}.bin").write_bytes(data)
        (out / f"{name}.json").write_text(json.dumps(result | {"name": name}))
    tracemalloc.start()
    try:
        _, replayed = results.read(out, out)
        assert [len(one.data) for one in replayed] == [len(data)] * 40
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most_bytes < 4 * len(data)
    (out / "case7.bin").write_bytes(bytes(len(data)))
    with pytest.raises(results.Refused, match="^case7.bin has changed since it was checked: "):
        _ = replayed[sorted(names).index("case7")].data


def test_results_of_two_gpus_are_not_one(tmp_path):
    out = written(tmp_path, cases=[CASE, CASE | {"name": "more"}])
    other = changed(RESULT, ("device", "uuid"), "c0ffee01" * 4) | {"name": "more"}
    (out / "more.json").write_text(json.dumps(other))
    (out / "more.bin").write_bytes(DATA)
    assert "holds results of two GPUs: NVIDIA H100, driver 570.1, UUID c0ffee00" in refusal(out)


@pytest.mark.parametrize("count", [150, pytest.param(20_000, marks=pytest.mark.slow)])
def test_mutants(tmp_path, monkeypatch, count):
    """Files of results changed at random: refused by one sentence, or judged; nothing else happens."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ends = hostile_results.sweep(count, 11, tmp_path)
    assert ends["refused"] > count // 2 and ends["agreement, disagreement"] > count // 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 300 << 10
