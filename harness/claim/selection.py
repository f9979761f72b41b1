"""Which repros and cases a command line means: files, folders, and a `-k` expression."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.claim import case_id, languages
from harness.claim.repro_file import is_repro
from harness.errors import UsageError


def repros_in(folder: Path) -> list[Path]:
    """The files with a [tool.repro] block below a folder, in the order of their paths."""
    return [file for file in languages.files_below(folder) if is_repro(file.read_bytes())]


def matcher(keyword: str) -> Callable[[str], bool]:
    """Whether a name fits a `-k` expression of pytest. Raises UsageError."""
    if not keyword:
        return lambda name: True
    from _pytest.mark.expression import Expression

    try:
        expression = Expression.compile(case_id.keyword(keyword))
    except SyntaxError as error:
        raise UsageError(f"-k {keyword}: {error.msg}, at column {error.offset}") from None
    return lambda name: expression.evaluate(lambda word, **_: word.lower() in case_id.keyword(name).lower())
