"""Texts that must not leave the author's machine in a captured file: values of environment variables, names of users
and hosts, absolute paths."""

from __future__ import annotations

import ast
import getpass
import io
import os
import re
import socket
import tokenize

LEAST_LETTERS = 6  # a shorter value of the environment may be any word
CERTAIN_LETTERS = 12  # a value this long is not there by accident, whatever letters are around it
# Variables whose values are words of programs and of machines, and no secrets.
HARMLESS = re.compile(
    r"LANG|LC_\w+|TERM|COLORTERM|SHELL|SHLVL|PYTHON\w*|CUTE_DSL_\w+|DSL_\w+|GPU_REPRO_\w+|TZ|EDITOR|PAGER|LS_COLORS|_"
)
ORDINARY = {"root", "user", "admin", "ubuntu", "localhost", "nobody", "runner", "docker", "main", "test", "node"}
_PATH = re.compile(r"(?<![\w./~-])(?:/[\w.@+-]+){2,}/?|(?<![\w./-])~/[\w./@+-]+")
# Tokens by the form that their issuers gave them: GitHub, GitLab, Hugging Face, AWS, Slack, OpenAI and alike, JWT.
_TOKEN = re.compile(
    r"gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[a-z]-[\w-]{10,}"
    r"|\bsk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASS|KEY|CREDENTIAL|AUTH|URL|URI|DSN", re.IGNORECASE)
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
        new, why = _cleaned_token(token, words)
        if new != token.string:
            begin = starts[token.start[0] - 1] + token.start[1]
            edits.append((begin, begin + len(token.string), new))
            if token.type != tokenize.COMMENT and not _is_docstring(lines[token.start[0] - 1]):
                said.update(dict.fromkeys(why))
    for begin, end, new in reversed(edits):
        code = code[:begin] + new + code[end:]
    return code, list(said)


_TEXT = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def sentence(text: str) -> str:
    """A sentence with nothing private in it."""
    return _cleaned(text, _private_words())[0]


def _cleaned_token(token: tokenize.TokenInfo, words: dict[str, str]) -> tuple[str, list[str]]:
    """A string or comment as it may be written; a string by its value too, in which escapes hide nothing."""
    new, why = _cleaned(token.string, words)
    if token.type != tokenize.STRING:
        return new, why
    try:
        value = ast.literal_eval(new)
    except (ValueError, SyntaxError):  # an f-string
        return new, why
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    cleaned, more = _cleaned(text, words)
    if cleaned == text:
        return new, why
    return repr(cleaned.encode("latin-1") if isinstance(value, bytes) else cleaned), [*why, *more]


def _is_docstring(line: str) -> bool:
    return line.lstrip().startswith(('"""', "'''", 'r"""'))


def _cleaned(text: str, words: dict[str, str]) -> tuple[str, list[str]]:
    why = []
    for word, meaning in words.items():
        bounded = re.escape(word) if len(word) >= CERTAIN_LETTERS else rf"(?<!\w){re.escape(word)}(?!\w)"
        if word in text and re.search(bounded, text):
            text = re.sub(bounded, REDACTED, text)
            why.append(f"a string was left out: it has {meaning}")
    if _TOKEN.search(text):
        text = _TOKEN.sub(REDACTED, text)
        why.append("a string was left out: it looks like an access token")
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
        if _SECRET_NAME.search(name):
            for part in re.split(r"[\s:/@,;=?&]+", value):
                if len(part) > LEAST_LETTERS and part.lower() not in ORDINARY and not part.isalpha():
                    words.setdefault(part, f"a part of the environment variable {name}")
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
