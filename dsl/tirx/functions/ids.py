"""Which thread this is: `T.cta_id([grid])`, `T.thread_id([block])`, `T.warp_id([warps])` and the others.

Each takes its extents, which become the extents of the launch. Several of one block must agree. The first of several
names is x: `tx, ty = T.thread_id([16, 8])` has 16 threads in x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, is_dynamic, numeric
from dsl.core.phrase import shown
from dsl.core.state import Stack
from dsl.core.trace import COOPERATIVE, PROGRAMMATIC, Launch
from dsl.gpu.inline import register
from dsl.span import Span, here
from dsl.tirx.errors.error_wording import type_name

WARP, WARPGROUP_WARPS = 32, 4


class NoBlock(DSLUserCodeError):
    """A kernel in which no id declares how many threads a block has."""


@dataclass
class Extents:
    """The extents that the ids of one kernel declare: id name -> (extents, place)."""

    declared: dict[str, tuple[tuple, Span]] = field(default_factory=dict)
    cooperative: bool = False
    programmatic: bool = False
    attributes: dict[str, int] = field(default_factory=dict)  # T.attr: launch bounds

    def launch(self) -> Launch:
        """The launch they describe. Raises DSLUserCodeError where the block has no extent or two."""
        cluster = self._of("cta_id_in_cluster") or (1, 1, 1)
        clusters = self._of("cluster_id")
        grid = self._of("cta_id")
        if clusters is not None:
            whole = tuple(a * b for a, b in zip(clusters, cluster))
            if grid is not None and not _differs_never(grid, whole):
                self._refuse("cta_id", "cluster_id", grid, whole, "blocks")
            grid = grid or whole
        return Launch(
            grid or cluster,
            self._block(),
            cluster,
            flags=COOPERATIVE * self.cooperative | PROGRAMMATIC * self.programmatic,
        )

    def place_of(self, extent: Any, otherwise: Span) -> Span:
        """The place where an extent was declared."""
        return next(
            (place for extents, place in self.declared.values() if any(extent is one for one in extents)), otherwise
        )

    def _of(self, name: str) -> tuple | None:
        entry = self.declared.get(name)
        return None if entry is None else (*entry[0], *(1,) * (3 - len(entry[0])))

    def _block(self) -> tuple:
        counts = [
            (name, extents)
            for name in ("thread_id", "lane_id", "thread_id_in_wg")
            if (extents := self._threads(name)) is not None
        ]
        if not counts:
            raise NoBlock(
                "the number of threads in a block is not known",
                id="LAUNCH_NO_BLOCK",
                fix="tx = T.thread_id([128]), or T.warp_id([4]) and T.lane_id([32])",
            )
        first, threads = counts[0]
        for name, other in counts[1:]:
            if isinstance(threads, int) and isinstance(other, int) and threads != other:
                self._refuse(first, "warp_id" if name == "lane_id" else name, threads, other, "threads")
        return self._of("thread_id") or (threads, 1, 1)

    def _threads(self, name: str) -> Any:
        """How many threads a block has by one way of declaring them; None where it is not declared."""
        if name == "thread_id":
            extents = self._of(name)
            return (
                None
                if extents is None
                else math.prod(extents)
                if all(isinstance(e, int) for e in extents)
                else extents[0]
            )
        warps = self._product("warp_id")
        groups = self._product("warpgroup_id")
        if name == "thread_id_in_wg":
            return None if name not in self.declared and groups is None else (groups or 1) * WARP * WARPGROUP_WARPS
        if warps is None:
            by_lanes = self.declared.keys() & {"lane_id", "thread_id", "warpgroup_id"} == {"lane_id"}
            return WARP if by_lanes else None
        return warps * WARP

    def _product(self, name: str) -> Any:
        entry = self.declared.get(name)
        return None if entry is None else math.prod(entry[0])

    def _refuse(self, one: str, other: str, first: Any, second: Any, what: str) -> None:
        raise DSLUserCodeError(
            f"T.{one} declares {first} {what} a block and T.{other} {second}",
            id="LAUNCH_EXTENTS_DIFFER",
            place=self.declared[other if other in self.declared else one][1],
            also=((self.declared[one][1], "declared here"),),
            fix="make them agree",
        )


def _differs_never(a: Sequence, b: Sequence) -> bool:
    return all(not (isinstance(x, int) and isinstance(y, int)) or x == y for x, y in zip(a, b))


_open: Stack[Extents] = Stack()


def collecting() -> AbstractContextManager[Extents]:
    """Collect the extents that the ids of a kernel declare while it is traced."""
    return _open.pushed(Extents())


def current(what: str) -> Extents:
    """Of the kernel being traced. Raises DSLUserCodeError in the host part."""
    extents = _open.top()
    if extents is None:
        raise DSLUserCodeError(
            f"T.{what} belongs to the device part of a function",
            id="DEVICE_PART",
            fix="write T.device_entry() before it",
        )
    return extents


def declare(name: str, extents: Any, most: int = 3) -> tuple:
    """Note the extents of an id. Raises DSLUserCodeError for extents that are none, or other than declared before."""
    values = tuple(extents) if isinstance(extents, (list, tuple)) else (extents,)
    if not 1 <= len(values) <= most:
        raise DSLUserCodeError(
            f"T.{name} takes {'one extent' if most == 1 else f'1 to {most} extents'}, got {len(values)}",
            fix=f"T.{name}([4])",
            id="LAUNCH_EXTENT",
        )
    numbers = []
    for value in values:
        number = numeric(value)
        if number is None or not number.is_integer:
            raise DSLUserCodeTypeError(
                f"an extent of T.{name} must be an integer, got {type_name(value)}",
                fix=f"T.{name}([4])",
                id="LAUNCH_EXTENT",
            )
        numbers.append(number if is_dynamic(number) else int(number.value))
    declared = current(name).declared
    if name in declared and not _differs_never(declared[name][0], numbers):
        raise DSLUserCodeError(
            f"T.{name} declares {numbers} here and {list(declared[name][0])} before",
            id="LAUNCH_EXTENTS_DIFFER",
            also=((declared[name][1], "declared here"),),
            fix="make them agree",
        )
    declared.setdefault(name, (tuple(numbers), here()))
    return tuple(numbers)


def _place(name: str, extents: tuple) -> Numeric | tuple[Numeric, ...]:
    """The special registers `name` on as many axes as there are extents."""
    ids = _axes(name, extents)
    return ids[0] if len(ids) == 1 else ids


def _axes(name: str, extents: tuple) -> tuple[Numeric, ...]:
    return tuple(register(f"{name}.{axis}") for axis, _ in zip("xyz", extents))


def linear() -> Numeric:
    """The thread's number in its block."""
    entry = current("thread_id").declared.get("thread_id")
    extents = entry[0] if entry else (1,)
    axes = _axes("tid", extents)
    if len(extents) == 1:
        return axes[0]
    linear = axes[0] + axes[1] * extents[0]
    return linear + axes[2] * (extents[0] * extents[1]) if len(extents) == 3 else linear


def cta_id(extents: Any, preferred: Any = None) -> Any:
    """The block's place in the grid of `extents` blocks."""
    return _place("ctaid", declare("cta_id", extents))


def thread_id(extents: Any) -> Any:
    """The thread's place in its block of `extents` threads."""
    return _place("tid", declare("thread_id", extents))


def warp_id(extents: Any) -> Numeric:
    """The warp's number among the `extents` warps of its block."""
    declare("warp_id", extents, 1)
    return linear() >> 5


def lane_id(extents: Any) -> Numeric:
    """The thread's lane in its warp; the extent is 32."""
    extent = declare("lane_id", extents, 1)
    if extent != (WARP,):
        raise DSLUserCodeError(f"a warp has 32 lanes, got {extent[0]}", fix="T.lane_id([32])", id="LAUNCH_EXTENT")
    return linear() & 31


def warpgroup_id(extents: Any) -> Numeric:
    """The number of the thread's warpgroup (4 warps) among the `extents` of its block."""
    declare("warpgroup_id", extents, 1)
    return linear() >> 7


def warp_id_in_wg(extents: Any) -> Numeric:
    """The warp's number in its warpgroup; the extent is 4."""
    if declare("warp_id_in_wg", extents, 1) != (WARPGROUP_WARPS,):
        raise DSLUserCodeError("a warpgroup has 4 warps", fix="T.warp_id_in_wg([4])", id="LAUNCH_EXTENT")
    return (linear() >> 5) & 3


def thread_id_in_wg(extents: Any) -> Numeric:
    """The thread's number in its warpgroup; the extent is 128."""
    if declare("thread_id_in_wg", extents, 1) != (WARP * WARPGROUP_WARPS,):
        raise DSLUserCodeError("a warpgroup has 128 threads", fix="T.thread_id_in_wg([128])", id="LAUNCH_EXTENT")
    return linear() & 127


def cluster_id(extents: Any) -> Any:
    """The cluster's place in the grid of `extents` clusters.  PTX ISA: %clusterid."""
    return _place("clusterid", declare("cluster_id", extents))


def cta_id_in_cluster(extents: Any, preferred: Any = None) -> Any:
    """The block's place in its cluster of `extents` blocks.  PTX ISA: %cluster_ctaid."""
    return _place("cluster.ctaid", declare("cta_id_in_cluster", extents))


_BOUND = {
    f"{what}Idx.{axis}": (name, place)
    for what, name in (("block", "cta_id"), ("thread", "thread_id"))
    for place, axis in enumerate("xyz")
}


def bound(thread: str, extent: Any) -> Numeric:
    """The place on one axis by CUDA's name: `bound("threadIdx.x", 128)`."""
    if thread not in _BOUND:
        raise DSLUserCodeError(
            f"unknown thread axis {shown(thread)}" if thread else "the axis is missing",
            fix=f"thread= one of {', '.join(_BOUND)}",
            id="LAUNCH_AXIS",
        )
    name, place = _BOUND[thread]
    declared = current(name).declared
    before = list(declared[name][0]) if name in declared else [1]
    before += [1] * (place + 1 - len(before))
    before[place] = extent
    declared.pop(name, None)
    declare(name, before)
    return register(("ctaid." if name == "cta_id" else "tid.") + "xyz"[place])


class Launched:
    """`T.launch_thread("threadIdx.x", 128)`: the place, as a value or for the time of a `with`."""

    def __init__(self, number: Numeric):
        self.number = number

    def __enter__(self) -> Numeric:
        return self.number

    def __exit__(self, *_error: Any) -> None:
        pass


def launch_thread(thread: str, extent: Any) -> Launched:
    """The place on one axis of the launch, and its extent."""
    return Launched(bound(thread, extent))
