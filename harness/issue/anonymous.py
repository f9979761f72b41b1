"""Text without the author's paths, users, hosts and addresses. Standard library only."""

from __future__ import annotations

import getpass
import io
import os
import platform
import re
import socket
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

USER, HOST, ADDRESS, HOME = "USER", "HOST", "ADDRESS", "~"
# Names that many machines have: they name nobody, and some are words of programs.
ORDINARY = frozenset(
    "admin debian docker ec2-user embedded emulator fedora git github host local localhost main nobody node python "
    "replay repro root runner test ubuntu user".split()
)
LEAST_IN_CODE = 4  # letters: a shorter name may be a register
_QUOTED_PATH = re.compile(r"""(["'`])((?:file://)?(?:/|~/)[^"'`\n]*?)\1""")
_PATH = re.compile(r"(?<![\w.~/%-])(?:file://)?(?:~|/[\w.@+~%=-]+)(?:/[\w.@+~%=,-]+)+/?")
# A file at a line, as in a traceback or a finding: its folders may name a private project, and nobody else has them.
_FILE_AT_LINE = re.compile(r"""(?<![\w.~/%@+=-])(?:[\w.@+~%=-]+/)+[\w.@+~%=-]*\.\w+(?=["'`]?, line \d|:\d+\b)""")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@(?:[\w-]+\.)*[\w-]+")
_IP = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]|\.\d)")
_TEXT = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
_SHARED = ("site-packages/", "dist-packages/")


@dataclass
class Anonymous:
    """Makes text anonymous. `names`: private word -> the word shown for it; `folders`: private path -> the path shown.

    `kept` lists identifiers of a program that contain a name: they are not renamed.
    """

    names: dict[str, str]
    folders: dict[str, str]
    kept: list[str] = field(default_factory=list)

    def text(self, text: str) -> str:
        """A message, a claim, what a program printed."""
        text = self._without_paths(text)
        text = _ADDRESS.sub(ADDRESS, text)
        text = _IP.sub(ADDRESS, text)
        return self._without_names(text, self.names)

    def code(self, text: str) -> str:
        """PTX, SASS or a diff of them: a name of three letters may be a register."""
        return self._without_names(self._without_paths(text), {n: to for n, to in self.names.items() if _is_long(n)})

    def source(self, text: str) -> str:
        """A program: its comments and strings are changed, its statements stay."""
        edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type in _TEXT and (new := self._literal(token.string)) != token.string:
                    edits.append((token.start, token.end, new))
                elif token.type == tokenize.NAME and self._without_names(token.string, self.names) != token.string:
                    self.kept += [token.string] if token.string not in self.kept else []
        except (tokenize.TokenError, SyntaxError):
            return self.text(text)  # not a program of Python
        lines = text.splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        for begin, end, new in reversed(edits):
            a, b = starts[begin[0] - 1] + begin[1], starts[end[0] - 1] + end[1]
            text = text[:a] + new + text[b:]
        return text

    def _literal(self, text: str) -> str:
        """A token's text; the quotes of a string do not enclose a path."""
        match = re.fullmatch(r"(?s)([A-Za-z]*)(\"\"\"|'''|\"|')(.*)\2", text)
        if match is None:
            return self.text(text)
        prefix, quote, inner = match.groups()
        whole = re.fullmatch(r"(?:file://)?(?:~|/[^\n/]+)(?:/[^\n/]+)+/?", inner)
        return f"{prefix}{quote}{self.text(_end_of(inner) if whole else inner)}{quote}"

    def _without_paths(self, text: str) -> str:
        for folder, to in sorted(self.folders.items(), key=lambda row: -len(row[0])):
            end = "" if folder.endswith("/") else r"(?![\w-])"
            text = re.sub(re.escape(folder) + end, lambda _, to=to: to, text)
        text = _QUOTED_PATH.sub(lambda match: f"{match[1]}{_end_of(match[2])}{match[1]}", text)
        text = _PATH.sub(lambda match: _end_of(match[0]), text)
        return _FILE_AT_LINE.sub(lambda match: _end_of(match[0]), text)

    @staticmethod
    def _without_names(text: str, names: dict[str, str]) -> str:
        for name, to in sorted(names.items(), key=lambda row: -len(row[0])):
            pattern = rf"(?<![^\W_])(?<![%$]){re.escape(name)}(?![^\W_])"
            text = re.sub(pattern, lambda _, to=to: to, text, flags=re.IGNORECASE)
        return text


def of_this_machine(root: Path, hosts: Iterable[str] = (), users: Iterable[str] = ()) -> Anonymous:
    """For a project: the user, this machine, the home folder, the project's folder, hosts of ssh_config and these.

    `hosts`: aliases, addresses, user@host; `users`: more names.
    """
    names: dict[str, str] = {}
    for user in (*users, *_users()):
        _add(names, user, USER)
    for host in (*hosts, *_hosts(), *ssh_names()):
        user, at, machine = host.rpartition("@")
        _add(names, user if at else "", USER)
        _add(names, machine.partition(":")[0], HOST)
    folders = {str(folder): "" for folder in {root, root.resolve()} if len(folder.parts) > 1}
    folders = {f"{folder}/": "" for folder in folders} | dict.fromkeys(folders, ".")
    homes = {os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))} - {"/", "~"}
    return Anonymous(names, folders | {home: HOME for home in homes if home not in folders})


def _add(names: dict[str, str], name: str, to: str) -> None:
    if len(name) > 1 and name.lower() not in ORDINARY and not name.isdigit():
        names.setdefault(name, to)


def _is_long(name: str) -> bool:
    return len(name) >= LEAST_IN_CODE


def _users() -> set[str]:
    named = {os.environ.get(key, "") for key in ("USER", "LOGNAME", "SUDO_USER")}
    try:
        named.add(getpass.getuser())
    except (KeyError, OSError):
        pass
    home = Path(os.path.expanduser("~"))
    return named | {home.name} if home.parent.name in ("home", "Users") else named


def _hosts() -> set[str]:
    machine = {socket.gethostname(), platform.node()}
    return machine | {name.partition(".")[0] for name in machine}


def ssh_names(file: Path | None = None) -> list[str]:
    """Hosts, their addresses and users of ssh_config; patterns are left out."""
    file = file or Path(os.path.expanduser("~")) / ".ssh" / "config"
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return []
    found: list[str] = []
    for line in lines:
        key, _, rest = line.strip().replace("=", " ", 1).partition(" ")
        words = [word.strip('"') for word in rest.split()]
        if key.lower() in ("host", "hostname"):
            found += [word for word in words if not re.search(r"[*?!%]", word)]
        elif key.lower() == "user":
            found += [f"{word}@" for word in words]
    return found


def _end_of(path: str) -> str:
    """The part of a path that others know: from the installed package on, or the last name."""
    for folder in _SHARED:
        if folder in path:
            return path[path.rindex(folder) :]
    path = path.rstrip("/")
    return path.rpartition("/")[2] or path
