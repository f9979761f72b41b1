"""Which cases a command is about: the file that was named, and what `-p` leaves of its cases."""

from __future__ import annotations

import difflib
from pathlib import Path

from harness.claim.languages import SUFFIXES
from harness.claim.repro_file import Case, Repro, Value, is_repro, label, short
from harness.errors import UsageError
from harness.store import working_root


def path_of(name: str) -> Path:
    """The file of a repro: a path, or its name without the suffix where only one of the project is called so.

    Raises UsageError for a name that several repros have, and for a misspelt one. Any other path need not exist.
    """
    if Path(name).exists():
        return Path(name)
    from harness.records.index.moved import by_name

    top = working_root()
    paths = by_name(top) if Path(name).suffix in ("", *SUFFIXES) else {}
    if "/" not in name and not name.endswith(SUFFIXES):
        called = [top / path for suffix in SUFFIXES for path in paths.get(f"{name}{suffix}", ())]
        files = [path for path in called if is_repro(path.read_bytes())]
        if len(files) > 1:
            raise UsageError(f"several repros are called {name}: {', '.join(short(path) for path in files)}")
        if files:
            return files[0]
    stems = {Path(file).stem: found[0] for file, found in paths.items()}
    if alike := difflib.get_close_matches(Path(name).stem, stems, 1):
        raise UsageError(f"there is no file {name}; did you mean `{short(top / stems[alike[0]])}`?")
    return Path(name)


def nothing_fits(place: str, keyword: str) -> str:
    """A sentence for a file or folder of which no repro was chosen."""
    if keyword:
        return f"no case of {place} fits -k {keyword}\nfix: leave out -k, and see their names"
    folder = "" if place == "repros" else f" --folder {place}"
    return (
        f"no repros in {place}: none of its files has a `# /// script` block with [tool.repro]\n"
        f"fix: `repro new NAME{folder}` writes one"
    )


def chosen(repro: Repro, options: list[str]) -> list[Case]:
    """The cases that `-p` leaves; a value that the file does not declare makes a new case."""
    chosen: dict[str, list[Value]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or name not in repro.params:
            parameters = ", ".join(repro.params) or "none"
            raise UsageError(
                f"-p {option}: write -p NAME=VALUE; the parameters of {short(repro.path)} are: {parameters}"
            )
        chosen.setdefault(name, []).append(_value(repro, name, text))
    params = {name: tuple(chosen.get(name, values)) for name, values in repro.params.items()}
    return [Case(repro, values) for values in repro.combinations(params)]


def _value(repro: Repro, name: str, text: str) -> Value:
    """The declared value with this label, or a value of the type of the declared ones. Raises UsageError."""
    for value in repro.params[name]:
        if label(value) == text:
            return value
    kind = type(repro.params[name][0])
    try:
        if kind is bool:
            raise ValueError
        return kind(text)
    except ValueError:
        declared = ", ".join(label(value) for value in repro.params[name])
        raise UsageError(
            f"-p {name}={text}: {text!r} is not of type {kind.__name__}; declared are {declared}"
        ) from None
