"""Text from elsewhere (a host, a repro, a record, a file's name) as a person sees it: the only way to a terminal.

Characters that a terminal obeys or that a reader cannot see are escaped, as in Python's `repr`: control characters,
escape sequences, directions of writing, characters without width. Standard library only.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, TextIO

_MARKUP = r"(?i)[\\`*\[\]<>|#&~@$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\."  # compiled when it is used
_KEPT = "\n\t"
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # shown as nothing, though they count as letters or marks


class _Spelling(dict):
    """Code point -> how it is shown; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = character in _KEPT or (character.isprintable() and character not in _BLANK)
        self[code] = character if plain else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        return self[code]


_SPELLING = _Spelling()


def printable(text: str) -> str:
    """The text with every character escaped that a terminal obeys or that cannot be seen; lines stay lines."""
    if text.isascii() and text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_SPELLING)


_COLOUR = r"(\x1b\[[0-9;]*m|\r)"


def printable_with_colours(text: str) -> str:
    """The same for what a program prints live: colours and the return to a line's start are kept."""
    return "".join(part if number % 2 else printable(part) for number, part in enumerate(re.split(_COLOUR, text)))


def one_line(text: str) -> str:
    """The same for a name: a line's end is escaped too."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def markdown(text: str) -> str:
    """One line of text as Markdown shows it, also in a cell of a table: nothing in it is markup, a link or HTML."""
    return re.sub(_MARKUP, lambda match: f"\\{match[0]}", one_line(text))


class OutputFailed(OSError):
    """Standard output or error takes nothing more: a full disk, a quota. A closed pipe is a BrokenPipeError."""


COLOUR_WHEN = "auto", "always", "never"
_VERDICT = r"(?m)^(?:(pass)|(fail)|(infra|skip)|(fix|again))(?=:)"  # compiled when it is used
_SGR = 32, 31, 33, 36  # green, red, yellow, cyan: ECMA-48, SGR


def wants_colour(file: TextIO, when: str = "auto") -> bool:
    """Whether to colour what goes there: `--color`, then NO_COLOR and FORCE_COLOR (no-color.org), then a terminal."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (file.isatty() and os.environ.get("TERM") != "dumb")


def coloured(text: str) -> str:
    """Words that begin a line of a verdict, in their colours; the text is printable."""
    return re.sub(_VERDICT, lambda match: f"\x1b[{_SGR[(match.lastindex or 1) - 1]}m{match[0]}\x1b[0m", text)


def say(text: object = "", file: TextIO | None = None, colour: bool = False) -> None:
    """Print text from anywhere, whatever the encoding of the terminal. Raises OutputFailed, BrokenPipeError.

    `colour`: print the words of a verdict in their colours.
    """
    file = file or sys.stdout
    line = coloured(printable(str(text))) if colour else printable(str(text))
    encoding = getattr(file, "encoding", None) or "utf-8"
    put(line.encode(encoding, "backslashreplace").decode(encoding) + "\n", file)


def put(data: Any, file: Any) -> None:
    """Write and flush it. Raises OutputFailed, BrokenPipeError."""
    try:
        file.write(data)
        file.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        is_error = file in (sys.stderr, getattr(sys.stderr, "buffer", None))
        raise OutputFailed(f"standard {'error' if is_error else 'output'}: {error.strerror or error}") from error


def open_closed() -> None:
    """Give /dev/null to each of standard input, output and error that is closed, so that no file takes its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)
