"""`python -m dsl reductions`: a process that lists the edits of a program and applies them, a JSON object a line.

    {"do": "passes", "language": "python"}   -> {"passes": [{"name", "about", "needs", "is_fine"}]}
    {"do": "edits", "pass": NAME, "source": TEXT}                    -> {"edits": [{"id", "about", "line", "gain"}]}
    {"do": "apply", "pass": NAME, "source": TEXT, "edits": [0, 3]}   -> {"source": TEXT}, or {"refused": WHY}

A pass whose `needs` are `ran` or `found` wants `lines` in both requests: those that ran, or that the finding names.
A request that is wrong is answered by {"error": WHY}, and the process goes on.
"""

from __future__ import annotations

import io
import json
import sys
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, TextIO

from dsl.emulator.ptx.syntax import PtxError
from dsl.reduction.edit import Edit
from dsl.reduction.passes.passes import LANGUAGES, named
from dsl.reduction.program import Program, Refused
from dsl.reduction.ptx_program import PtxProgram
from dsl.reduction.schedules import Delays, Schedule

KEPT_PROGRAMS = 4
READERS: dict[str, Any] = {"python": Program, "ptx": PtxProgram, "schedule": Schedule, "delays": Delays}


class Answers:
    """Answers requests; keeps the programs of the last ones, which are asked about again and again."""

    def __init__(self) -> None:
        self._programs: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def answer(self, request: Any) -> dict[str, Any]:
        """The answer to one request."""
        match request:
            case {"do": "passes", "language": str(language)}:
                if language not in LANGUAGES:
                    return {"error": f"language must be one of {', '.join(LANGUAGES)}, got {language!r}"}
                about = ("name", "about", "needs", "is_fine")
                return {"passes": [{each: getattr(one, each) for each in about} for one in LANGUAGES[language]]}
            case {"do": "edits", "pass": str(name), "source": str(source)}:
                return self._about(request, name, source, self._listed)
            case {"do": "apply", "pass": str(name), "source": str(source), "edits": list(numbers)}:
                return self._about(request, name, source, lambda program, edits: _applied(program, edits, numbers))
        return {"error": 'a request must be {"do": "passes" | "edits" | "apply", ...}, got ' + _short(request)}

    def _about(self, request: dict[str, Any], name: str, source: str, what) -> dict[str, Any]:
        try:
            language, one = named(name)
        except KeyError:
            return {"error": f"there is no pass {name!r}; ask for the passes of a language first"}
        lines = request.get("lines", [])
        if not isinstance(lines, list) or not all(type(line) is int for line in lines):
            return {"error": f"lines must be a list of numbers, got {_short(lines)}"}
        try:
            program = self._program(language, source)
            if one.needs and program.seen.get(one.needs) != frozenset(lines):
                program.seen[one.needs] = frozenset(lines)
                program.kept.pop("edits", None)
            return what(program, self._edits(program, name))
        except Refused as refusal:
            return {"refused": str(refusal)}
        except (SyntaxError, ValueError, PtxError) as error:
            return {"error": f"this is not a {language} program: {error}"}
        except (RecursionError, MemoryError):
            return {"error": "the program is nested too deeply"}

    def _program(self, language: str, source: str) -> Any:
        key = language, source
        if key not in self._programs:
            self._programs[key] = READERS[language](source)
            if len(self._programs) > KEPT_PROGRAMS:
                self._programs.popitem(last=False)
        self._programs.move_to_end(key)
        return self._programs[key]

    def _edits(self, program: Any, name: str) -> list[Edit]:
        kept = program.kept.setdefault("edits", {})
        if name not in kept:
            kept[name] = [edit for edit in named(name)[1].edits(program) if edit.changes]
        return kept[name]

    def _listed(self, program: Any, edits: list[Edit]) -> dict[str, Any]:
        rows = enumerate(edits)
        return {
            "edits": [
                {"id": number, "about": edit.about, "line": edit.line, "gain": edit.gain(program.text)}
                for number, edit in rows
            ]
        }


def _applied(program: Any, edits: list[Edit], numbers: list) -> dict[str, Any]:
    if not all(type(number) is int and 0 <= number < len(edits) for number in numbers):
        return {"error": f"edits must be numbers from 0 to {len(edits) - 1}, got {_short(numbers)}"}
    return {"source": program.apply([edits[number] for number in numbers])}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


def main() -> int:
    """Answer standard input on standard output, both UTF-8; the exit status."""
    lines = io.TextIOWrapper(sys.stdin.buffer, "utf-8", "replace", newline="\n")
    out = io.TextIOWrapper(sys.stdout.buffer, "utf-8", write_through=True)
    try:
        return serve(lines, out)
    except KeyboardInterrupt:
        return 130


def serve(lines: Iterable[str], out: TextIO) -> int:
    """Answer every line of the input. Returns the exit status."""
    answers = Answers()
    for line in lines:
        if not line.strip():
            continue
        try:
            answer = answers.answer(json.loads(line))
        except (ValueError, RecursionError) as error:
            answer = {"error": f"a request must be a JSON object in one line: {error}"}
        try:
            print(json.dumps(answer), file=out, flush=True)
        except BrokenPipeError:
            return 0
    return 0
