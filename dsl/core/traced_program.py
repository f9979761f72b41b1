"""The result of tracing: the kernels with what each takes and needs, and the text of both modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl.span import Span


@dataclass(frozen=True)
class Allocation:
    """Shared memory handed out at `place`: up to `end_bytes` of the kernel's region."""

    end_bytes: int
    place: Span


@dataclass(frozen=True)
class Need:
    """A feature that the expression at `place` uses, and its first GPU: "sm_100a" is that family and later ones."""

    arch: str
    what: str
    place: Span


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel's entry: its symbol, (kind, size in bytes) a parameter, shared memory it allocates itself.

    `place` is its launch, which asks for the static `asked_bytes` of shared memory, or for what was allocated.
    """

    name: str
    params: tuple[tuple[str, int], ...]
    smem_bytes: int = 0
    allocations: tuple[Allocation, ...] = ()
    place: Span | None = None
    asked_bytes: int | None = None
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True)
class Traced:
    """The result of tracing: text for the two modules, and how to fill the argument block."""

    name: str
    host_mlir: str
    device_mlir: str  # "" where no kernel is launched
    kernels: tuple[Kernel, ...]
    slots: str  # one struct format letter an 8-byte slot, slot 0 (the handle) left out
    result: Any = None  # what the function returned, where that is static
    failures: tuple = ()  # assertions.Failure: the host function returns the number of the one it ended with
