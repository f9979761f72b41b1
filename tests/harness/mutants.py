"""Replies of a hostile host: whole ones, changed at random, and what must hold for each of them.

uv run python tests/harness/mutants.py 20000        # a long sweep; the suite runs a sample
"""

from __future__ import annotations

import copy
import json
import random
import resource
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness import judge, session
from harness.claim.repro_file import read
from harness.host.hosts import Host
from harness.reporting import text_report
from harness.run import result
from harness.run.frames import BadFrame, pack_frame, read_frame, read_from

REPRO = '''# /// script
# [tool.repro]
# params = { width = [8] }
# compare = { p = "pred:good", s = "set", u = "undef" }
# allowed = { s = [1, 2] }
# mask = { m = "valid" }
# runs = 3
# ///
"""A claim."""
def good(p): return True
def run(width): ...
def expected(width): ...
'''
VALUES: list[Any] = [
    5, -1, 0, 1 << 31, 1 << 63, 1 << 70, -(1 << 70), 1e308, float("nan"), float("inf"), 0.5, None, True, "", "x",
    "../../x", "/etc/passwd", "sm_90/../../x", "sm_", "sm_90", "a" * 100_000, "\u202e\x1b[2J", "\ud800", "\x00", [], {},
    [[]], [5] * 1000, {"a": 1}, {"": {"": {}}}, ["\u202e"], "outputs", "infra", "rejected", "fault", "timeout", "cuda",
    "'; rm -rf / #", "$(reboot)", "<script>alert(1)</script>", "%s%n{0}", "0" * 64, "int32", "float8_e5m2",
]  # fmt: skip
KEYS = ["kind", "name", "../x", "\u202e", "outputs", "facts", "text", "", "__class__"]
LAUNCH = {"grid": [1, 1, 1], "block": [32, 1, 1], "smem_bytes": 0}


def whole(kind: str) -> tuple[dict[str, Any], list[bytes]]:
    """A reply as a sound host sends it."""
    ptx = '.version 8.0\n.target sm_90a\n.file 1 "/a/b/one.py"\n.visible .entry k() { ret; }\n'
    kernel = {"name": "k", "arch": "sm_90a", "ptx": ptx, "ptx_sha256": "0" * 64, "sass": None, "launches": [LAUNCH]}
    device = {"kind": "emulator", "name": "PTX emulator", "driver": None, "arch": "sm_90a"}
    facts = {"device": device, "compiler": {"name": "ours", "version": "1"}, "kernels": [kernel]}
    body: dict[str, Any] = {
        "outcome": kind,
        "facts": facts,
        "durations": {"load_s": 0.1},
        "seed": 0,
        "versions": {"python": "3.11.7"},
    }
    buffers: list[bytes] = []

    def array(name: str, values: Any) -> dict[str, Any]:
        made = np.array(values)
        buffers.append(made.tobytes())
        return {"name": name, "dtype": made.dtype.name, "shape": list(made.shape)}

    if kind == "outputs":
        values = {"p": np.float32([1, 2]), "s": np.int32(1), "u": np.int32([3]), "m": np.float32([1, 2])}
        body["outputs"] = [array(name, value) for name, value in values.items()]
        body["expected"] = [array("valid", [True, False])]
        body["preds"] = [array("p", True)]
        body |= {"count": 2, "uncounted": 0}
        body["others"] = [{"count": 1, "outputs": [array(n, values[n]) for n in values], "preds": [array("p", True)]}]
        body["spread"] = [[array("m", np.float32(ends))] for ends in ([0, 1], [1, 2])]
    elif kind == "rejected":
        body |= {"class": "TypeError", "id": None, "file": "/a/one.py", "line": 3, "text": "one.py:3: no"}
    elif kind == "fault":
        body |= {"kind": "race", "file": "/a/one.py", "line": 3, "text": "race at gmem"}
    elif kind == "error":
        body |= {"text": "Traceback ...\nValueError: no", "full_text": None}
    status = {"signal": "SIGSEGV"} if kind == "crash" else {"timeout": True} if kind == "timeout" else {"exit": 0}
    header = {
        "kind": "reply",
        "status": status,
        "stdout": "a\n",
        "stderr": "",
        "fault": "",
        "timeout_s": 60.0,
        "durations": {"run_s": 0.5, "warm_s": 0.0},
        "result": None if "exit" not in status else body,
        "begun": {"outcome": "begun", "facts": facts | {"kernels": []}},
    }
    return json.loads(json.dumps(header)), buffers  # nothing in it is shared


KINDS = ("outputs", "outputs", "rejected", "fault", "error", "crash", "timeout")


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a value."""
    found, todo = [], [value]
    while todo:
        one = todo.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            found.append((one, key))
            todo.append(one[key])
    return found


def change(table: Any, chance: random.Random) -> None:
    """Change one place of a JSON text: another value, or none; another key; more of a list; a value of elsewhere."""
    if not (found := places(table)):
        return  # an earlier change has emptied it
    container, key = chance.choice(found)
    how = chance.randrange(8)
    if how < 4:
        container[key] = copy.deepcopy(chance.choice(VALUES))
    elif how == 4:
        del container[key]
    elif how == 5 and isinstance(container, dict):
        container[chance.choice(KEYS)] = container.pop(key)
    elif how == 6 and isinstance(container, list):
        container.extend(copy.deepcopy(container) * chance.choice((1, 40)))
    else:
        other, place = chance.choice(places(table))
        container[key] = copy.deepcopy(other[place])


def changes(chance: random.Random) -> range:
    """How many changes a mutant has."""
    return range(chance.choice((1, 1, 1, 2, 3)))


def mutant(chance: random.Random) -> tuple[dict[str, Any], list[bytes]]:
    """A whole reply with one to three changes."""
    header, buffers = whole(chance.choice(KINDS))
    for _ in changes(chance):
        if buffers and chance.randrange(8) == 7:
            buffers[chance.randrange(len(buffers))] = bytes(chance.randrange(0, 9))
        else:
            change(header, chance)
    return header, buffers


def torn(chance: random.Random) -> bytes:
    """A frame some of whose bytes are others."""
    data = b"".join(bytes(piece) for piece in pack_frame(*whole(chance.choice(KINDS))))
    return torn_bytes(data, chance)


def torn_bytes(data: bytes, chance: random.Random) -> bytes:
    """Some bytes of it are others, left out, or more."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 2, 8))):
        at = chance.randrange(len(data))
        how = chance.randrange(4)
        if how == 0:
            data[at] = chance.randrange(256)
        elif how == 1:
            del data[at : at + chance.randrange(1, 50)]
        elif how == 2:
            data[at:at] = chance.choice([b"[" * 5000, b"9" * 5000, b'"', b"\\", b"\xff\xfe", b"{}", b"1e999"])
        else:
            data[4:8] = struct.pack("<I", chance.randrange(1 << 32))
        if not data:
            break
    return bytes(data)


class Victim:
    """The machine that such replies come to: everything that is done with one, and what must hold after it."""

    def __init__(self, folder: Path) -> None:
        self.folder, path = folder, folder / "project" / "repros" / "one.py"
        path.parent.mkdir(parents=True)
        (folder / "project" / "pyproject.toml").write_text("")
        path.write_text(REPRO)
        self.case = next(read(path).cases())
        self.root, self.host = folder / "project", Host("p1", "emulator")
        self.session = session.Session(self.root)
        self.kinds: dict[str, int] = {}

    def take(self, header: Any, buffers: list[bytes]) -> None:
        """Judge, record and show the reply, as a run does. Raises whatever gets through."""
        outcome = result.from_reply(header, buffers, ["p"])
        self.kinds[outcome.kind] = self.kinds.get(outcome.kind, 0) + 1
        verdict = judge.judge(self.case, self.host, outcome, self.root)
        if outcome.kind == "infra":
            assert verdict.status == "infra"
        if outcome.text.startswith("the reply of the runner is broken"):
            assert "\n" not in outcome.text and len(outcome.text) < 3000
        data = session.as_data(verdict, self.case.repro.path, False)
        self.session.take(data)
        assert self.session.errors == [], self.session.errors
        texts = [text_report.verdict(self.case, self.host, verdict), text_report.failure(self.case, self.host, verdict)]
        texts += [outcome.stdout, outcome.stderr, *verdict.notes, json.dumps(verdict.record, allow_nan=False)]
        for text in texts:
            assert text.replace("\n", "").replace("\t", "").isprintable()

    def take_bytes(self, data: bytes) -> None:
        """The same of a frame as it comes off the line."""
        try:
            frame = read_frame(read_from(data), 1 << 20)
        except BadFrame as error:
            assert str(error).isprintable()
            return
        if frame is not None:
            self.take(*frame)

    def strays(self) -> list[str]:
        """Files where none of ours belong."""
        ours = (
            ".repro/records/",
            ".repro/pending/repros/goldens/one/",
            ".repro/.gitignore",
            "repros/one.py",
            "pyproject",
        )
        files = [path for path in self.folder.rglob("*") if not path.is_dir()]
        names = [path.relative_to(self.folder).as_posix() for path in files]
        return [name for name in names if not name.startswith(tuple(f"project/{one}" for one in ours))]


def sweep(count: int, seed: int, folder: Path) -> Victim:
    """Take `count` mutants. Raises AssertionError naming the seed of the one that did harm."""
    victim = Victim(folder)
    victim.take(*whole("outputs"))
    for number in range(count):
        chance = random.Random(f"{seed}.{number}")
        try:
            if number % 4:
                victim.take(*mutant(chance))
            else:
                victim.take_bytes(torn(chance))
        except Exception as error:
            raise AssertionError(f"mutant {seed}.{number}: {type(error).__name__}: {error}") from error
    assert victim.strays() == []
    return victim


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = sweep(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(name))
    print(found.kinds, f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB at most")
