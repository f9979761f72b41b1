"""Arguments of T.ptx instructions besides numbers and addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsl.core.number.dtypes import Numeric


@dataclass(frozen=True)
class Predicate:
    """`T.ptx.pred(x)`: the integer or bool `x` as a predicate."""

    value: Any


@dataclass(frozen=True)
class Moved:
    """`T.ptx.addr(base, offset)`: an address, and a constant number of bytes after it."""

    base: Any
    offset: int


class Sink:
    """`T.ptx.SINK`: a result that is not kept."""

    def __repr__(self) -> str:
        return "T.ptx.SINK"


SINK = Sink()


@dataclass
class Named:
    """An argument that is a name, which the instruction may assign: `content` is what the name holds."""

    content: Any
    name: str


@dataclass
class Place:
    """An argument that is an element, which the instruction may write."""

    buffer: Any
    index: Any


@dataclass
class Written:
    """A destination: its dtype, the type of its operand, and how to read what it held before."""

    dtype: Any
    type: str
    old: Callable[[], Numeric]
