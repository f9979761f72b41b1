"""Values known while compiling, which control flow and calls of kernels carry as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Constant:
    """A hashable object without dynamic parts (core.pytree): an operation, an atom, a tiled copy."""

    __slots__ = ()
    truth_fix = ""  # it is true, as in Python: `op if op else other`

    def __flatten__(self) -> tuple[tuple, Any]:
        return (), self

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> Any:
        return key

    @property
    def type_text(self) -> str:
        """The type in an error."""
        return type(self).__name__


class CopyOp:
    """The base class of every copy operation: `cute.atom.CopyOp`."""

    __slots__ = ()


class OneThread:
    """A constant's view of thread `thr_idx`, which may be dynamic; a frozen dataclass's first base."""

    __slots__ = ()

    def __flatten__(self) -> tuple[tuple, Any]:
        return (self.thr_idx,), tuple((name, value) for name, value in vars(self).items() if name != "thr_idx")

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> Any:
        instance = cls.__new__(cls)
        for name, value in (*key, ("thr_idx", children[0])):
            object.__setattr__(instance, name, value)
        return instance
