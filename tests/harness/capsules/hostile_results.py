"""Files of results of a hostile replay: an honest one, changed at random, and what must hold for each of them.

python -m tests.harness.capsules.hostile_results 20000        # a long sweep; the suite runs a sample
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import resource
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from dsl.forms import predict
from dsl.forms.kinds import floating, integer, tensor_core
from harness.capsules import agreement, replay, results, validation
from harness.errors import UsageError
from tests.harness.by_a_gpu import FACTS
from tests.harness.mutants import change, changes, torn_bytes

FORMS = (
    (integer, "sub.u32"),
    (floating, "sin.approx.f32"),
    (tensor_core, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
)
DATE = "2026-11-20T17:01:00Z"


class Honest:
    """A capsule of three instruction forms and a repro, and a GPU's results: two as predicted, one of other bits."""

    def __init__(self, folder: Path) -> None:
        forms = [next(form for form in module.forms() if form.name == name) for module, name in FORMS]
        predict.write(forms, folder, lambda line: None)
        index = json.loads((folder / "forms.json").read_text())
        cases = [validation._case(form) for form in index["cases"]]
        self.blobs = {path.name: path.read_bytes() for path in folder.iterdir() if not path.suffix}
        self.cases = [*cases, self._repro(cases[0])]
        self.index = {"schema": 1, "date": DATE, "forms": {"model_of": index["model_of"], "default": "h100"}}
        self.index |= {"one_file": True, "timeout_s": 10.0, "cases": self.cases}
        self.data = {case["name"]: bytes(range(5)) if number == 1 else b"" for number, case in enumerate(self.cases)}
        self.data["adds"] = bytes(4)
        self.results = {case["name"]: self._result(case) for case in self.cases}

    @staticmethod
    def _repro(form: dict[str, Any]) -> dict[str, Any]:
        """A case of a repro that launches the same kernel."""
        form = copy.deepcopy(form)
        kernels = [{"name": "k", "arch": "sm_80", "ptx_sha256": form["repro_sha256"]}]
        about = {"name": "adds", "repro": "repros/adds.py", "claim": "It is so.", "kernels": kernels}
        about |= {"compiler": {"name": "ours"}, "versions": {"python": "3.11"}, "launches": form["launches"]}
        left = {"form", "threads", "rule", "operands", "results", "predictions"}
        return {key: value for key, value in form.items() if key not in left} | about

    def _result(self, case: dict[str, Any]) -> dict[str, Any]:
        data = self.data[case["name"]]
        rows = {"0": [{"at": 0, "size": 4, "bytes": 0} | ({"mask": 4} if len(data) > 4 else {})]} if data else {}
        launch = {"changes": rows, "as_predicted": not data, "wrote_outside": []}
        keys = ("name", "repro", "case", "repro_sha256")
        about = {"schema": 1, "device": dict(FACTS), "date": DATE, "data_sha256": hashlib.sha256(data).hexdigest()}
        return {key: case[key] for key in keys} | about | {"result": {"outcome": "ran", "launches": [launch]}}

    def write(self, path: Path, chance: random.Random | None = None) -> None:
        """The one file of results, with changes somewhere."""
        index, said, blobs, data = self.index, self.results, self.blobs, self.data
        how = chance.randrange(8) if chance else -1
        if chance and how < 3:
            index = copy.deepcopy(index)
            parts = (index, *index["cases"], *(case["launches"] for case in index["cases"]))
            for _ in changes(chance):
                change(chance.choice(parts), chance)
        elif chance and how < 6:
            said = copy.deepcopy(said)
            for _ in changes(chance):
                change(said[chance.choice(list(said))], chance)
        elif chance and how == 6:
            blobs, data = dict(blobs), dict(data)
            chosen = chance.choice((blobs, data))
            chosen[chance.choice(list(chosen))] = chance.choice((b"", b"x", bytes(1 << 16), bytes(1 << 20)))
        files: dict[str, bytes | bytearray] = {
            results.KEPT_CAPSULE: self._capsule(index, blobs, chance if how == 7 else None)
        }
        for name, result in said.items():
            files[f"{name}.json"], files[f"{name}.bin"] = json.dumps(result).encode(), data[name]
        if chance and how == 7 and chance.randrange(2):
            name = chance.choice(list(files))
            files[chance.choice(("../x.json", "x/y.bin", "", "\x1b[2J.json", "a" * 300 + ".bin", f"{name} "))] = (
                files.pop(name)
            )
        self._zip(path, files)
        if chance and how == 7 and chance.randrange(2):
            path.write_bytes(torn_bytes(path.read_bytes(), chance))

    def _capsule(self, index: Any, blobs: dict[str, bytes], chance: random.Random | None) -> bytes:
        file = io.BytesIO()
        self._zip(
            file, {"capsule.json": json.dumps(index).encode(), **{f"blobs/{name}": blobs[name] for name in blobs}}
        )
        return torn_bytes(file.getvalue(), chance) if chance and chance.randrange(2) else file.getvalue()

    @staticmethod
    def _zip(path: Any, files: dict[str, Any]) -> None:
        with zipfile.ZipFile(path, "w") as file:
            for name, data in files.items():
                file.writestr(zipfile.ZipInfo(name), data)


def accept(path: Path, root: Path, unpacked: Path) -> str:
    """Do the part of `repro replay accept` before the repros. Return 'refused', or the statuses of the forms."""
    said: list[str] = []
    try:
        capsule, replayed = results.read(path, unpacked)
        kept = {one.case["name"]: one.data for one in replayed}
        forms = [one for one in replayed if "form" in one.case]
        by_status = agreement.accept(capsule, forms, root, said.append)
        for one in replayed:
            with tempfile.TemporaryDirectory() as folder:
                results.unpack(capsule, one, Path(folder))
        assert len(kept) == len(replayed)
    except (UsageError, replay.BadCapsule) as error:
        text = str(error).replace("\n", " ")
        assert len(text) < 3000 and "Error(" not in text, text
        return "refused"
    assert all(len(line) < 8000 for line in said), said
    return ", ".join(sorted(by_status)) or "nothing"


def strays(folder: Path) -> list[str]:
    """Files where none of ours belong."""
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    ours = ("out.zip", "root/validation/", "root/.repro/", f"unpacked/{results.KEPT_CAPSULE}", "forms/")
    return [name for name in files if not name.startswith(ours)]


def sweep(count: int, seed: int, folder: Path) -> dict[str, int]:
    """How many of `count` mutants ended how. Raises AssertionError naming the seed of the one that did harm."""
    honest, ends = Honest(folder / "forms"), {}
    (folder / "root").mkdir()
    (folder / "unpacked").mkdir()
    for number in range(count):
        chance = random.Random(f"{seed}.{number}")
        try:
            honest.write(folder / "out.zip", chance)
            end = accept(folder / "out.zip", folder / "root", folder / "unpacked")
        except Exception as error:
            raise AssertionError(f"mutant {seed}.{number}: {type(error).__name__}: {error}") from error
        ends[end] = ends.get(end, 0) + 1
        assert number % 100 or strays(folder) == [], number
    assert strays(folder) == []
    return ends


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = sweep(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(name))
    print(found, f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB at most")
