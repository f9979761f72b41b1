"""Run a Python program on the emulator, and weaker kernels before the first launch of each kernel.

    python tests/upstream/weaken_launches.py RESULTS LIMIT_S MOST -m dsl FILE ...
    python tests/upstream/weaken_launches.py RESULTS LIMIT_S MOST -m pytest FILE ...

Each weaker kernel runs in a fork, with the memory and the parameters of the launch, under all checks. RESULTS gets a
JSON line for each kernel and one for each change (see Weakening) with its verdict.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import runpy
import select
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from dsl import emulator  # noqa: E402
from dsl.emulator.execute.launch import launch as real_launch  # noqa: E402
from dsl.launch.devices.recording import bytes_at  # noqa: E402
from tests.emulator.weakenings import Weakening, weakenings  # noqa: E402

CHECKS = ("race", "undefined")
_MILD = ("warning ", "note ")
_NEWEST = re.compile(r"\.version\s+[\d.]+")


class Launches:
    """`launch` in the place of emulator.launch. `most`: how many changes of one kind are tried in a kernel."""

    def __init__(self, results: Path, limit_s: float, most: int):
        self.results, self.limit_s, self.most = results, limit_s, most
        self.seen: set[tuple[str, str]] = set()

    def launch(self, program, entry, grid, block, params, memory, *rest, **options) -> None:
        if (program.sha256, entry) not in self.seen:
            self.seen.add((program.sha256, entry))
            self._weaken(program, (entry, grid, block, params, memory, *rest), options)
        return real_launch(program, entry, grid, block, params, memory, *rest, **options)

    def _weaken(self, program, arguments: tuple, options: dict) -> None:
        ptx, entry = _NEWEST.sub(".version 9.0", program.ptx, count=1), arguments[0]  # some weaker forms are newer
        changes = few(weakenings(ptx, entry), self.most)
        if not changes:
            return
        options = options | {"checks": CHECKS, "seed": 0, "decisions": None, "announce": None, "write": None}
        options["gives_way"] = False
        usual, right, seconds = self._try(ptx, arguments, options)
        self._note({"kernel": entry, "verdict": usual, "seconds": seconds, "changes": len(changes)})
        if usual != "silent" and not usual.startswith(_MILD):
            return
        for each in changes:
            verdict, digest, seconds = self._try(each.applied(ptx), arguments, options)
            verdict = "silent" if verdict == usual else verdict
            if (verdict == "silent" or verdict.startswith(_MILD)) and digest != right:
                verdict = "wrong output"
            if verdict == "silent" and self._try(each.reached(ptx), arguments, options)[0] != "trap":
                verdict = "not reached"
            self._note(_row(entry, each) | {"verdict": verdict, "seconds": seconds})

    def _note(self, row: dict) -> None:
        with self.results.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def _try(self, ptx: str, arguments: tuple, options: dict) -> tuple[str, str, float]:
        """Verdict, digest of memory and seconds of a launch in a fork."""
        began = time.monotonic()
        read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            os.close(read)
            _launch_and_exit(write, ptx, arguments, options)
        os.close(write)
        with open(read, "rb") as answer:
            if not select.select([answer], [], [], self.limit_s)[0]:
                os.kill(child, signal.SIGKILL)
            text = answer.read().decode()
        _, status = os.waitpid(child, 0)
        verdict, _, digest = text.partition("\n")
        if not verdict:
            verdict = "over the limit" if os.waitstatus_to_exitcode(status) == -signal.SIGKILL else "crash"
        return verdict, digest, round(time.monotonic() - began, 2)


def _row(entry: str, change: Weakening) -> dict:
    return {
        "kernel": entry, "opcode": change.opcode, "number": change.number, "line": change.line,
        "change": change.change, "was": " ".join(change.was.split()),
    }  # fmt: skip


def few(changes: list[Weakening], most: int) -> list[Weakening]:
    """At most `most` changes of one kind for each opcode, spread over the kernel."""
    kinds: dict[tuple[str, str], list[Weakening]] = {}
    for each in changes:
        kinds.setdefault((each.opcode, each.change), []).append(each)
    kept = set()
    for of in kinds.values():
        count = min(most, len(of))
        kept |= {of[i * (len(of) - 1) // max(count - 1, 1)] for i in range(count)}
    return [each for each in changes if each in kept]


def _launch_and_exit(write: int, ptx: str, arguments: tuple, options: dict) -> NoReturn:
    entry, grid, block, params, memory, *rest = arguments
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        answer = _verdict(ptx, entry, (grid, block, params, memory, *rest), options)
    os.write(write, answer.encode())
    os._exit(0)


def _verdict(ptx: str, entry: str, rest: tuple, options: dict) -> str:
    memory = rest[3]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            real_launch(emulator.load(ptx), entry, *rest, **options)
        except emulator.Fault as fault:
            return fault.kind
        except (emulator.Unsupported, emulator.PtxError, ValueError) as error:
            return f"refused: {str(error).splitlines()[0][:100]}"
        except BaseException as error:
            return f"{type(error).__name__}: {str(error)[:100]}"
    digest = hashlib.sha256()
    for each in memory.allocations():
        digest.update(bytes_at(each.address, each.end - each.address))
    return f"{_mild(warned)}\n{digest.hexdigest()}"


def _mild(warned: list[warnings.WarningMessage]) -> str:
    """The kinds of the warnings and notes of a launch; `silent` if it has none."""
    kinds = set()
    for each in warned:
        level = "warning" if isinstance(each.message, emulator.KernelWarning) else "note"
        if level == "warning" or isinstance(each.message, emulator.KernelNote):
            kinds.add(f"{level} {re.search('[A-Z_]{6,}', str(each.message)).group().lower()}")
    return ", ".join(sorted(kinds)) or "silent"


def main() -> None:
    results, limit_s, most, _, module, *arguments = sys.argv[1:]
    emulator.launch = Launches(Path(results), float(limit_s), int(most)).launch
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
