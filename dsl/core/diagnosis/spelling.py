"""The names that an author may have meant by a name that is not there."""

from __future__ import annotations

import builtins
import difflib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from dsl.span import is_between

_upstream: list[tuple[Callable, Callable]] = []  # what the surfaces know of the packages they stand for
_surfaces: list[str] = []
_DEPTH = 4  # `cutlass.cute.nvgpu.cpasync`


def register_surface(package: str) -> None:
    """Let the names of this package and of its modules be known as what an author may write."""
    _surfaces.append(package)


def know_upstream(names: Callable[[str], set[str] | None], parameters: Callable[[str, str], tuple[str, ...]]) -> None:
    """Let `names(space)` and `parameters(space, function)` answer for a package that a surface stands for."""
    _upstream.append((names, parameters))


def upstream(space: str) -> set[str] | None:
    """The names that upstream's module, or `class X`, has; None where that is not known."""
    return next((names_upstream for names, _ in _upstream if (names_upstream := names(space)) is not None), None)


def upstream_parameters(function: Callable | None) -> set[str]:
    """The parameters of upstream's function of the same name, of every module that has one."""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__qualname__", "").rpartition(".")[0].lstrip("_")
    spaces = (
        (f"class {owner}",)
        if owner
        else tuple(module.__name__.removeprefix("dsl.") for module in _modules() if vars(module).get(name) is function)
    )
    return {each for _, parameters in _upstream for space in spaces for each in parameters(space, name)}


def _modules() -> list[types.ModuleType]:
    return [
        module for name, module in list(sys.modules.items()) if name.startswith(tuple(_surfaces)) and module is not None
    ]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The one of `candidates` that `name` is a misspelling of, or None."""
    distances = [
        (distance, -_alike(name, each), each)
        for each in dict.fromkeys(candidates)
        if each != name
        for distance in [_distance(name.lower(), each.lower(), _allowed(name, each))]
        if distance is not None
    ]
    if distances:
        return min(distances)[2]
    close = difflib.get_close_matches(name, [each for each in candidates if each != name], 1, cutoff=0.8)
    return close[0] if close else None


def alike(name: str, names: Iterable[str]) -> str:
    """The one of `names` that an author who wrote `name` may have meant, or ""."""
    spelled: dict[str, list[str]] = {}
    for each in names:
        if not each.startswith("_") and each != name:
            spelled.setdefault(each.lower(), []).append(each)
    close = difflib.get_close_matches(name.lower(), spelled, 1, 0.65)
    if not close:
        return ""
    same_case = [each for each in spelled[close[0]] if each[0].isupper() == name[0].isupper()]
    return (same_case or spelled[close[0]])[0]


def swapped(name: str, candidates: Iterable[str]) -> str | None:
    """The one of `candidates` that `name` is surely a misspelling of: letters in another order, or one letter of a
    long name."""
    near = nearest(name, candidates)
    if near is None or (sorted(near) != sorted(name) and (len(name) < 5 or _distance(name, near, 1) is None)):
        return None
    return near


def _alike(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


def _allowed(a: str, b: str) -> int:
    """How many letters may be wrong: none of a short name but their order, one in three of a long one, up to three."""
    length = min(len(a), len(b))
    return 0 if length < 3 else 1 if length < 6 else min(length // 3, 3)


def _distance(a: str, b: str, allowed: int) -> int | None:
    """Letters to insert, leave out, change or swap with the next one, to make `b` of `a`; None for more than
    `allowed`. A swap in a short name is always allowed.
    """
    if len(a) == len(b) == 2 and a == b[::-1]:
        return 1
    if abs(len(a) - len(b)) > allowed:
        return None
    before, row = [], list(range(len(b) + 1))
    for i, left in enumerate(a):
        next_row = [i + 1]
        for j, right in enumerate(b):
            cost = min(row[j] + (left != right), row[j + 1] + 1, next_row[j] + 1)
            if i and j and left == b[j - 1] and a[i - 1] == right:
                cost = min(cost, before[j - 1] + 1)
            next_row.append(cost)
        before, row = row, next_row
    return row[-1] if row[-1] <= allowed else None


def in_modules(name: str, space: dict[str, object]) -> str | None:
    """How an author whose globals are `space` writes a name of this package: `cute.arch.thread_idx`; None where no
    module of the globals leads to it."""
    todo = [(spelt, value) for spelt, value in sorted(space.items()) if _is_surface(value)]
    seen: set[int] = set()
    for _ in range(_DEPTH):
        deeper: list[tuple[str, object]] = []
        for spelt, module in todo:
            if id(module) in seen:
                continue
            seen.add(id(module))
            if name in vars(module) and not name.startswith("_"):
                return f"{spelt}.{name}"
            deeper += [
                (f"{spelt}.{inner}", value)
                for inner, value in vars(module).items()
                if _is_surface(value) and not inner.startswith("_")
            ]
        todo = deeper
    return None


def visible_names(error: BaseException) -> dict[str, Any]:
    """The names and values that the author's code sees where `error` was raised."""
    names: dict[str, Any] = dict(vars(builtins))
    traceback = error.__traceback__
    while traceback is not None:
        if not is_between(traceback.tb_frame.f_code):
            names |= traceback.tb_frame.f_globals | traceback.tb_frame.f_locals
        traceback = traceback.tb_next
    return names


def _is_surface(value: object) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.startswith(tuple(_surfaces))
