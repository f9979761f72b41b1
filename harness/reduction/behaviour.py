"""The behaviour of a program, in words that stay when its lines and numbers change: candidates are compared by it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.reduction import construct
from harness.reduction.wrong_values import Wrong

if TYPE_CHECKING:
    from harness.run.result import Outcome

_STOPPED = re.compile(r"(?m)^(?P<file>\S[^\n]*?):(?P<line>\d+):\d+: STOPPED$\n.*\n.*?`(?P<kernel>\w+)` was stopped")
_NAME = re.compile(r"(?:@\S+ )?([a-z]\w*(?:[.:]+\w+)*)")
_WITHIN = re.compile(r"(?m)^ +warp .*?: in the loop at (?P<file>[^\n]*?):(?P<line>\d+), PTX line")
_FRAME = re.compile(r'(?m)^  File "(?P<file>[^"]*)", line (?P<line>\d+),? in \S+')
_EXCEPTION = re.compile(r"(?m)^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*)|:?)$")
_SOME_WARPS = re.compile(r"\bwarps? [N, andto]*N\b|\b[\w./-]+\.py:N\b")
_VERBS = {"wrote": "writes", "read": "reads", "copied": "copies", "updated": "updates"}
_TYPES = re.compile(r"\.(?:[bsuf]\d+|v[248]|bf16x?2?|f16x2|pred)(?![\w:])")
MOST_MESSAGE = 400


class Place(NamedTuple):
    """A construct that takes part: what it does (`writes st.shared`), and its accesses and calls."""

    does: str
    names: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return " ".join([*filter(None, [self.does]), *sorted(self.names)])

    def is_of(self, before: Place) -> bool:
        """Whether it is that one, perhaps with fewer names."""
        return self.does == before.does and self.names <= before.names and bool(self.names) == bool(before.names)


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of one run.

    `kind`: of an Outcome. `name`: the id of a finding, or the type of an exception. `message`: why, without names and
    numbers; of a deadlock how it may be ended, which names the role of each warp. `kernel`: where. `places`: the
    constructs that take part, both sides of a race, every wait of a deadlock.
    `wrong`: how each output differs from what was expected; `agreeing`: the outputs that do not.
    """

    kind: str
    name: str = ""
    message: str = ""
    kernel: str = ""
    places: tuple[Place, ...] = ()
    wrong: dict[str, Wrong] = field(default_factory=dict)
    agreeing: frozenset[str] = frozenset()
    launches: bool = False  # whether it launched a kernel

    def __str__(self) -> str:
        if self.kind == "outputs":
            return "; ".join(f"`{name}` is wrong in {wrong}" for name, wrong in self.wrong.items()) or "outputs"
        where = f" at {', '.join(map(str, self.places))}" if self.places else ""
        name = "hang" if self.kind == "timeout" else self.name or self.kind
        return f"{name}{f' ({self.message})' if self.message else ''}{where}"

    def is_at(self, before: Behaviour) -> bool:
        """Whether each of its places is one of those before, and each of those is still there."""
        mine, others = self.places, before.places
        return all(any(one.is_of(other) for other in others) for one in mine) and all(
            any(one.is_of(other) for one in mine) for other in others
        )


@dataclass(frozen=True)
class Program:
    """The text of a candidate, and the file that a report names it by."""

    text: str
    path: PurePath

    def has(self, file: str | None) -> bool:
        """Whether a file, as a report names it, is the program: its path, or the end of it."""
        return file is not None and f"/{self.path}".endswith(f"/{file.removeprefix('./').lstrip('/')}")

    def at(self, told: Mapping[str, Any], part: str = "") -> frozenset[str]:
        """The constructs at a place, by its `file`, `line` and perhaps `column`. The line of another file stays."""
        line = int(told["line"] or 0)
        if line and told["file"] and not self.has(told["file"]):
            return frozenset({f"{PurePath(told['file']).name}:{line}"})
        return construct.at(self.text, line, told.get("column") or 0, part)

    def around(self, told: Mapping[str, Any]) -> Place:
        """The loop around a line, or the line itself: where in a loop a program is stopped is chance."""
        loop = construct.loop(self.text, int(told["line"])) if self.has(told["file"]) else ""
        return Place(loop) if loop else Place("", self.at(told))

    def named(self, said: str) -> frozenset[int]:
        """The lines of the program that a report or a traceback names."""
        found = re.findall(rf'([^\s"(`]*{re.escape(self.path.name)})(?::|", line )(\d+)', said)
        return frozenset(int(line) for file, line in found if self.has(file))

    def innermost(self, frames: Iterable[re.Match[str]]) -> re.Match[str] | None:
        """The first of these frames that is in the program."""
        return next((frame for frame in frames if self.has(frame["file"])), None)


def of(program: Program, outcome: Outcome, wrong: dict[str, Wrong] | None = None) -> Behaviour:
    """The behaviour of a program. `wrong`: of outputs that differ from what is expected."""
    told = outcome.detail.get("finding")
    if outcome.kind == "outputs":
        wrong = wrong or {}
        return Behaviour("outputs", wrong=wrong, agreeing=frozenset(outcome.outputs.keys() - wrong.keys()))
    if outcome.kind == "exited":
        last = (outcome.stderr or outcome.stdout).strip().rpartition("\n")[2]
        return Behaviour("exited", exit_status(outcome.detail["exit"]), plain(last))
    if told is None and outcome.kind in ("error", "crash"):
        return _exception(program, outcome)
    if outcome.kind == "timeout":
        return _hang(program, outcome)
    if told is None:
        name = str(outcome.detail.get("id") or outcome.detail.get("kind") or outcome.detail.get("class") or "")
        return Behaviour(outcome.kind, name, plain(outcome.text))
    name, message = told["id"], told["message"]
    if outcome.kind == "rejected":
        return Behaviour("rejected", name, plain(message))
    others = [one for one in told["related"] if one["does"] and one["line"]]
    waits = any(one["does"] == "waits" for one in others)
    if waits:
        message = _SOME_WARPS.sub("_", plain(told["fix"]))  # who is to arrive, and why
    else:
        message = plain(message.rpartition(": ")[2] if others else message)
    places = {_part(program, one) for one in others} or {Place("", program.at(told))}
    if not program.has(told["file"]):
        calls = (one for one in told["related"] if not one["does"] and program.has(one["file"]))
        places |= {Place("called by", program.at(one)) for one in itertools.islice(calls, 1)}
    return Behaviour(outcome.kind, name, message, _kernel(told["kernel"]), tuple(sorted(places, key=str)))


def _kernel(name: str) -> str:
    return re.sub(r"_\d+$", "", name)


def exit_status(status: int) -> str:
    """The name of what a script did that ended by itself."""
    return f"exit status {status}"


def _part(program: Program, told: dict[str, Any]) -> Place:
    """An access or a wait that takes part."""
    match = _NAME.match(told["code"])
    code = stem(match[1] if match else "")
    if told["does"] == "waits":
        return Place(f"waits at {code} ({_awaited(told)})", program.at(told))
    word = told["does"].split()[0]
    does = _VERBS.get(word, word)
    return Place(f"{does} {code}", program.at(told | {"column": 0}, "target" if does == "writes" else "value"))


def _awaited(told: dict[str, Any]) -> str:
    """The state of a wait: whether all arrivals have come, and on which side bytes are missing."""
    phase = told["phase"]
    if phase is None:
        return plain(told["awaited"])
    words = ["all arrived" if phase["came"] == phase["of"] else "arrivals missing"]
    words += ["after a phase"] if phase["parity"] else []  # the first phase has parity 0
    words += ["bytes missing"] if phase["bytes"] > 0 else ["too many bytes"] if phase["bytes"] < 0 else []
    return ", ".join(words)


def stem(code: str) -> str:
    """An instruction without its types and its widths: `st.shared` of `st.shared.v4.b32`."""
    return _TYPES.sub("", code)


def plain(message: str) -> str:
    """A message without names, quoted text and numbers."""
    message = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "_", message)
    message = re.sub(r"\(_(?:, _)*\)|\bPTX line \d+", "_", message)
    message = re.sub(r"\b(?:0x[0-9a-f]+|\d+(?:\.\d+)?)\b", "N", message)
    message = re.sub(r"\(?(?:N|_)(?:, ?(?:N|_))+\)?", "N", message)
    return " ".join(message.split())[:MOST_MESSAGE]


def _exception(program: Program, outcome: Outcome) -> Behaviour:
    """Its type, its message, and the author's innermost statement."""
    last = [match for match in _EXCEPTION.finditer(outcome.text) if match["name"] != "fix"]
    name, message = (last[-1]["name"], last[-1]["message"] or "") if last else (outcome.kind, "")
    frame = program.innermost(reversed(list(_FRAME.finditer(outcome.text))))
    is_measure = name.endswith("AssertionError") and re.search(r"\d", outcome.text.rpartition(name)[2])
    # An assertion that counts errors has numbers in its message: only with these numbers it is the same mistake.
    said = " ".join(outcome.text.rpartition(name)[2].split())[:MOST_MESSAGE] if is_measure else plain(message)
    places = (Place("", program.at(frame.groupdict())),) if frame else ()
    return Behaviour(outcome.kind, name, said, places=places)


def _hang(program: Program, outcome: Outcome) -> Behaviour:
    """The loops in which its warps are, or the statement in which Python is."""
    stopped = _STOPPED.search(outcome.text)
    found = list(_WITHIN.finditer(outcome.text))
    if stopped is not None:
        found = found or [stopped]
    elif frame := program.innermost(_FRAME.finditer(outcome.text)):
        found = [frame]
    places = tuple(sorted({program.around(one.groupdict()) for one in found}, key=str))
    name, kernel = ("kernel", _kernel(stopped["kernel"])) if stopped else ("host", "")
    return Behaviour("timeout", name, "", kernel, places)
