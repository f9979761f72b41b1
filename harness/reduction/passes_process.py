"""The passes that know programs, in one process that speaks JSON lines: `python -m dsl reductions`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from harness import schema
from harness.errors import UsageError
from harness.reduction.search import Edit, Pass

COMMAND = [sys.executable, "-P", "-m", "dsl", "reductions"]
MOST_EDITS = 1_000_000
_SHORT = schema.string(10_000)


class PassesGone(UsageError):
    """The process ended, or answered what it must not."""


class PassesProcess:
    """Passes over one language: `python` or `ptx`."""

    def __init__(self, language: str, command: Sequence[str] = tuple(COMMAND)) -> None:
        self._language, self._lock = language, threading.Lock()
        self.look: Callable[[str, str], Collection[int]] = lambda needs, source: ()
        self._needs: dict[str, str] = {}
        self._seen: tuple[str, str, list[int]] = ("", "", [])  # what was asked last, and the lines
        self._process: Any = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="strict",
            start_new_session=True,
        )  # fmt: skip

    def passes(self) -> list[Pass]:
        answer = self._ask({"do": "passes", "language": self._language})
        rows = _rows(answer, "passes")
        found = [
            Pass(_text(one, "name"), _text(one, "about"), _text(one, "needs"), one.get("is_fine") is True)
            for one in rows
        ]
        self._needs = {one.name: one.needs for one in found if one.needs}
        return found

    def edits(self, name: str, source: str) -> list[Edit]:
        answer = self._ask({"do": "edits", "pass": name, "source": source, **self._lines(name, source)})
        if "edits" not in answer:
            return []  # refused: this pass can do nothing with the program
        return [
            Edit(_number(one, "id"), _text(one, "about"), _number(one, "line"), _number(one, "gain"))
            for one in _rows(answer, "edits")
        ]

    def apply(self, name: str, source: str, edits: Sequence[int]) -> str | None:
        request = {"do": "apply", "pass": name, "source": source, "edits": list(edits)}
        answer = self._ask(request | self._lines(name, source))
        return answer["source"] if isinstance(answer.get("source"), str) else None

    def _lines(self, name: str, source: str) -> dict[str, list[int]]:
        needs = self._needs.get(name)
        if needs is None:
            return {}
        if self._seen[:2] != (needs, source):
            self._seen = needs, source, sorted(self.look(needs, source))
        return {"lines": self._seen[2]}

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            try:
                stream.close()
            except OSError:
                pass

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
                answer = json.loads(line)
            except (OSError, ValueError):
                raise PassesGone(f"the passes ended (exit status {self._process.poll()})") from None
        if not isinstance(answer, dict):
            raise PassesGone("the passes answered no object")
        if "error" in answer:
            raise PassesGone(f"the passes refused a request: {answer['error']}")
        return answer


def _rows(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = answer.get(name)
    if not isinstance(rows, list) or len(rows) > MOST_EDITS or not all(isinstance(row, dict) for row in rows):
        raise PassesGone(f"the passes answered no list of {name}")
    return rows


def _text(row: dict[str, Any], name: str) -> str:
    try:
        return _SHORT(row.get(name, ""), name)
    except schema.Misfit as error:
        raise PassesGone(f"the passes answered wrongly: {error}") from None


def _number(row: dict[str, Any], name: str) -> int:
    value = row.get(name, 0)
    return value if isinstance(value, int) else 0
