"""What must not leave the author's machine in a captured file: values of environment variables, names of users and
hosts, absolute paths."""

from __future__ import annotations

import getpass
import io
import os
import re
import socket
import tokenize

LEAST_LETTERS = 6  # a shorter value of the environment may be any word
# Variables whose values are words of programs and of machines, and no secrets.
HARMLESS = re.compile(
    r"LANG|LC_\w+|TERM|COLORTERM|SHELL|SHLVL|PYTHON\w*|CUTE_DSL_\w+|DSL_\w+|TZ|EDITOR|PAGER|LS_COLORS|_"
)
ORDINARY = {"root", "user", "admin", "ubuntu", "localhost", "nobody", "runner", "docker", "main", "test", "node"}
_PATH = re.compile(r"(?<![\w./~-])(?:/[\w.@+-]+){2,}/?|(?<![\w./-])~/[\w./@+-]+")
REDACTED = "REDACTED"


def without(code: str) -> tuple[str, list[str]]:
    """The code with nothing private in its strings and comments, and a sentence for each string that was changed."""
    words = _private_words()
    said: dict[str, None] = {}
    lines = code.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    edits = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type not in _TEXT:
            continue
        new, why = _cleaned(token.string, words)
        if new != token.string:
            begin = starts[token.start[0] - 1] + _characters(lines, token.start)
            edits.append((begin, begin + len(token.string), new))
            if token.type != tokenize.COMMENT and not _is_docstring(lines[token.start[0] - 1]):
                said.update(dict.fromkeys(why))
    for begin, end, new in reversed(edits):
        code = code[:begin] + new + code[end:]
    return code, list(said)


_TEXT = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def _characters(lines: list[str], place: tuple[int, int]) -> int:
    return place[1]


def _is_docstring(line: str) -> bool:
    return line.lstrip().startswith(('"""', "'''", 'r"""'))


def _cleaned(text: str, words: dict[str, str]) -> tuple[str, list[str]]:
    why = []
    for word, meaning in words.items():
        if word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", REDACTED, text)
            why.append(f"a string was left out: it has {meaning}")
    for path in _PATH.findall(text):
        if _is_of_this_machine(path):
            text = text.replace(path, REDACTED)
            why.append("a string was left out: it has an absolute path")
    return text, why


def _is_of_this_machine(path: str) -> bool:
    first = path.split("/")[1] if path.startswith("/") else "~"
    return first == "~" or os.path.isdir(f"/{first}")


def _private_words() -> dict[str, str]:
    """Text that is private -> what it is; the longest first."""
    words: dict[str, str] = {}
    for name, value in os.environ.items():
        if HARMLESS.fullmatch(name):
            continue
        if len(value) >= LEAST_LETTERS and not value.isdigit():
            words[value] = f"the value of the environment variable {name}"
    for name, meaning in ((_user(), "the name of the user"), (socket.gethostname(), "the name of the host")):
        if len(name) > 2 and name.lower() not in ORDINARY:
            words[name] = meaning
    words[os.path.expanduser("~")] = "the path of the home folder"
    return dict(sorted(words.items(), key=lambda row: -len(row[0])))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
