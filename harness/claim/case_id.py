"""The names of a case: `repros/shuffle_width.py::p1::width=8`, as pytest prints it, and every shorter form.

FILE            a path, or a file's name without `.py`
FILE::CASE      `width=8`, `width=8,op=max`
FILE::HOST      of a claim without parameters; `p1 nvidia==4.6.3` is the host p1 with that compiler
FILE::HOST::CASE
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness import compiler_name

_CASE = re.compile(r"[^\W\d]\w*=(?!=)")
_FILE_AND_CASE = re.compile(r"(\S+) ([^\W\d]\w*=(?!=)\S*)")  # with a space between them
_COMPILER = re.compile(r"(::[\w.@+-]+(?::[\w.@+-]+)?) (ours|embedded|nvidia)(?:==([\w.]+))?(?=::|$)")
_PARAMETER = re.compile(r"(\w+)=([\w.+-]+),?")


@dataclass(frozen=True)
class CaseId:
    """The parts of an id; None where it does not name one."""

    file: str
    host: str | None = None
    compiler: str | None = None
    case: str | None = None


def parse(text: str) -> CaseId:
    """Read an id; what is none has no parts but itself."""
    file, *rest = text.split("::")
    spaced = _FILE_AND_CASE.fullmatch(text)
    if spaced and not rest:
        return CaseId(spaced[1], case=spaced[2])
    case = rest.pop() if rest and _CASE.match(rest[-1]) else None
    if len(rest) > 1 or "" in rest:
        return CaseId(text)
    host, _, compiler = rest[0].partition(" ") if rest else ("", "", "")
    return CaseId(file, host or None, compiler_name.current(compiler) or None, case)


def name(file: str, case: str) -> str:
    """`FILE::CASE`, or FILE where there are no parameters."""
    return f"{file}::{case}" if case else file


def keyword(text: str) -> str:
    """An id, or a `-k` expression that holds some, in the characters that `-k` knows.

    A parameter ends in a colon, so that `width=8` does not fit `width=80`.
    """
    text = _COMPILER.sub(lambda match: ":".join(filter(None, map(compiler_name.current, match.groups()))), text)
    return _PARAMETER.sub(r"\1:\2:", text)
