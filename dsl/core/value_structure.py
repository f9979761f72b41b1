"""What `__extract_mlir_values__` gives: a list of values, or nested dicts and lists, whose keys name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Structure:
    """One level: the keys of a dict, or None for a list, and what is under each; a value is None there."""

    keys: tuple | None
    parts: tuple[Structure | None, ...]


def taken_apart(raw: Any) -> tuple[list, Structure | None]:
    """The values from left to right, and the structure that holds them: None for a plain list."""
    if not isinstance(raw, dict) and not any(isinstance(part, (dict, list, tuple)) for part in raw):
        return list(raw), None
    values: list = []
    return values, _structure(raw, values)


def _structure(raw: Any, values: list) -> Structure | None:
    if isinstance(raw, dict):
        return Structure(tuple(raw), tuple(_structure(part, values) for part in raw.values()))
    if isinstance(raw, (list, tuple)):
        return Structure(None, tuple(_structure(part, values) for part in raw))
    values.append(raw)
    return None


def put_together(structure: Structure | None, values: Sequence) -> Any:
    """What `taken_apart` took, with these values in it."""
    return list(values) if structure is None else _filled(structure, iter(values))


def _filled(structure: Structure | None, values: Iterator) -> Any:
    if structure is None:
        return next(values)
    parts = [_filled(part, values) for part in structure.parts]
    return parts if structure.keys is None else dict(zip(structure.keys, parts, strict=True))


def names(structure: Structure, owner: str = "") -> list[str]:
    """The author's possible name for each value: `owner.position.x`, `owner.forces[0]`."""
    if structure.keys is None and structure.parts == (None,):  # a number's list of its one value
        return [owner]
    found: list[str] = []
    for position, part in enumerate(structure.parts):
        name = f"{owner}[{position}]" if structure.keys is None else f"{owner}.{structure.keys[position]}"
        found += [name] if part is None else names(part, name)
    return found
