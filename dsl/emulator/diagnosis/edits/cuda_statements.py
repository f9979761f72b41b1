"""The statements of a CUDA C++ file, by its braces, parentheses and semicolons; nothing is preprocessed."""

from __future__ import annotations

import re
from typing import NamedTuple

from dsl.emulator.diagnosis.edits.statements import BRANCH, FUNCTION, LEAVE, LOOP, PLAIN, Statement, Statements

_TOKENS = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)"
    r'|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|\w+|[^\s\w]',
    re.DOTALL | re.MULTILINE,
)
_CLOSES = {"(": ")", "{": "}", "[": "]"}
_LEAVES = frozenset({"return", "break", "continue", "goto"})


class _Token(NamedTuple):
    text: str
    line: int
    begins: bool
    ends: bool


class _BadText(Exception):
    """A text whose brackets do not match."""


def parse(text: str) -> Statements | None:
    """The statements of a text; None if its brackets do not match."""
    try:
        return Statements(_Parser(_tokens(text)).body())
    except _BadText:
        return None


def _tokens(text: str) -> list[_Token]:
    tokens = []
    for match in _TOKENS.finditer(text):
        if match["skip"] is None:
            before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            after = text[match.end() :].partition("\n")[0].strip()
            line = text.count("\n", 0, match.start()) + 1
            tokens.append(_Token(match[0], line, not before.strip(), not after or after.startswith(("//", "/*"))))
    return tokens


class _Parser:
    def __init__(self, tokens: list[_Token]):
        self.tokens, self.at = tokens, 0

    @property
    def next(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def body(self) -> list[Statement]:
        """Statements as far as the brace that ends them."""
        found = []
        while self.at < len(self.tokens) and self.next != "}":
            found.append(self.statement())
        return found

    def statement(self) -> Statement:
        first, word = self.tokens[self.at], self.next
        if word in ("if", "switch"):
            kind, bodies = BRANCH, self._choice()
        elif word in ("for", "while"):
            self._to_bracket("(")
            self._group()
            kind, bodies = LOOP, self._inner()
        elif word == "do":
            self.at += 1
            kind, bodies = LOOP, self._inner()
            self._plain()
        elif word == "{":
            kind, bodies = PLAIN, self._block()
        else:
            kind, bodies = self._plain()
        last = self.tokens[self.at - 1]
        return Statement(first.line, last.line, kind, bodies, first.begins, last.ends)

    def _choice(self) -> list[list[Statement]]:
        self._to_bracket("(")
        self._group()
        bodies = self._inner()
        while self.next == "else":
            self.at += 1
            bodies += self._inner()
        return bodies

    def _inner(self) -> list[list[Statement]]:
        """The body of a condition or a loop; a single statement without braces takes no other one."""
        if self.next == "{":
            return self._block()
        self.statement()
        return []

    def _block(self) -> list[list[Statement]]:
        self.at += 1
        found = self.body()
        if self.next != "}":
            raise _BadText
        self.at += 1
        return [found] if found else []

    def _plain(self) -> tuple[str, list[list[Statement]]]:
        """A statement that ends at a semicolon, a function, a struct, a namespace, or a label with what it marks."""
        start, has_value, before = self.at, False, ""
        while self.at < len(self.tokens):
            word = self.next
            if word == "}":
                raise _BadText
            if word == "{" and not has_value:
                kind, bodies = FUNCTION if before in (")", "noexcept", "const") else PLAIN, self._block()
                if self.next == ";":
                    self.at += 1
                return kind, bodies
            has_value = has_value or word == "="
            if word in _CLOSES:
                self._group()
            else:
                self.at += 1
            if word == ";":
                return LEAVE if self.tokens[start].text in _LEAVES else PLAIN, []
            before = self.tokens[self.at - 1].text
        raise _BadText

    def _to_bracket(self, word: str) -> None:
        while self.next != word:
            if not self.next:
                raise _BadText
            self.at += 1

    def _group(self) -> None:
        """Pass a bracket and all up to the one that closes it."""
        open_brackets = []
        while self.at < len(self.tokens):
            word = self.next
            self.at += 1
            if word in _CLOSES:
                open_brackets.append(_CLOSES[word])
            elif word in _CLOSES.values() and word != open_brackets.pop():
                raise _BadText
            if not open_brackets:
                return
        raise _BadText
