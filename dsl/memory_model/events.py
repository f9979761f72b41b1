"""The accesses, fences and barriers of a thread, as events. PTX ISA, memory consistency model (8.1 to 8.10)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Kind(IntEnum):
    """An atomic operation is a read and a write that follows it at once."""

    READ = 0
    WRITE = 1
    FENCE = 2
    BARRIER = 3


class Proxy(IntEnum):
    """The path by which memory is accessed."""

    GENERIC = 0
    CONSTANT = 1
    TEXTURE = 2
    SURFACE = 3
    ASYNC = 4


SCOPES = ("cta", "cluster", "gpu", "sys")  # from the narrowest
STRONG = frozenset({"relaxed", "acquire", "release", "acq_rel"})


@dataclass(frozen=True, slots=True)
class Event:
    """One access, fence or arrival at a barrier.

    `place`: the memory, as something hashable; `address`: by which virtual address it is accessed, if it has several.
    `order`: weak, begins (weak: an mbarrier), relaxed, acquire or release of an access; sc, acq_rel, acquire, release,
    alias, proxy or mbarriers (their beginnings alone) of a fence; at a barrier sync, arrive, relaxed (an arrival that
    needs a fence before it), wait (for those that meet the thread's last arrival) or meet (which orders no memory).
    `scope` is one of SCOPES. `value` is what it reads or writes, as bits.
    `needs`: the reads (positions in the thread) on which its value, its address or its execution depends.
    At a barrier that counts some threads of its block unless they have ended, `value` has these as bits.
    `site`: what names the instruction to whoever made the event. `region`: the kind of memory of an access; of a fence
    of a proxy the only kind it is for, None for all. `is_counted`: it is atomic to all accesses of its place that are
    counted too, whatever their scope.
    """

    kind: Kind
    place: Any = None
    order: str = "weak"
    scope: str = "cta"
    value: int = 0
    needs: frozenset[int] = frozenset()
    site: int = 0
    is_update: bool = False  # of an atomic operation
    proxy: Proxy = Proxy.GENERIC
    address: Hashable = None
    threads: int = 0  # how many the barrier counts
    until: int | None = None  # of an asynchronous access: the first event of its thread that comes after it
    then: tuple[int, ...] = ()  # and the asynchronous events of its thread that come after it all the same
    region: Hashable = None
    is_counted: bool = False

    @property
    def is_strong(self) -> bool:
        """Whether it is a strong operation. PTX ISA 8.4"""
        return self.kind == Kind.FENCE or self.order in STRONG

    @property
    def acquires(self) -> bool:
        """Whether it can end an acquire pattern. PTX ISA 8.8"""
        return self.order == "acquire" if self.kind == Kind.READ else self.order in ("sc", "acq_rel", "acquire")

    @property
    def releases(self) -> bool:
        """Whether it can begin a release pattern. PTX ISA 8.8"""
        return self.order == "release" if self.kind == Kind.WRITE else self.order in ("sc", "acq_rel", "release")


@dataclass(frozen=True, slots=True)
class Position:
    """The place where a thread runs: blocks of other clusters, or of other GPUs, are out of the narrower scopes."""

    block: Hashable
    cluster: Hashable
    gpu: Hashable = 0

    def reaches(self, other: Position, scope: str) -> bool:
        """Whether the scope, seen from this thread, has the other one in it. PTX ISA 8.5"""
        if scope == "cta":
            return self.block == other.block
        if scope == "cluster":
            return self.cluster == other.cluster
        return scope == "sys" or self.gpu == other.gpu


class End(IntEnum):
    """How a thread's events end."""

    DONE = 0
    WAITING = 1  # in a loop that goes on until another thread writes
    CUT = 2  # nobody looked further
    FAILED = 3  # at a fault


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of one thread, in program order, for one choice of what its reads give."""

    events: tuple[Event, ...]
    end: End = End.DONE
    polled: frozenset[int] = frozenset()  # reads of the round in which it waits
    fault: int = -1  # the number of the fault that ends it
