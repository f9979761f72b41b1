"""Runs one scenario of test_store.py again and again, each time dying at the next write point.

    python crash.py SCENARIO FOLDER

Prints a line of JSON for each point: its number, and what a fresh process finds afterwards. The last line is of the run
that did not die.
"""

import json
import os
import resource
import shutil
import sys
from pathlib import Path

import numpy as np

from harness import pending, store
from harness.claim import repro_file
from harness.comparison import golden
from harness.records.index import index
from harness.run.result import DTYPES, Array, Outcome

POINTS = ("open", "write", "fsync", "replace", "unlink", "ftruncate", "mkdir", "rmdir", "close")
DIED = 77
TEXT = "# /// script\n# [tool.repro]\n# ///\n'''It is so.'''\ndef run(): return {}\n"


def line(n: int) -> dict:
    device = {"kind": "emulator", "arch": "sm_90a"}
    return {"repro": "repros/one.py", "case": "", "host": "embedded", "device": device, "verdict": "pass", "reason": "",
            "date": f"2026-11-21T00:00:{n:02}Z", "key": {"repro_sha256": "x"}, "outcome": "outputs"}  # fmt: skip


def make(case, value: int) -> golden.Pending:
    big = Array(DTYPES["uint32"], np.full(3000, value, np.uint32))
    small = Array(DTYPES["uint32"], np.full(4, value, np.uint32))
    return golden.make(case, Outcome("outputs", outputs={"big": big, "small": small}), {"host": "h"})


class Project:
    """A repro with a golden of value 1, three records, and a result of value 2 that waits."""

    def __init__(self, root: Path) -> None:
        self.root = root
        path = root / "repros/one.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            (root / "pyproject.toml").write_text("")
            path.write_text(TEXT)
        self.case = next(repro_file.read(path).cases())
        self.records = root / ".repro/records"

    def fill(self) -> None:
        golden.write(make(self.case, 1))
        run = store.Run()
        for n in range(3):
            run.append(self.records, line(n))
        self.propose()
        index.open_index(self.root).close()

    def propose(self) -> None:
        said = line(9) | {"verdict": "fail", "golden_sha256": golden.answer(self.case)}
        said["key"] = {"repro_sha256": self.case.repro.sha256}
        new = make(self.case, 2)
        sidecars = {name: __import__("base64").b64encode(data).decode() for name, data in new.sidecars.items()}
        data = {"proposal": [new.path, new.text, sidecars], "record": said, "is_hardware": False, "launches": []}
        pending.propose(self.root, data, "r-1")

    def accept(self) -> None:
        for one in pending.waiting(self.root):
            pending.accept(self.root, one, store.Run())

    def found(self) -> dict:
        """The state that a later process sees."""
        known = golden.read(golden.path_of(self.case))
        values = sorted({int(v) for a in known.outputs.values() for v in a.raw.flat})
        with index.open_index(self.root) as records:
            count, damaged = records.count(), len(records.damaged())
            records.rebuild()
            assert (records.count(), len(records.damaged())) == (count, damaged)
        waiting = [one.stale for one in pending.waiting(self.root)]
        return {"golden": values, "records": count, "damaged": damaged, "waiting": waiting}


def scenario_golden(project: Project) -> None:
    golden.write(make(project.case, 2))


def scenario_append(project: Project) -> None:
    run = store.Run()
    run.append(project.records, line(10))
    run.append(project.records, line(11))


def scenario_propose(project: Project) -> None:
    project.propose()


def scenario_accept(project: Project) -> None:
    project.accept()


def scenario_reject(project: Project) -> None:
    for one in pending.waiting(project.root):
        pending.discard(project.root, one)


def scenario_blob(project: Project) -> None:
    store.keep_text(project.records, store.sha256("text") + ".ptx", "text")


def scenario_update(project: Project) -> None:
    run = store.Run()
    for n in range(10, 40):
        run.append(project.records, line(n % 60) | {"case": f"n={n}"})
    index.open_index(project.root).cells()


def scenario_rebuild(project: Project) -> None:
    index.open_index(project.root).rebuild()


def die_at(number: int) -> None:
    """Die before the write point of this number; a write stops half way."""
    count = 0

    def wrapped(name, function):
        def call(*args, **kw):
            nonlocal count
            count += 1
            if count == number:
                if name == "write":
                    function(args[0], bytes(args[1])[: len(args[1]) // 2])
                os._exit(DIED)
            return function(*args, **kw)

        return call

    for name in POINTS:
        setattr(os, name, wrapped(name, getattr(os, name)))


def die_in_sqlite(number: int) -> None:
    """Die after this number of steps of SQLite's virtual machine."""
    connect = index.Index._connect

    def watched(self, *args, **kw):
        db = connect(self, *args, **kw)
        db.set_progress_handler(lambda: os._exit(DIED), number)
        return db

    index.Index._connect = watched


def limit_files_to(size_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))


def forked(function) -> int:
    pid = os.fork()
    if not pid:
        status = 1
        try:
            function()
            status = 0
        except OSError:
            status = 5
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    kind, _, name = name.partition(":")
    template = folder / "template"
    Project(template).fill()
    points = {"crash": range(1, 400), "sqlite": range(1, 20000, 97), "full": [*range(0, 40000, 1777), 1 << 30]}[kind]
    for number in points:
        root = folder / "copy"
        shutil.copytree(template, root)
        project = Project(root)

        def run(project=project, number=number):
            {"crash": die_at, "sqlite": die_in_sqlite, "full": limit_files_to}[kind](number)
            globals()[f"scenario_{name}"](project)

        status = forked(run)
        found = project.found()
        left = [str(path.relative_to(root)) for path in root.rglob(".*.tmp")]
        project.accept()
        again = project.found()
        print(json.dumps({"point": number, "status": status, **found, "left": left, "again": again}), flush=True)
        shutil.rmtree(root)
        if status == 0 and kind != "full":
            break


if __name__ == "__main__":
    main()
