"""Kernel fuzzing: programs with tiled copies, TMA, wgmma and pipelines, under our and NVIDIA's compiler, against numpy.

    python tests/fuzz/kernels/run.py --programs 200 --seed 1                   each kind, with a progress line
    python tests/fuzz/kernels/run.py --kind wgmma --programs 50 --seed 2       one kind
    python tests/fuzz/kernels/run.py FILE ...                                  check programs again

The program of a kind, a seed and a number is always the same. A difference is made simpler and written into the folder
`--repros`. docs/fuzzing.md.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from tests import fork_server  # noqa: E402
from tests.fuzz.kernels import copies, pipelines, tma, wgmma  # noqa: E402
from tests.fuzz.kernels.choices import Choices, simplified  # noqa: E402
from tests.fuzz.kernels.explained import explanation  # noqa: E402

KINDS = {"copies": copies.program, "tma": tma.program, "wgmma": wgmma.program, "pipelines": pipelines.program}
COMPILERS = ("ours", "nvidia")
BATCH = 50  # programs of a process, whose first one takes two seconds more than the others
LIMIT_S = 120  # of the processor's time, of a program
WAIT_S = 600  # of a process, and 30 s more for each program: for what hangs without computing
AGAIN = "generated before"
REFUSED, WRONG_THERE = "refused by both", "ours refuses, nvidia is wrong"
Answer = dict[str, np.ndarray] | str  # arrays, or the text of the error


@dataclass(frozen=True)
class Finding:
    """How answers to a program differ: `kind` names who differs, `detail` how."""

    kind: str
    detail: str


def write(text: str, folder: Path) -> Path:
    path = folder / f"program_{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
    path.write_text(text)
    return path


def answers(compiler: str, paths: Sequence[Path], folder: Path) -> list[Answer]:
    """The answer of each program under a compiler. One that fails ends its process; the next begins a new one."""
    folder.mkdir()
    given: list[Answer] = []
    while len(given) < len(paths):
        rest = paths[len(given) :]
        command = [
            "-m",
            "dsl",
            "--device",
            "emulator",
            "--check",
            "none",
            "--compiler",
            compiler,
            HERE / "batch.py",
            "--",
            "run",
        ]
        command += [LIMIT_S, folder, *rest]
        try:
            done = fork_server.run(command, cwd=folder, timeout=WAIT_S + 30 * len(rest))
            died = f"died: status {done.returncode} {done.stderr[-500:]}"
            if done.returncode == -signal.SIGVTALRM:
                died = "hangs: "
        except subprocess.TimeoutExpired:
            died = "hangs: "
        given += [answer for path in rest if (answer := written(folder / path.stem))]
        if len(given) < len(paths) and (len(paths) - len(given) == len(rest) or not isinstance(given[-1], str)):
            given.append(died)
    return given


def expected(paths: Sequence[Path], folder: Path) -> list[dict[str, np.ndarray]]:
    """The arrays that numpy computes for each program; in another process, as programs import `cutlass`."""
    folder.mkdir()
    fork_server.run([HERE / "batch.py", "expected", LIMIT_S, folder, *paths], cwd=folder, check=True)
    given = {path: written(folder / path.stem) for path in paths}
    for path, arrays in given.items():
        if not isinstance(arrays, dict):
            raise RuntimeError(f"{path.read_text()}\nexpected(): {arrays}")
    return [given[path] for path in paths]


def written(path: Path) -> Answer | None:
    """The answer of a program; None if it was not run, or did not end."""
    if path.with_suffix(".npz").exists():
        with np.load(path.with_suffix(".npz")) as arrays:
            return dict(arrays)
    return path.with_suffix(".txt").read_text() if path.with_suffix(".txt").exists() else None


def difference(wanted: dict[str, np.ndarray], got: dict[str, np.ndarray]) -> str:
    """The first elements that differ, or ''."""
    for name, array in wanted.items():
        if name not in got or np.shape(array) != got[name].shape:
            return f"{name} has the shape {np.shape(got.get(name))}, not {np.shape(array)}"
        places = np.argwhere(np.asarray(array) != got[name])
        if len(places):
            shown = (
                f"{name}{list(map(int, at))} is {got[name][tuple(at)]}, not {array[tuple(at)]}" for at in places[:3]
            )
            return f"{len(places)} of {got[name].size}: " + "; ".join(shown)
    return ""


def judge(wanted: dict[str, np.ndarray], ours: Answer, theirs: Answer) -> Finding | None:
    """How the three answers differ; None where they are equal, or both compilers refuse the program."""
    refused = [isinstance(answer, str) for answer in (ours, theirs)]
    if all(refused):
        return Finding(REFUSED, f"{ours[:700]}\n--- nvidia: {theirs[:900]}")
    if refused[0]:
        told = difference(wanted, theirs)
        return (
            Finding(WRONG_THERE, f"{ours[:700]}\n--- nvidia: {told}") if told else Finding("ours refuses", ours[:1500])
        )
    if refused[1]:
        told = difference(wanted, ours)
        return Finding("ours differs", told) if told else Finding("nvidia refuses", theirs[:1500])
    told = [difference(wanted, answer) for answer in (ours, theirs)]
    if told[0] and told[1]:
        return Finding("both differ from numpy", f"ours: {told[0]}\nnvidia: {told[1]}")
    if told[0]:
        return Finding("ours differs", told[0])
    return Finding("nvidia differs", told[1]) if told[1] else None


def check(texts: Sequence[str]) -> list[Finding | None]:
    """The finding about each program, or None."""
    with tempfile.TemporaryDirectory(prefix="fuzz-kernels-") as name:
        folder = Path(name)
        paths = [write(text, folder) for text in texts]
        ours, theirs = (answers(side, paths, folder / side) for side in COMPILERS)
        return list(map(judge, expected(paths, folder / "numpy"), ours, theirs))


class Run:
    """A run of the command: counts and findings."""

    def __init__(self, options):
        self.options, self.started = options, time.monotonic()
        self.counts = {kind: collections.Counter() for kind in options.kind}
        self.unexplained = 0
        self.seen: set[str] = set()

    def all(self) -> None:
        for start in range(0, self.options.programs, BATCH):
            for kind in self.options.kind:
                numbers = range(start, min(start + BATCH, self.options.programs))
                self.batch(kind, [f"{kind} {self.options.seed} {number}" for number in numbers])
                if self.unexplained >= self.options.failures or time.monotonic() - self.started > self.options.seconds:
                    return

    def batch(self, kind: str, names: list[str]) -> None:
        programs: dict[str, str] = {}
        for name in names:
            text = KINDS[kind](Choices(name))
            if text in self.seen:
                self.counts[kind][AGAIN] += 1
            else:
                self.seen.add(text)
                programs[name] = text
        for (name, text), finding in zip(programs.items(), check(list(programs.values()))):
            why = finding and explanation(text, finding.kind, finding.detail)
            if why and self.options.verbose:
                print(f"{name}: {why}: {finding.detail}\n")
            self.counts[kind]["equal" if finding is None else why or finding.kind] += 1
            if finding is not None and not why:
                self.unexplained += 1
                self.report(kind, name, text, finding)
        print(f"{time.monotonic() - self.started:.0f} s, {kind}: {dict(self.counts[kind])}", flush=True)

    def report(self, kind: str, name: str, text: str, finding: Finding) -> None:
        print(f"\n{name}: {finding.kind}: {finding.detail}", flush=True)
        if not self.options.no_shrink:
            text, _ = simplified(KINDS[kind], name, lambda candidate: alike(check([candidate])[0], finding))
        self.options.repros.mkdir(parents=True, exist_ok=True)
        lines = [f"# {line}" for line in f"{name}: {finding.kind}: {finding.detail}".splitlines()]
        path = write("\n".join([*lines, text]), self.options.repros)
        print(f"    written: {path}", flush=True)

    def summary(self) -> str:
        lines = [
            f"{kind}: {', '.join(f'{n} {what}' for what, n in c.most_common())}" for kind, c in self.counts.items()
        ]
        total = sum(sum(counts.values()) - counts[AGAIN] for counts in self.counts.values())
        seconds = time.monotonic() - self.started
        return "\n".join(
            [*lines, f"{total} programs under both compilers, {self.unexplained} unexplained, {seconds:.0f} s"]
        )


def alike(finding: Finding | None, wanted: Finding) -> bool:
    """Whether a simpler program fails in the same way: the first words of an error are the same."""
    if finding is None or finding.kind != wanted.kind:
        return False
    return "refuse" not in wanted.kind or finding.detail.split(":")[0] == wanted.detail.split(":")[0]


def options_of(arguments: list[str]):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="programs to check again")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: each")
    parser.add_argument("--programs", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", type=int, default=5, help="stop after this many that nothing explains")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this many seconds")
    parser.add_argument("--repros", type=Path, default=Path("fuzz-repros"))
    parser.add_argument(
        "--verbose", action="store_true", help="also print differences that are explained, and what both refuse"
    )
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args(arguments)
    options.kind = options.kind or list(KINDS)
    return options


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    if options.files:
        found = dict(zip(options.files, check([path.read_text() for path in options.files])))
        for path, finding in found.items():
            print(f"{path}: {f'{finding.kind}: {finding.detail}' if finding else 'equal'}")
        return any(found.values())
    run = Run(options)
    try:
        run.all()
    except KeyboardInterrupt:
        print("\nstopped")
    print(run.summary())
    return bool(run.unexplained)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
