"""Bulk copies into shared memory that are on their way: see bulk_flight.cc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Flight:
    """A copy into shared memory, which an mbarrier of the same block tells of: who began it (slot and thread) at which
    site, where it goes and where in shared memory it comes from (0: elsewhere), the mbarrier's address and which of its
    phases the copy is of."""

    slot: Any  # of check/order.py
    thread: int
    site: int
    address: int
    source: int
    size_bytes: int
    barrier: int
    phase: int
