"""PTX text as tokens, read from left to right. PTX ISA chapter 4, Syntax."""

from __future__ import annotations

import bisect
import re

from dsl.emulator.ptx import literals
from dsl.emulator.ptx.syntax import PtxError

_TOKEN = re.compile(
    r"""(?:\s+|//[^\n]*|/\*.*?\*/)
    | (?P<token>
        "(?:\\.|[^"\\])*"
      | 0[xX]\w* | \.?\d[\w.]*(?:(?<=[eE])[+-]\d\w*)?
      | [A-Za-z_$%][\w$]*(?:\.[A-Za-z0-9_$]+(?:::[\w$]+)*)*
      | \.[A-Za-z_][\w$]*(?:::[\w$]+)*
      | [^\s]
      )""",
    re.VERBOSE | re.DOTALL,
)
# LLVM counts the lines of inline assembly on from the line of its call, so only the first `.loc` there is true.
_ASSEMBLY = re.compile(r"// begin inline asm\n(.*?)// end inline asm", re.DOTALL)
_LOC = re.compile(r"^[ \t]*\.loc[ \t][^\n]*", re.MULTILINE)


def _with_places_of_calls(text: str) -> str:
    """The text without the `.loc` that inline assembly has after its first one; all else keeps its place."""

    def one_place(assembly: re.Match) -> str:
        first = _LOC.search(assembly[0])
        end = first.end() if first else 0
        return assembly[0][:end] + _LOC.sub(lambda loc: " " * len(loc[0]), assembly[0][end:])

    return _ASSEMBLY.sub(one_place, text)


class Tokens:
    """The tokens of a text, and the place of the next one."""

    def __init__(self, text: str):
        self.text = text = _with_places_of_calls(text)
        self.tokens: list[str] = []
        self.starts: list[int] = []
        for match in _TOKEN.finditer(text):
            if match.lastgroup:
                self.tokens.append(match.group())
                self.starts.append(match.start())
        self.newlines = [m.start() for m in re.finditer("\n", text)]
        self.at = 0
        self.tokens.append("")
        self.starts.append(len(text))

    def line(self, index: int | None = None) -> int:
        """The line, from 1, of a token; of the next one unless told."""
        return bisect.bisect_left(self.newlines, self.starts[self.at if index is None else index]) + 1

    def error(self, message: str) -> PtxError:
        return PtxError(f"{message}, found `{self.tokens[self.at] or 'end of text'}`", self.line())

    def take(self, expected: str | None = None) -> str:
        """The next token, which must be `expected` where that is given. Raises PtxError."""
        token = self.tokens[self.at]
        if (expected is not None and token != expected) or not token:
            raise self.error(f"expected `{expected or 'a token'}`")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        """Take the next token if it is this one; whether it was."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.take()
        try:
            return sign * literals.integer(token)
        except literals.BadLiteral as wrong:
            self.at -= 1
            raise self.not_a_literal(wrong) if literals.begins(token) else self.error("expected an integer") from None

    def not_a_literal(self, wrong: literals.BadLiteral) -> PtxError:
        """Of the next token."""
        return PtxError(str(wrong), self.line())

    def integer_list(self) -> list[int]:
        values = [self.integer()]
        while self.accept(","):
            values.append(self.integer())
        return values

    def skip_to_semicolon(self) -> None:
        while self.take() != ";":
            pass
