"""Which conditions of the emulator's C++ no test looks at: each is changed in turn, and tests must fail.

python tests/emulator/mutation.py families/barrier/barriers.cc machine/bounds.cc --results /tmp/mutants.json
python tests/emulator/mutation.py families/barrier/barriers.cc --list
python tests/emulator/mutation.py families/barrier/barriers.cc --results /tmp/mutants.json --again  # survivors

Mutants are made of each `if`, `?:`, operand of `&&` and of `||`. They are built and tested in a copy of the checkout,
where nothing else changes. Ctrl-C stops; the same command goes on where it stopped. Those that no test can see are in
equivalent_mutants.txt, each with its reason; the status is 1 where another one survives.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from dsl import native_library

ROOT = Path(__file__).parents[2]
EMULATOR = ROOT / "dsl/emulator"
TESTS = "tests/emulator"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
# The tests of a file: the first list runs in one process, then the second in another. Quick tests that find most come
# first. `check` and `diagnosis` have tests of what checkers report on it.
_LIBRARY = ("library",)
_BARRIERS = (
    "families/barrier/test_emit.py families/cluster/test_emit.py families/barrier/test_check.py "
    "families/barrier/test_block_meetings.py families/barrier/test_words.py machine/test_schedule.py "
    "check/test_divergence.py"
).split()
_SCHEDULE = (
    "machine/test_schedule.py families/control/test_emit.py families/warp/test_emit.py "
    "execute/test_decisions.py execute/test_launch.py families/mbarrier/test_emit.py "
    "families/mbarrier/test_words.py families/mbarrier/test_rings.py execute/test_outcomes.py pairs/test_pairs.py"
).split()
_BLOCKS = (
    "machine/test_schedule.py execute/test_launch.py execute/test_workers.py execute/test_slots.py "
    "families/cluster/test_emit.py diagnosis/test_fault_report.py"
).split()
_MBARRIERS = (
    "families/mbarrier/test_log.py families/mbarrier/test_words.py families/mbarrier/test_emit.py "
    "families/bulk/test_phases.py families/mbarrier/test_rings.py families/bulk/test_emit.py "
    "families/mbarrier/test_check.py"
).split()
_BULK = (
    "families/bulk/test_emit.py families/bulk/test_async_stores.py families/bulk/test_async_stores_land.py "
    "families/tensor_map/test_box_copies.py families/reduction/test_reductions.py "
    "families/tensor_map/test_im2col.py families/tensor_map/test_interleave.py "
    "families/tensor_map/test_emit.py families/tensor_map/test_rows.py families/bulk/test_check.py "
    "families/bulk/test_words.py"
).split()
_CLUSTERS = (
    "families/cluster/test_emit.py families/barrier/test_emit.py families/bulk/test_emit.py "
    "families/mbarrier/test_check.py diagnosis/test_cluster_report.py"
).split()
_WARPS = (
    "families/warp/test_emit.py check/test_undefined.py families/barrier/test_emit.py "
    "families/matrix/test_emit.py families/warpgroup/test_emit.py"
).split()
_COPIES = [
    "families/bulk/test_traced.py",
    "check/test_race.py",
    "pairs/test_pairs.py",
    "families/tcgen05/test_check.py",
]
_BOXES = [f"families/tensor_map/test_{each}.py" for each in ("box_copies", "im2col", "interleave")]
_TENSORS = [f"families/tcgen05/test_{each}.py" for each in ("check", "words", "tensor_copies", "tensor_shifts", "emit")]
TESTS_OF = {
    "barriers.cc": (("library/test_barriers.py",), _BARRIERS),
    "block_meetings.cc": (("library/test_barriers.py",), _BARRIERS),
    "schedule.cc": (("library/test_schedule.py", "library/test_barriers.py"), _SCHEDULE),
    "blocks.cc": (
        (
            "library/test_blocks.py",
            "library/test_barriers.py",
            "library/test_cp_async.py",
            "library/test_bulk_copies.py",
        ),
        _BLOCKS,
    ),
    "threads.cc": (
        ("library/test_threads.py", "library/test_barriers.py"),
        ["translate/test_leaving_threads.py", *_SCHEDULE],
    ),
    "mbarrier_log.cc": (("library/test_mbarriers.py",), _MBARRIERS),
    "bulk_copies.cc": (("library/test_bulk_copies.py",), [*_BULK, "families/mbarrier/test_check.py", *_COPIES]),
    "bulk_flight.cc": (("library/test_bulk_flight.py",), ["families/bulk/test_check.py", *_MBARRIERS, *_COPIES]),
    "box_copies.cc": (_BOXES, _BULK),
    "box_copies.h": (_BOXES, _BULK),
    "bulk_reductions.cc": (("families/reduction/test_reductions.py",), _BULK),
    "clusters.cc": (
        ("library/test_blocks.py", "library/test_barriers.py", "library/test_bounds.py", "library/test_bulk_copies.py"),
        _CLUSTERS,
    ),
    "cp_async_queue.cc": (
        ("library/test_cp_async.py",),
        [
            "families/cp_async/test_emit.py",
            "families/cp_async/test_arrivals.py",
            "families/cp_async/test_traced.py",
            "check/test_race.py",
            "families/mbarrier/test_check.py",
        ],
    ),
    "queues.h": (
        ("library/test_cp_async.py", "library/test_bulk_copies.py", "library/test_blocks.py"),
        ["families/cp_async/test_emit.py", "families/cluster/test_pairs.py", *_BULK],
    ),
    "random.h": (("library/test_schedule.py", "execute/test_decisions.py"), _SCHEDULE),
    "word.h": (("library/test_mbarriers.py", "library/test_bulk_copies.py"), _MBARRIERS),
    "launch_control.cc": (("families/launch_control/test_emit.py",), ["execute/test_workers.py"]),
    "tensor_shifts.cc": (("families/tcgen05/test_tensor_shifts.py",), ["families/tcgen05/test_check.py"]),
    "tensor_queue.cc": (("library/test_tensor_queue.py",), _TENSORS),
    "bounds.cc": (("library/test_bounds.py",), ["families/memory/test_emit.py", "diagnosis/test_ranges.py"]),
    "warp_collectives.cc": (("library/test_warp.py",), _WARPS),
}
ELSE = (_LIBRARY, ["families"])  # of any other file
FLAGS = "-w"  # a mutant may have names that it does not use
KINDS = ("negated", "true", "false", "dropped")


@dataclass(frozen=True)
class Mutant:
    """A change of a file; `text` takes the place of its characters from `start` to `end`."""

    file: str  # below dsl/emulator
    line: int
    kind: str
    was: str
    start: int
    end: int
    text: str

    def key(self, source: str) -> str:
        """The same for the same change of the same text."""
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        return f"{self.file}:{self.line}:{self.start}-{self.end}:{self.kind}:{digest}"


# ** what is changed


def mutants(path: Path, kinds: tuple[str, ...] = KINDS) -> list[Mutant]:
    """Those of a C++ file, in the order of its text. Raises SyntaxError where clang cannot read it."""
    source = path.read_text()
    if not source.isascii():
        raise SyntaxError(f"{path} must be ASCII: places are bytes")
    found = {}
    for start, end, kind, text in _changes(path, source):
        if kind in kinds:
            name = path.relative_to(EMULATOR) if path.is_relative_to(EMULATOR) else path
            line = source.count("\n", 0, start) + 1
            found[start, end, kind] = Mutant(str(name), line, kind, source[start:end], start, end, text)
    return [found[key] for key in sorted(found)]


# Headers that libclang lacks.
_SIZES = [(sign, bits) for sign in ("", "U") for bits in (8, 16, 32, 64)]
_HEADERS = {
    "stddef.h": "typedef __SIZE_TYPE__ size_t;\n#define offsetof(type, member) __builtin_offsetof(type, member)\n",
    "stdint.h": "".join(f"typedef __{sign}INT{bits}_TYPE__ {sign.lower()}int{bits}_t;\n" for sign, bits in _SIZES),
}


def _changes(path: Path, source: str) -> Iterator[tuple[int, int, str, str]]:
    import clang.cindex
    from clang.cindex import CursorKind

    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**_HEADERS, "shared.h": native_library.header_text()}.items():
            (Path(folder) / name).write_text(text)
        arguments = ["-x", "c++", "-target", "x86_64-linux-gnu", "-march=x86-64-v4", *native_library.FLAGS, "-w"]
        arguments += ["-nostdinc", "-I", str(EMULATOR), "-I", folder]
        unit = clang.cindex.Index.create().parse(str(path), arguments)
    errors = [str(each) for each in unit.diagnostics if each.severity >= clang.cindex.Diagnostic.Error]
    if errors:
        raise SyntaxError("\n".join(errors))

    def walk(cursor) -> Iterator[tuple[int, int, str, str]]:
        for child in cursor.get_children():
            if child.kind == CursorKind.STATIC_ASSERT:
                continue
            if child.location.file is None or child.location.file.name != str(path):
                continue
            if child.kind == CursorKind.IF_STMT:
                yield from _of_condition(source, _condition(source, child))
            elif child.kind == CursorKind.CONDITIONAL_OPERATOR:
                start, end = _extent(next(child.get_children()))
                if source[end:].lstrip().startswith("?"):  # not in a macro
                    yield from _of_condition(source, (start, end))
            elif child.kind == CursorKind.BINARY_OPERATOR:
                yield from _of_operands(source, child)
            yield from walk(child)

    yield from walk(unit.cursor)


def _extent(cursor) -> tuple[int, int]:
    return cursor.extent.start.offset, cursor.extent.end.offset


def _condition(source: str, cursor) -> tuple[int, int]:
    """The place of the condition of an `if`, which may be in a macro; empty where it declares a variable, or is of
    compile time."""
    tokens = list(cursor.get_tokens())
    if len(tokens) < 2 or tokens[0].spelling != "if" or tokens[1].spelling != "(":
        return 0, 0  # if constexpr
    depth, start, end = 0, tokens[1].extent.end.offset, 0
    for token in tokens[1:]:
        depth += (token.spelling in "([{") - (token.spelling in ")]}")
        if token.spelling == ";" and depth == 1:
            start = token.extent.end.offset
        if not depth:
            end = token.extent.start.offset
            break
    start += len(source[start:end]) - len(source[start:end].lstrip())
    from clang.cindex import CursorKind

    for child in cursor.get_children():
        if child.kind == CursorKind.VAR_DECL and start <= child.extent.start.offset < end:
            return 0, 0
    return start, end


def _of_condition(source: str, place: tuple[int, int]) -> Iterator[tuple[int, int, str, str]]:
    start, end = place
    if start < end:
        was = source[start:end]
        yield start, end, "negated", f"!({was})"
        yield start, end, "true", f"((void)({was}), true)"
        yield start, end, "false", f"((void)({was}), false)"


def _of_operands(source: str, cursor) -> Iterator[tuple[int, int, str, str]]:
    """An operand of && or || that is not the same operation again."""
    from clang.cindex import CursorKind

    operands = list(cursor.get_children())
    if len(operands) != 2:
        return
    operator = source[operands[0].extent.end.offset : operands[1].extent.start.offset].strip()
    if operator not in ("&&", "||"):
        return
    for each in operands:
        start, end = _extent(each)
        parts = list(each.get_children())
        if each.kind == CursorKind.BINARY_OPERATOR and len(parts) == 2:
            if source[parts[0].extent.end.offset : parts[1].extent.start.offset].strip() == operator:
                continue
        yield start, end, "dropped", "true" if operator == "&&" else "false"


# ** how it is tested


class Stop(Exception):
    """Ctrl-C, or no result is possible; the text is the reason."""


class Tree:
    """A copy of the checkout, in which one mutant after another is built and tested."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.note = folder / "mutation-note"
        self._process: subprocess.Popen | None = None
        self.stopped = False
        names = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def build(self) -> str:
        """Build the library; return the compiler's output if it fails."""
        command = [sys.executable, "dsl/native_library.py", native_library.level()]
        status, said = self._run(command, None)
        return "" if status == 0 else said

    def test(self, files: tuple[str, ...], limit_s: float | None) -> tuple[str, str]:
        """passed, failed, crashed or hung; and the test that did."""
        self.note.write_text("")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--tb=no", "-p", "no:cacheprovider"]
        command += ["-p", "tests.emulator.mutation", *(f"{TESTS}/{file}" for file in files)]
        status, said = self._run(command, limit_s)
        test = self.note.read_text()
        if status is None:
            return "hung", test
        if status < 0:
            return "crashed", test
        if status > 1:
            raise Stop(f"pytest ended with {status}:\n{said[-3000:]}")
        return ("failed" if status else "passed"), test

    def _run(self, command: list[str], limit_s: float | None) -> tuple[int | None, str]:
        environment = {**os.environ, "PYTHONPATH": str(self.folder), native_library.MORE_FLAGS: FLAGS}
        environment["MUTATION_NOTE"] = str(self.note)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with tempfile.TemporaryFile("w+") as output:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                if self.stopped:
                    raise Stop("stopped")
                status: int | None = self._process.wait(limit_s)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.end()
            if self.stopped:
                raise Stop("stopped")
            output.seek(0)
            return status, output.read()

    def end(self) -> None:
        """End what runs here, and what it started."""
        process = self._process
        if process is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


class Run:
    """All mutants of some files, by one thread a tree."""

    def __init__(self, trees: list[Tree], results: Path, again: bool):
        self.trees, self.path, self.again = trees, results, again
        self.results: dict[str, dict[str, Any]] = json.loads(results.read_text()) if results.exists() else {}
        self.limits: dict[tuple[str, ...], float] = {}
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def plan(self, wanted: list[tuple[Mutant, str]]) -> list[tuple[Mutant, str]]:
        """Those that have no result yet."""
        known = {key for key, row in self.results.items() if not (self.again and row["outcome"] == "survived")}
        return [(mutant, key) for mutant, key in wanted if key not in known]

    def measure(self, wanted: list[tuple[Mutant, str]]) -> None:
        """How long the tests take where nothing is changed, when they must pass."""
        stages = {stage for mutant, _ in wanted for stage in stages_of(mutant.file)}
        for tree in self.trees:
            if said := tree.build():
                raise Stop(said)
        for stage in sorted(stages):
            began = time.monotonic()
            outcome, test = self.trees[0].test(stage, None)
            took = time.monotonic() - began
            if outcome != "passed":
                raise Stop(f"{test or stage} {outcome} where nothing is changed")
            self.limits[stage] = 6 + 3 * took
            print(f"{took:6.1f} s where nothing is changed: {' '.join(stage)}", flush=True)

    def go(self, wanted: list[tuple[Mutant, str]]) -> None:
        """Raises Stop."""
        jobs: queue.SimpleQueue[tuple[Mutant, str]] = queue.SimpleQueue()
        for job in wanted:
            jobs.put(job)
        began, count = time.monotonic(), 0

        def work(tree: Tree) -> None:
            nonlocal count
            try:
                while self._failure is None:
                    try:
                        mutant, key = jobs.get_nowait()
                    except queue.Empty:
                        return
                    start = time.monotonic()
                    outcome, test = self._try(tree, mutant)
                    took = time.monotonic() - start
                    with self._lock:
                        count += 1
                        self._keep(key, {**asdict(mutant), "outcome": outcome, "test": test, "seconds": round(took, 1)})
                        left = (time.monotonic() - began) / count * (len(wanted) - count) / 60
                        print(
                            f"[{count}/{len(wanted)}] {mutant.file}:{mutant.line} {mutant.kind} "
                            f"`{_short(mutant.was)}`: {outcome} {test} ({took:.1f} s; about {left:.0f} min left)",
                            flush=True,
                        )
            except BaseException as error:
                self._failure = self._failure or error

        threads = [threading.Thread(target=work, args=(tree,)) for tree in self.trees]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        except KeyboardInterrupt:
            self._failure = Stop("stopped; the same command goes on from here")
        finally:
            for tree in self.trees:
                tree.stopped = tree.stopped or self._failure is not None
                if tree.stopped:
                    tree.end()
            for thread in threads:
                thread.join()
        if self._failure is not None:
            raise self._failure

    def _try(self, tree: Tree, mutant: Mutant) -> tuple[str, str]:
        path = tree.folder / "dsl/emulator" / mutant.file
        source = path.read_text()
        path.write_text(source[: mutant.start] + mutant.text + source[mutant.end :])
        try:
            if tree.build():
                return "not built", ""
            for stage in stages_of(mutant.file):
                outcome, test = tree.test(stage, self.limits[stage])
                if outcome != "passed":
                    return outcome, test
            return "survived", ""
        finally:
            path.write_text(source)

    def _keep(self, key: str, row: dict[str, Any]) -> None:
        self.results[key] = row
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.results, indent=1))
        os.replace(part, self.path)


def stages_of(file: str) -> tuple[tuple[str, ...], ...]:
    """The tests of a file, for one process after another."""
    return tuple(tuple(stage) for stage in TESTS_OF.get(Path(file).name, ELSE))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def equivalents(text: str) -> collections.Counter[tuple[str, ...]]:
    """The rows `file | change | condition | reason` of EQUIVALENT, without the reasons. Each is for one mutant."""
    rows = [line.split(" | ") for line in text.splitlines() if line and not line.startswith("#")]
    return collections.Counter((file, kind, " | ".join(was)) for file, kind, *was, _ in rows)


def table(rows: list[dict[str, Any]], known: collections.Counter[tuple[str, ...]]) -> tuple[str, int]:
    """The mutants that survived and are not among `known`, then how many each file has of each outcome; and how many
    survived."""
    rest, left, counts = known.copy(), [], {}
    for row in sorted(rows, key=lambda row: (row["file"], row["start"], row["kind"])):
        outcome, name = row["outcome"], (row["file"], row["kind"], " ".join(row["was"].split()))
        if outcome == "survived" and rest[name]:
            outcome, rest[name] = "equivalent", rest[name] - 1
        elif outcome == "survived":
            left.append(f"{row['file']}:{row['line']} {row['kind']} `{name[2]}`: survived")
        shown = outcome if outcome in ("survived", "equivalent", "not built") else "killed"
        counts.setdefault(row["file"], collections.Counter())[shown] += 1
    lines = [*left, "| file | mutants | killed | not built | equivalent | survived |", "|---|---|---|---|---|---|"]
    for file, of in counts.items():
        each = [of[outcome] for outcome in ("killed", "not built", "equivalent", "survived")]
        lines.append(f"| {file} | {of.total()} | " + " | ".join(map(str, each)) + " |")
    lines += [f"in {EQUIVALENT.name}, and did not survive: {' | '.join(name)}" for name in +rest if name[0] in counts]
    return "\n".join(lines), len(left)


# ** as a plugin of the pytest that tests a mutant


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items) -> None:
    """Put tests in the order of the command line, without slow ones."""
    order = [str(Path(config.invocation_params.dir, each.partition("::")[0])) for each in config.args]

    def place(item) -> int:
        path = str(item.path)
        return next((i for i, each in enumerate(order) if path == each or path.startswith(each + os.sep)), len(order))

    items[:] = sorted((item for item in items if not item.get_closest_marker("slow")), key=place)


def pytest_runtest_logstart(nodeid) -> None:
    if note := os.environ.get("MUTATION_NOTE"):
        Path(note).write_text(nodeid)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="below dsl/emulator: families/barrier/barriers.cc")
    parser.add_argument("--results", type=Path, help="a JSON file that keeps what is known")
    parser.add_argument("--again", action="store_true", help="those again that survived")
    parser.add_argument("--list", action="store_true", help="the mutants, and no more")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"some of {','.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tested at once")
    parser.add_argument("--limit", type=int, help="so many mutants, spread over the files")
    asked = parser.parse_args()
    wanted = []
    for file in asked.files:
        path = EMULATOR / file
        wanted += [(each, each.key(path.read_text())) for each in mutants(path, tuple(asked.kinds.split(",")))]
    if asked.limit:
        step = max(1, len(wanted) // asked.limit)
        wanted = wanted[::step][: asked.limit]
    if asked.list:
        for mutant, _ in wanted:
            print(f"{mutant.file}:{mutant.line} {mutant.kind} `{_short(mutant.was)}`")
        print(f"{len(wanted)} mutants")
        return 0
    if asked.results is None:
        parser.error("--results FILE is needed")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        run = Run([], asked.results, asked.again)
        todo, status = run.plan(wanted), 0
        try:
            if todo:
                for number in range(asked.jobs):
                    (Path(folder) / str(number)).mkdir()
                    run.trees.append(Tree(Path(folder) / str(number)))
                run.measure(todo)
                run.go(todo)
        except (Stop, KeyboardInterrupt) as stop:
            print(stop, file=sys.stderr)
            status = 1
    rows = [run.results[key] for _, key in wanted if key in run.results]
    text, left = table(rows, equivalents(EQUIVALENT.read_text()))
    print(text)
    return status or min(left, 1)


if __name__ == "__main__":
    sys.exit(main())
