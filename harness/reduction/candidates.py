"""Trying candidates: each text once, several at a time, what failed counted by reason."""

from __future__ import annotations

import ast
import hashlib
import math
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from harness.claim import script_file
from harness.reduction.properties import Property, Seen

START_RUNS = 5  # of a program whose start may have the property only sometimes
_PARSING = threading.Lock()  # Python 3.11 counts depth for all threads together, and fails where two parse
MISSED = 0.05  # how often a candidate that has it is taken for one that has not


class Candidates:
    """`before` is what the best program so far does: candidates are compared with it."""

    def __init__(
        self, kept: Property, before: Seen, width: int, valid: Callable[[str], str], tries: int = 1,
        known: set[str] | None = None, shape: Callable[[str], str] | None = None,
    ) -> None:  # fmt: skip
        """`valid(text)` tells without a run why a text is not a candidate. `known`: names of rejected candidates.
        `shape(text)` names all texts that run alike; default: each text runs in another way."""
        self.kept, self.before, self.width, self.tries = kept, before, width, tries
        self._shape, self._best = shape or key, ""
        self._valid, self.known = valid, known if known is not None else set()
        self.rejected: Counter[str] = Counter()
        self.ran = self.repeated = 0
        self.end: float | None = None  # by time.monotonic()
        self.on_rejected: Callable[[str], None] = lambda _: None
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(width, thread_name_prefix="candidate")

    def submit(self, text: str) -> Future[Seen | None]:
        """The behaviour of the candidate if it has the property; else None, and the reason is counted."""
        return self._pool.submit(self._try, text)

    def _try(self, text: str) -> Seen | None:
        why = self._valid(text)
        name = key(text) if why else self._shape(text)
        with self._lock:
            if name in self.known or name == self._best:
                self.repeated += 1
                return self.before if name == self._best else None
        seen: Seen | None = None
        lasting = bool(why)
        for _ in range(0 if why else self.tries):
            seen = self.kept.see(text)
            lasting = not seen.problem
            why = seen.problem or self.kept.differs(seen, self.before)
            if not why:
                seen = self.kept.confirm(text, seen)
                why = seen.problem or self.kept.differs(seen, self.before)
            with self._lock:
                self.ran += 1
            if not why:
                return seen
        with self._lock:
            self.rejected[why] += 1
            if lasting:
                self.known.add(name)
        if lasting:
            self.on_rejected(name)
        return None

    @property
    def left_s(self) -> float | None:
        """The time that is left for all of them; None: as long as it takes."""
        return None if self.end is None else max(self.end - time.monotonic(), 0.0)

    def take(self, text: str, seen: Seen) -> None:
        """Compare later candidates with this one, which is the best so far."""
        self.before, self._best = seen, self._shape(text)

    def close(self) -> None:
        """Wait for nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def key(text: str) -> str:
    """The name of a candidate in the cache."""
    return hashlib.sha256(text.encode()).hexdigest()


def python_shape(text: str) -> str:
    """The name of all Python programs that differ in comments and line breaks alone."""
    with _PARSING:
        return key(ast.dump(ast.parse(text)))


def tries_for(had: int, runs: int) -> int:
    """How often a candidate is run where the start had the property in `had` of `runs` runs."""
    if had >= runs:
        return 1
    return max(2, math.ceil(math.log(MISSED) / math.log(1 - had / runs)))


def python_problem(text: str, is_script: bool) -> str:
    """Why a text is not a program to run, or ''. A repro must have a claim and a `run`."""
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "candidate", "exec", dont_inherit=True)
            if is_script and "[tool.repro]" not in text and not script_file.is_script(text):
                return "no longer a script"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "not Python"
    if not is_script:
        if not (ast.get_docstring(tree) or "").strip():
            return "without a claim"
        runs = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run"]
        values = [node.value for run in runs for node in ast.walk(run) if isinstance(node, ast.Return)]
        if not any(value and not (isinstance(value, ast.Dict) and not value.keys) for value in values):
            return "run() returns nothing"  # a race ends it before; once cured it must be a program that is judged
    return ""
