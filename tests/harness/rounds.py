"""Rounds of processes that accept goldens of one project at once, or are killed while they do; what is found afterwards.

    python rounds.py at-once|kill FOLDER ROUNDS SEED

Every process writes its own answer: a number, in a small output and in a large one, which is in a file next to the
golden. Prints a line of JSON for each round.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness import session
from harness.claim import repro_file
from harness.comparison import golden, unused_goldens
from harness.host.hosts import Host
from harness.judge import judge
from harness.records.index.index import open_index
from harness.run.result import DTYPES, Array, Outcome

TEXT = "# /// script\n# [tool.repro]\n# params = { n = [1, 2] }\n# ///\n'''It is so.'''\ndef run(n): return {}\n"
WRITERS = 8


class Project:
    """A repro of two cases in a folder."""

    def __init__(self, root: Path) -> None:
        self.root, path, self.took_s = root, root / "repros/one.py", 0.0
        if not path.exists():
            path.parent.mkdir(parents=True)
            (root / "pyproject.toml").write_text("")
            path.write_text(TEXT)
        self.cases = list(repro_file.read(path).cases())

    def accept(self, number: int) -> None:
        """What `pytest --update-goldens` does with the answers of a run, from the judge on."""
        run = session.Session(self.root, update=True)
        host = Host("embedded", "emulator")
        for case in self.cases:
            outputs = {n: Array(DTYPES["uint32"], np.full(s, number, np.uint32)) for n, s in (("a", 4), ("b", 3000))}
            verdict = judge(case, host, Outcome("outputs", outputs=outputs), self.root, update=True)
            assert verdict.status == "pass", verdict.text
            run.take(session.as_data(verdict, case.repro.path, False))
        run.finish(interrupted=False)
        assert not run.errors, run.errors

    def numbers(self) -> list[list[int]]:
        """The numbers in each golden that there is. Raises CorruptGolden."""
        goldens = [golden.read(golden.path_of(case)) for case in self.cases]
        return [sorted({int(v) for array in one.outputs.values() for v in array.raw.flat}) for one in goldens if one]

    def state(self) -> dict:
        """The state that a later process sees."""
        with open_index(self.root) as records:
            count, damaged = records.count(), len(records.damaged())
        folder = golden.folder(self.cases[0].repro.path)
        unused = [path.name for path in unused_goldens.unused([self.cases[0].repro])]
        files = [path.name for path in folder.parent.rglob("*") if path.suffix == ".tmp"]
        return {"goldens": self.numbers(), "records": count, "damaged": damaged, "unused": unused, "temporary": files}


def start(function: Callable[[], object]) -> int:
    """A process that ends with status 0 when the function returns; what it raises is printed."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            function()
            status = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return pid


def status_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def at_once(project: Project, number: int, chance: random.Random) -> dict:
    """Eight processes accept at once, and a ninth reads meanwhile."""
    gate, open_gate = os.pipe()

    def write(mine: int) -> None:
        os.close(open_gate)
        os.read(gate, 1)  # ends when every process has been started
        project.accept(mine)

    def watch() -> None:
        os.close(open_gate)
        os.read(gate, 1)
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            for numbers in project.numbers():
                assert len(numbers) == 1, numbers

    answers = [number * WRITERS + writer for writer in range(WRITERS)]
    pids = [start(lambda mine=mine: write(mine)) for mine in answers] + [start(watch)]
    os.close(open_gate)
    os.close(gate)
    return {"status": sorted(map(status_of, pids)), "answers": answers}


def kill(project: Project, number: int, chance: random.Random) -> dict:
    """One process accepts, and is killed at any time of as long as it took another; one in ten is not killed."""
    pid, started = start(lambda: project.accept(number)), time.monotonic()
    if number % 10:
        time.sleep(chance.uniform(0, 1.1 * project.took_s))
        os.kill(pid, signal.SIGKILL)
    status = status_of(pid)
    if status == 0:
        project.took_s = time.monotonic() - started
    return {"status": [status], "answers": list(range(number + 1))}


def main() -> None:
    kind, folder, rounds, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    if kind == "at-once":
        os.fsync = lambda fd: None  # it tells nothing here, and takes most of the time
    project = Project(folder)
    for number in range(rounds):
        told = {"at-once": at_once, "kill": kill}[kind](project, number, random.Random(f"{seed}.{number}"))
        print(json.dumps({"round": number, **told, **project.state()}), flush=True)


if __name__ == "__main__":
    main()
