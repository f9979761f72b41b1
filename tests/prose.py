"""Sentences of pages, docstrings, comments, messages and names of tests that break a rule of docs/prose.toml.

python -m tests.prose                          in the whole project
python -m tests.prose docs dsl/gpu README.md   in these files and folders
"""

from __future__ import annotations

import ast
import collections
import functools
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, CheckResult
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parents[1]
RULES = tomllib.loads((ROOT / "docs/prose.toml").read_text())["rule"]
PROGRAMS = ("dsl", "harness", "benchmarks", "tests")
EXAMPLES = "tests/test_prose.py"  # sentences that break rules on purpose
_CODE = re.compile(r"``[^`]+``|`[^`]*`|<[^<>]*>|\{[^{}]*\}")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_FENCE = re.compile(r"(?ms)^( *)(```+|~~~+)[^\n]*\n.*?^ *\2 *$|^(?: {4,}[^\n]*\n)+")
_BREAK = re.compile(r"\n[ \t]*\n|\n[ \t]*(?=[-*|#>] |\d+\. )|(?<=[.!?:])[)\"']?\s+(?=[A-Z`(])|\s\|\s|\|$")
_MARKS = re.compile(r"^[\s\-*|#>\d.]*(?=[A-Za-z`(])")
_SQL = re.compile(r"\s*(?:select|create table|update|insert|delete from)\s")
_WORD = re.compile(r"\b[a-z]{2,}\b")


class Broken(NamedTuple):
    """A sentence that breaks a rule."""

    path: str
    line: int
    rule: str
    fix: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.fix}\n    {self.sentence}"


def broken(path: str, text: str) -> list[Broken]:
    """The rules that sentences of a file break."""
    return [
        Broken(path, line, rule, fix, sentence)
        for line, sentence in (_of_page(text) if path.endswith(".md") else _of_program(text))
        for rule, fix in rules_broken(sentence)
    ]


def rules_broken(sentence: str) -> list[tuple[str, str]]:
    """The names of the rules that a sentence breaks, each with a way to mend it."""
    if not any(re.search(rule["pattern"], sentence) for rule in RULES):
        return []
    config = {"max_errors": 10, "checks": _checks()}
    return [(one.check_result.check_path, one.check_result.message) for one in LintFile("", sentence).lint(config)]


@functools.cache
def _checks() -> dict[str, bool]:
    checks = tuple(Check(_search(re.compile(one["pattern"])), path=one["name"], message=one["fix"]) for one in RULES)
    CheckRegistry().register_many(checks)
    return {one.path: True for one in checks}


def _search(pattern: re.Pattern[str]):
    def search(text: str, check: Check) -> Iterator[CheckResult]:
        if found := pattern.search(text.strip()):
            yield CheckResult(check.path, check.message, (found.start() + 1, found.end() + 1), None)

    return search


def _of_page(text: str) -> Iterator[tuple[int, str]]:
    return _sentences(_FENCE.sub(lambda found: "\n" * found[0].count("\n"), text), 1)


def _of_program(text: str) -> Iterator[tuple[int, str]]:
    nodes = list(ast.walk(ast.parse(text)))
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    docstrings = set(_docstrings(nodes))
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ").capitalize()
        if isinstance(node, ast.JoinedStr):
            words = "".join(str(one.value) if isinstance(one, ast.Constant) else "`x`" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            words = node.value
        else:
            continue
        if node in docstrings or (len(_WORD.findall(words)) >= 4 and not _SQL.match(words)):
            yield from _sentences(words, node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from _sentences(token.string.lstrip("#! "), token.start[0])


def _docstrings(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def _sentences(text: str, line: int) -> Iterator[tuple[int, str]]:
    """(line, sentence) without code, links and marks of Markdown."""
    at = 0
    for end in [*(one.span() for one in _BREAK.finditer(text)), (len(text), len(text))]:
        sentence = _LINK.sub(r"\1", _CODE.sub("`x`", " ".join(text[at : end[0]].split())))
        if sentence := _MARKS.sub("", sentence):
            yield line + text.count("\n", 0, at + len(text[at:]) - len(text[at:].lstrip())), sentence
        at = end[1]


def files(names: list[str]) -> list[str]:
    """Those of the project with sentences that are read."""
    listed = subprocess.run(["git", "ls-files", *names], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [
        name
        for name in listed.splitlines()
        if name.endswith(".md") or (name.endswith(".py") and name.split("/")[0] in PROGRAMS and name != EXAMPLES)
    ]


def main(names: list[str]) -> int:
    """Print each, and how many break each rule."""
    found = [one for name in files(names) for one in broken(name, (ROOT / name).read_text())]
    for one in found:
        print(one)
    print(
        *(f"{count:5} {rule}" for rule, count in collections.Counter(one.rule for one in found).most_common()), sep="\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
