"""Goldens on disk: what is read is what was written, whole or not at all."""

import hashlib
import json
import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

from harness.comparison import golden
from harness.comparison.golden import CorruptGolden, Pending, make, path_of, write as write_golden, write_atomically
from harness.run.result import DTYPES, RAW, Array, Outcome
from tests.harness.by_a_gpu import UUID

RUN = "def run():\n    return {}"


def outcome_of(**arrays) -> Outcome:
    outputs = {name: Array(DTYPES[dtype], raw) for name, (dtype, raw) in arrays.items()}
    return Outcome("outputs", outputs=outputs)


@settings(max_examples=40)
@given(dtype=st.sampled_from(sorted(DTYPES)), data=st.data())
def test_round_trip_of_any_bits(tmp_path_factory, dtype, data):
    folder = tmp_path_factory.mktemp("g")
    raw_type = RAW[DTYPES[dtype].bits]
    shape = data.draw(npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    elements = st.integers(0, 1) if dtype == "bool" else npst.from_dtype(np.dtype(raw_type))
    raw = data.draw(npst.arrays(raw_type, shape, elements=elements))
    table = {"outcome": "outputs", "provenance": {}, "validated": False}
    sidecars: dict[str, bytes] = {}
    table["outputs"] = {"x": golden._describe(Array(DTYPES[dtype], raw), golden.Rule(), sidecars)}
    path = folder / "x.json"
    write_golden(Pending(str(path), golden._dump(table), sidecars))
    read = golden.read(path).outputs["x"]
    assert read.dtype.name == dtype and read.raw.tobytes() == raw.tobytes() and read.shape == shape


def test_large_arrays_go_to_a_sidecar_and_orphans_go(write):
    (case,) = write(RUN).cases()
    first, second = (np.full(5000, n, np.uint32) for n in (1, 2))
    for raw in (first, second):
        write_golden(make(case, outcome_of(out=("uint32", raw), small=("uint32", raw[:2])), {"host": "h"}))
    known = golden.read(path_of(case))
    assert (known.outputs["out"].raw == second).all() and (known.outputs["small"].raw == second[:2]).all()
    names = sorted(path.suffix for path in path_of(case).parent.iterdir())
    assert names == [".json", ".npy"]


def test_undef_outputs_are_named_without_values(write):
    (case,) = write(RUN, 'compare = { out = "undef" }').cases()
    pending = make(case, outcome_of(out=("float32", np.zeros(2, np.uint32))), {})
    described = json.loads(pending.text)["outputs"]["out"]
    assert described == {"dtype": "float32", "shape": [2], "compare": "undef"}


BREAKS = {
    "empty": lambda text: "",
    "cut": lambda text: text[: len(text) // 2],
    "a key is missing": lambda text: text.replace("validated", "valid"),
    "values changed by hand": lambda text: text.replace("1.0", "2.0"),
    "not an object": lambda text: "[]",
    "unknown dtype": lambda text: text.replace("float32", "float31"),
    "unknown outcome": lambda text: text.replace('"outputs",', '"luck",'),
    "wrong shape": lambda text: text.replace("[2]", "[3]"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_corrupt_golden_names_the_file_and_the_way_out(write, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (case,) = write(RUN).cases()
    write_golden(make(case, outcome_of(out=("float32", np.array([1.0, 1.0], np.float32).view(np.uint32))), {}))
    path = path_of(case)
    path.write_text(BREAKS[name](path.read_text()))
    with pytest.raises(CorruptGolden) as error:
        golden.read(path)
    text = str(error.value)
    assert text.startswith("the golden repros/goldens/one/default.json cannot be read: ")
    assert "fix: take it back with `git checkout -- repros/goldens/one/default.json`, or delete it" in text


def test_corrupt_sidecar(write):
    (case,) = write(RUN).cases()
    write_golden(make(case, outcome_of(out=("uint32", np.zeros(5000, np.uint32))), {}))
    (sidecar,) = path_of(case).parent.glob("*.npy")
    sidecar.write_bytes(sidecar.read_bytes()[:-1] + b"x")
    with pytest.raises(CorruptGolden, match="sha256"):
        golden.read(path_of(case))
    sidecar.unlink()
    with pytest.raises(CorruptGolden, match="FileNotFoundError"):
        golden.read(path_of(case))


@pytest.mark.parametrize("point", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, point, error):
    path = tmp_path / "x.json"
    path.write_text("old")

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(os, point, fail)
    with pytest.raises(type(error)):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["x.json"]


GPU = {
    "host": "p1",
    "device": "cuda",
    "gpu": "NVIDIA H100",
    "driver": "570.1",
    "uuid": UUID,
    "arch": "sm_90",
    "date": "2026-11-20",
}


def hardware_golden(case, value=1.0):
    write_golden(make(case, outcome_of(out=("float32", np.array([value], np.float32).view(np.uint32))), GPU))
    return path_of(case)


def changed(path, **of_provenance):
    table = json.loads(path.read_text())
    table["provenance"] |= of_provenance
    path.write_text(json.dumps(table))


CONTRADICTIONS = {
    "it is marked as validated, but its provenance names the device emulator, which is not a GPU":
        lambda path: changed(path, device="emulator"),
    "it is marked as validated, but its provenance names Stand-in GPU, a stand-in for a GPU":
        lambda path: changed(path, gpu="Stand-in GPU"),
    "it is marked as validated, but its provenance names no driver": lambda path: changed(path, driver=None),
    "it is marked as validated, but its provenance holds no hash of the answer":
        lambda path: changed(path, answer_sha256=None),
    "its answer is not the one that hardware gave: it does not have the hash in its provenance":
        lambda path: path.write_text(path.read_text().replace("1.0", "2.0").replace("3f800000", "40000000")),
    "its provenance names NVIDIA H100, but it is not marked as validated":
        lambda path: path.write_text(path.read_text().replace("true", "false")),
    "its evidence is emulator, but validated is true":
        lambda path: path.write_text(path.read_text().replace("hardware:NVIDIA H100", "emulator")),
    "validated must be true or false, got 1": lambda path: path.write_text(path.read_text().replace("true", "1")),
}  # fmt: skip


@pytest.mark.parametrize("why", CONTRADICTIONS)
def test_validated_is_derived(write, tmp_path, monkeypatch, why):
    monkeypatch.chdir(tmp_path)
    (case,) = write(RUN).cases()
    path = hardware_golden(case)
    known = golden.read(path)
    assert known.validated and known.evidence == "hardware:NVIDIA H100"
    CONTRADICTIONS[why](path)
    with pytest.raises(CorruptGolden) as error:
        golden.read(path)
    assert str(error.value).splitlines()[0].partition(": ")[2].removeprefix("ValueError: ") == why


def test_an_emulators_golden_flipped_by_hand(write):
    (case,) = write(RUN).cases()
    origin = {"host": "embedded", "device": "emulator", "gpu": None, "arch": "sm_90a"}
    write_golden(make(case, outcome_of(out=("uint32", np.zeros(2, np.uint32))), origin))
    path = path_of(case)
    assert not golden.read(path).validated
    path.write_text(path.read_text().replace('"validated": false', '"validated": true'))
    with pytest.raises(CorruptGolden, match="the device emulator, which is not a GPU"):
        golden.read(path)


def test_a_merge_conflict_names_both_sides(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (case,) = write(RUN).cases()
    path = hardware_golden(case)
    one = path.read_text()
    hardware_golden(case, 2.0)
    two = path.read_text().replace("NVIDIA H100", "NVIDIA A100")
    path.write_text(f"<<<<<<< HEAD\n{one}=======\n{two}>>>>>>> topic\n")
    with pytest.raises(CorruptGolden) as error:
        golden.read(path)
    hashes = [golden.store.answer_sha256(text.encode())[:12] for text in (one, two)]
    assert str(error.value).splitlines() == [
        "the golden repros/goldens/one/default.json cannot be read: it holds a merge conflict",
        f"    HEAD: outputs, validated by NVIDIA H100 on 2026-11-20, answer {hashes[0]}",
        f"    topic: outputs, validated by NVIDIA A100 on 2026-11-20, answer {hashes[1]}",
        "fix: resolve the conflict in repros/goldens/one/default.json: "
        "`git checkout --ours -- repros/goldens/one/default.json` or `--theirs` chooses a side",
    ]


def test_a_link_to_a_file_not_fetched_is_not_a_missing_golden(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (case,) = write(RUN).cases()
    path = hardware_golden(case)
    assert golden.read(path).validated
    path.unlink()
    assert golden.read(path) is None
    path.symlink_to("../../annex/nowhere")
    assert _unfetched(case, path) == "repros/goldens/one/default.json"
    path.unlink(), path.parent.rmdir()
    path.parent.symlink_to("nowhere")
    assert _unfetched(case, path) == "repros/goldens/one"


def _unfetched(case, path) -> str:
    """The link that a reader names."""
    with pytest.raises(CorruptGolden) as error:
        golden.read(path)
    head, fix = str(error.value).splitlines()
    assert golden.answer(case) is None and fix == "fix: fetch it, as with `git annex get` or `dvc pull`"
    link = head.removeprefix("the golden repros/goldens/one/default.json cannot be read: ")
    assert link.endswith(" is a link to nowhere")
    return link.removesuffix(" is a link to nowhere")


def test_the_own_golden_of_an_arch_may_be_a_link_to_nowhere(write):
    (case,) = write(RUN).cases()
    own = golden.own_path(hardware_golden(case), "sm_80")
    own.symlink_to("nowhere")
    assert path_of(case, "sm_80") == own and path_of(case, "sm_90") != own


@pytest.mark.parametrize(
    "text", ['{"outputs": {"x": {"file": 5}}}', "[" * 100_000, '{"outputs": 5}', '{"outputs": {"x": 5}}']
)
def test_a_strange_file_next_to_goldens_removes_no_sidecar(write, text):
    (case,) = write(RUN).cases()
    big = outcome_of(out=("uint32", np.zeros(5000, np.uint32)))
    write_golden(make(case, big, {}))
    path_of(case).with_name("odd.json").write_text(text)
    write_golden(make(case, outcome_of(out=("uint32", np.ones(5000, np.uint32))), {}))
    assert len(list(path_of(case).parent.glob("*.npy"))) == 2  # what the odd file names is not known


@pytest.mark.parametrize("header", [b"(((", b"{'a\\\n", b"\xff", b"-" * 9000 + b"1"])
def test_a_strange_npy_header(write, header):
    (case,) = write(RUN).cases()
    write_golden(make(case, outcome_of(out=("uint32", np.zeros(5000, np.uint32))), {}))
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    sha256 = hashlib.sha256(data).hexdigest()
    table = json.loads(path_of(case).read_text())
    table["outputs"]["out"] |= {"file": "0.npy", "sha256": sha256}
    path_of(case).with_name("0.npy").write_bytes(data)
    path_of(case).write_text(json.dumps(table))
    with pytest.raises(CorruptGolden, match="cannot be read: ValueError: the header of a .npy file: "):
        golden.read(path_of(case))


def test_goldens_that_are_made_can_be_read(write):
    """Texts are cut to what a reader takes, and an answer that is cut still agrees with itself."""
    repro = write(RUN + "  # " + "x" * 5000)
    (case,) = repro.cases()
    number = repro.text[: repro.text.index("return")].count("\n") + 1
    outcome = Outcome("rejected", detail={"class": "C", "id": "I", "file": str(repro.path), "line": number})
    write_golden(make(case, outcome, GPU | {"gpu": "N" * 298, "host": "5" * 400}))
    known = golden.read(path_of(case))
    assert known.identity == golden.identity_of(case, outcome) and len(known.identity["line_text"]) == 4096
    assert known.evidence == "hardware:" + "N" * 291 and known.provenance["host"] == "5" * 300
    with pytest.raises(CorruptGolden, match="compiler must be a table of at most 100"):
        make(case, outcome, {"compiler": dict.fromkeys(map(str, range(101)))})


def test_many_goldens_wait_for_the_lock_once(write, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("")
    repro = write(RUN.replace("run()", "run(w)"), "params = { w = [1, 2] }")
    pending = [make(case, outcome_of(out=("uint32", np.zeros(2, np.uint32))), {}) for case in repro.cases()]
    with golden.store.alone(tmp_path, "goldens"):
        monkeypatch.setattr(golden.store, "PATIENCE_S", 0.05)
        waits = []
        wait = golden.store._wait_for
        monkeypatch.setattr(golden.store, "_wait_for", lambda *about: (waits.append(about), wait(*about)))
        failures = golden.write_all(pending)
    assert len(waits) == 1 and list(failures) == [one.path for one in pending]
    assert {str(error) for error in failures.values()} == {
        "[Errno 110] another process has been writing goldens for 0.05 s"
    }
    assert golden.write_all(pending) == {} and len(list(path_of(next(repro.cases())).parent.iterdir())) == 2
