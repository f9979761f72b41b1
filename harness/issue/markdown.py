"""Markdown in which text from elsewhere is text: it closes no fence, mentions nobody and links no issue.

Source: GitHub Flavored Markdown Spec 0.29, fenced code blocks; GitHub Docs, autolinked references.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness import terminal

_ZERO_WIDTH = "&#8203;"  # keeps `@` and `#` from what follows, also after GitHub has read the Markdown
_LINKED = re.compile(r"\\?([@#])(?=\w)")
_ISSUE = re.compile(r"\b(GH)-(?=\d)", re.IGNORECASE)
_COMMIT = re.compile(r"(?<![\w])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])([0-9a-f]{7})(?=[0-9a-f]*(?!\w))")


def prose(text: str) -> str:
    """One line of text: nothing in it is markup, a mention, a reference or a link."""
    text = _LINKED.sub(rf"\\\1{_ZERO_WIDTH}", terminal.markdown(text))
    return _COMMIT.sub(rf"\1{_ZERO_WIDTH}", _ISSUE.sub(rf"\1{_ZERO_WIDTH}-", text))


def fenced(text: str, language: str = "") -> str:
    """A block of code. Its fence is longer than any in the text."""
    text = terminal.printable(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """One line of code inside a sentence."""
    text = terminal.one_line(text).strip() or " "
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks, pad = "`" * (longest + 1), " " * ("`" in text)
    return f"{ticks}{pad}{text}{pad}{ticks}"


def folded(title: str, body: str) -> str:
    """A block that is closed until somebody opens it. `title` is text."""
    return f"<details>\n<summary>{html(title)}</summary>\n\n{body}\n\n</details>"


def html(text: str) -> str:
    """One line of text inside HTML."""
    text = terminal.one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([@#])(?=\w)", rf"\1{_ZERO_WIDTH}", text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are Markdown already."""
    lines = [f"| {' | '.join(row)} |" for row in [head, *rows]]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])
