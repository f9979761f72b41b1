"""A claim about what a program prints and how it exits: a file whose block has a `[tool.repro]` table, and no `run()`.

    # compare = { stdout = "numbers rel:1e-6" }   text (the default) | numbers | numbers rel:R | abs:A | close:R,A
    # compare = { stdout = "text", stderr = "text" }      what goes to standard error too
    # filters = ["address", "time", "path", { "job \\\\d+" = "job N" }]      what is not compared
    # exit = 3                                    the exit status (default 0)
    # args = ["--width", "8"]                     the arguments that the program is given
    # nvcc = ["-std=c++20"]                       of a .cu file: options for nvcc

`source` is repro_file.Source, whose errors point at the key.
"""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from harness.claim import expectation, languages, output_rules, silenced
from harness.claim.rule import Rule

STDOUT, STDERR = "stdout", "stderr"
OWN_KEYS = ("args", "exit", "filters")  # of such claims alone
CUDA_KEYS = ("nvcc",)  # of such claims in .cu files
SHARED_KEYS = ("arch", "compare", "nvidia", "outcome", "silicon", "timeout")
FILTERS = {
    "address": (r"0x[0-9a-fA-F]{7,}", "[ADDRESS]"),
    "time": (
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d{1,2}:\d\d:\d\d(?:\.\d+)?"
        r"|(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|ms|s|sec|secs|seconds?|min|minutes?)\b",
        "[TIME]",
    ),
    "path": (r"(?<![\w/.<])/(?:[\w.+@~-]+/)+[\w.+@~-]*", "[PATH]"),
}
FILTERS_S = 10.0  # that all filters of a claim may take
_FILTERING = """
import json, re, sys
filters, text = json.load(sys.stdin)
for pattern, replacement in filters:
    text = re.sub(pattern, replacement, text)
    print(end=".", file=sys.stderr, flush=True)
print(json.dumps(text))
"""
_NUMBER = r"\d[\d.eE+-]*|\.\d[\d.eE+-]*"
_NUMBERS = re.compile(
    rf"numbers(?: (?:rel:(?P<rel>{_NUMBER})|abs:(?P<abs>{_NUMBER})|close:(?P<close>{_NUMBER}),\s*(?P<to>{_NUMBER})))?"
)
_RULE_FIX = (
    'write stdout = "text" (the same characters), "numbers" (the same numbers between the same words), '
    '"numbers rel:1e-6", "numbers abs:1e-9" or "numbers close:1e-6,1e-9"'
)
_FILTER_FIX = (
    f"write some of {', '.join(FILTERS)}, or a regular expression and what to read in its place, as in "
    'filters = ["time", { "job [0-9]+" = "job N" }]'
)


class SlowFilter(Exception):
    """A filter that does not come to its end; the text is its pattern."""


@dataclass(frozen=True)
class Printed:
    """The claim. `filters`: regular expressions and their replacements, applied in this order."""

    exit: int = 0
    filters: tuple[tuple[str, str], ...] = ()

    def read(self, text: str) -> str:
        """The text that a program printed, after the filters. Raises SlowFilter.

        Filters of an author's run in a process that can be ended: some patterns take years over a long line.
        """
        if set(self.filters) <= set(FILTERS.values()):
            for pattern, replacement in self.filters:
                text = re.sub(pattern, replacement, text)
            return text
        command = [sys.executable, "-I", "-S", "-c", _FILTERING]
        job = json.dumps([self.filters, text]).encode()
        try:
            done = subprocess.run(command, input=job, capture_output=True, timeout=FILTERS_S, check=True)
        except subprocess.TimeoutExpired as error:
            count = (error.stderr or b"").count(b".")
            raise SlowFilter(self.filters[count][0]) from None
        return json.loads(done.stdout)


def is_one(tree: ast.Module, table: dict[str, Any], has_table: bool) -> bool:
    """Whether a file without `run` claims what it prints, and has not lost its `run`."""
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    compare = table.get("compare", {})
    has_stream = isinstance(compare, dict) and bool({STDOUT, STDERR} & compare.keys())
    is_said = has_stream or any(key in table for key in OWN_KEYS)
    others = [key for key in table if key not in SHARED_KEYS] or compare or "expected" in names
    return has_table and "run" not in names and (is_said or not others)


def refuse(source: Any, table: dict[str, Any]) -> None:
    """Raises ReproError where a file with `run` has keys about what a program prints."""
    for key in OWN_KEYS:
        if key in table:
            message = "is about what a program prints, and this file has run()"
            source.key_error(key, "NO_PRINTED_CLAIM", message, f"remove {key}, or remove run()")


def first_statement(tree: ast.Module) -> ast.stmt:
    """The place of a complaint about the whole file."""
    return tree.body[0] if tree.body else ast.Pass(lineno=1, col_offset=0)


def read(source: Any, table: dict[str, Any], claim: str) -> dict[str, Any]:
    """Read the table, as arguments of Repro: `printed`, `args` and `options` are for its script. Raises ReproError."""
    keys = SHARED_KEYS + OWN_KEYS + (CUDA_KEYS if source.path.suffix == languages.CUDA else ())
    for key in table:
        if key not in keys:
            message = "is about what run() returns, and the file has no run()"
            fix = f"remove {key}; a claim about what a program prints has {', '.join(sorted(keys))}"
            source.key_error(key, "NO_RUN", message, fix)
    nvidia = expectation.read(source, table)
    if any(one.outputs for one in nvidia.of_all):
        source.key_error("nvidia", "BAD_NVIDIA", "has `outputs` of run(), which the file has not", "write xfail")
    return {
        "claim": claim,
        "arch": source.arch(table),
        "params": {},
        "compare": _compare(source, table),
        "outcome": source.outcome(table),
        "timeout_s": source.timeout_s(table),
        "checks": source.checks({}),
        "has_expected": False,
        "needs": source.needs(),
        "requires_python": source.requires_python(),
        "nvidia": nvidia,
        "silicon": output_rules.silicon(source, table),
        "printed": Printed(_exit(source, table), _filters(source, table)),
        "args": strings(source, table, "args", '["--width", "8"]'),
        "options": strings(source, table, "nvcc", '["-std=c++20"]'),
        "silenced": silenced.read(source) if source.path.suffix == languages.CUDA else (),
    }


def _compare(source: Any, table: dict[str, Any]) -> dict[str, Rule]:
    compare = table.get("compare", {})
    if not isinstance(compare, dict):
        source.key_error("compare", "BAD_COMPARE", "is not a table", f"write compare = {{ ... }}: {_RULE_FIX}")
    for name in compare:
        if name not in (STDOUT, STDERR):
            message = "is not an output: a file without run() has only stdout and stderr"
            source.key_error(name, "BAD_COMPARE", message, f"remove {name}, or add `def run():` that returns it")
    return {name: _rule(source, name, text) for name, text in ({STDOUT: "text"} | compare).items()}


def _rule(source: Any, name: str, text: Any) -> Rule:
    match = _NUMBERS.fullmatch(text) if isinstance(text, str) else None
    if text == "text":
        return Rule("text")
    said = (match["rel"] or match["close"], match["abs"] or match["to"]) if match else ("inf",)
    try:
        bounds = [float(one or 0) for one in said]
    except ValueError:
        bounds = [math.inf]
    if not all(0 <= bound < math.inf for bound in bounds):
        source.key_error(name, "BAD_COMPARE", f"has the rule {text!r}", _RULE_FIX)
    return Rule("numbers", bounds[0], "", bounds[1])


def _exit(source: Any, table: dict[str, Any]) -> int:
    status = table.get("exit", 0)
    if isinstance(status, bool) or not isinstance(status, int) or not 0 <= status <= 255:
        source.key_error("exit", "BAD_EXIT", f"is {status!r}", "write the exit status, 0 to 255: exit = 1")
    return status


def strings(source: Any, table: dict[str, Any], key: str, example: str) -> tuple[str, ...]:
    """The strings of a key. Raises ReproError."""
    strings = table.get(key, [])
    if not isinstance(strings, list) or not all(isinstance(one, str) for one in strings):
        source.key_error(key, f"BAD_{key.upper()}", "is not a list of strings", f"write {key} = {example}")
    return tuple(strings)


def _filters(source: Any, table: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    filters, found = table.get("filters", []), []
    if not isinstance(filters, list):
        source.key_error("filters", "BAD_FILTERS", "is not a list", _FILTER_FIX)
    for one in filters:
        if isinstance(one, str) and one in FILTERS:
            found.append(FILTERS[one])
        elif isinstance(one, dict) and all(isinstance(text, str) for text in one.values()):
            found += [_own_filter(source, pattern, text) for pattern, text in one.items()]
        else:
            source.key_error("filters", "BAD_FILTERS", f"holds {one!r}", _FILTER_FIX)
    return tuple(found)


def _own_filter(source: Any, pattern: str, replacement: str) -> tuple[str, str]:
    try:
        re.sub(pattern, replacement, "")
        re.compile(pattern).sub(replacement, "0")
    except (re.error, IndexError) as error:
        fix = "correct the regular expression; a \\ is written twice in TOML's \"...\", once in '...'"
        source.key_error("filters", "BAD_FILTERS", f"holds {pattern!r}: {error}", fix)
    return pattern, replacement
