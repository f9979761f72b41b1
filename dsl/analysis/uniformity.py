"""Divergence: collectives that provably not all of their threads reach.

A barrier of the block needs every thread of it, a shuffle every lane of its mask. If the condition around one is known
in each thread (it compares thread or lane numbers with constants, or with values that are the same in the whole block)
and only some of the threads get in, the program is wrong whatever its data: `check` finds that. Conditions that depend
on data are left to the device that runs the program. The check needs the block's size: from the kernel's
`nvvm.reqntid`, or from a launch.

Code that may be intended stays allowed: whole warps at their own collective, threads that meet at another barrier of
the same number meanwhile, a count that the threads that come make up.  PTX ISA: barrier, bar.warp.sync, shfl.sync,
vote.sync.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dsl.analysis import mlir_reader
from dsl.analysis.mlir_reader import Block, Op, Value
from dsl.analysis.thread_values import WARP, ThreadValues, mask_of, may_be_false, may_be_true
from dsl.span import Span

_BLOCK_BARRIER = re.compile(r"nvvm\.barrier(?:\.cta\.(?:sync|red\.\w+)(?:\.aligned)?\.all|0)")
_ARRIVES = re.compile(r"bar(?:rier)?(?:\.cta)?\.arrive")
_COUNTED = re.compile(r"nvvm\.barrier\.cta\.(?:sync|arrive)(?:\.aligned)?\.count")
_OF_WARP = re.compile(r"nvvm\.(bar\.warp\.sync|shfl\.sync\.\w+|vote\.\w+\.sync|redux\.sync\.\w+|match\.\w+\.sync)")
_MATRIX = re.compile(r"nvvm\.(mma\.m|ldmatrix\.|stmatrix\.)")  # of the whole warp
_ASM_BARRIER = re.compile(r"^\s*(?:bar|barrier)(?:\.cta)?\.(sync|red\.\w+\.\w+|arrive)(?:\.aligned)?\s+([^;]*);")
_ASM_OF_WARP = re.compile(r"^\s*(redux\.sync\.\w+|match\.\w+\.sync|shfl\.sync\.\w+|vote\.sync\.\w+)")
_INIT = re.compile(r"mbarrier\.init")
_WORDS = (
    "nvvm.barrier",
    "bar.warp",
    "shfl.sync",
    "vote.",
    "redux",
    "match.",
    "bar.sync",
    "barrier.sync",
    "mbarrier.init",
    "bar.red",
    "barrier.",
    "nvvm.mma.m",
    "ldmatrix.",
    "stmatrix.",
)
_INDENT = " " * 6  # of the lines inside a condition or a loop
_KERNEL = re.compile(r"^  llvm\.func @(\w+)\(.*$", re.MULTILINE)
_MOST_ALTERNATIVES = 1024


@dataclass(frozen=True)
class Finding:
    """A collective that not all its threads reach: its place, the messages there and at the condition, the fix."""

    place: Span
    message: str
    condition: Span
    at_condition: str
    fix: str
    kernel: str


@dataclass
class _Site:
    """A collective and who may reach it: alternatives, each a mask with a bit a thread."""

    op: Op
    kind: str
    masks: list[int]
    condition: tuple[Span | None, str]
    is_in_loop: bool

    @property
    def arrives_only(self) -> bool:
        """Whether a thread goes on from here without waiting, and may come to the same barrier again."""
        text = self.op.callee or self.op.attributes.get("asm_string", "")
        return _ARRIVES.search(text) is not None


def check(mlir_text: str, block: Sequence[int] | None = None, name: str | None = None) -> Finding | None:
    """The first collective of a traced device module that provably diverges, or None.

    Kernels that do not state the size of their block are left out. `block` is the size, in x, y and z, of the kernel
    `name`, if only its launch knows it; then only that kernel is checked.
    """
    if not _has_inner(mlir_text, 0, len(mlir_text)):
        return None
    for kernel in _kernels(mlir_text):
        size = kernel.attributes.get("nvvm.reqntid")
        if name is not None:
            size = block if kernel.attributes["sym_name"] == name and size is None else None
        if size is not None and (finding := _of_kernel(kernel, tuple(size))) is not None:
            return finding
    return None


@functools.lru_cache(1)  # launches of one kernel with many sizes of block read it once
def _kernels(mlir_text: str) -> list[Op]:
    return mlir_reader.read(mlir_text).kernels


def undecided(mlir_text: str) -> frozenset[str]:
    """The kernels that have a collective inside a condition or a loop, and whose block only a launch knows.

    Reads the text without parsing it; `check` finds nothing in a launch of any other kernel.
    """
    heads = list(_KERNEL.finditer(mlir_text))
    ends = [head.start() for head in heads[1:]] + [len(mlir_text)]
    return frozenset(
        head[1]
        for head, end in zip(heads, ends)
        if "nvvm.reqntid" not in head[0] and _has_inner(mlir_text, head.end(), end)
    )


def _has_inner(mlir_text: str, start: int, end: int) -> bool:
    """Whether a line in this part of a text names a collective, inside a condition or a loop."""
    for word in _WORDS:
        at = mlir_text.find(word, start, end)
        while at != -1:
            if mlir_text.startswith(_INDENT, mlir_text.rfind("\n", 0, at) + 1):
                return True
            at = mlir_text.find(word, at + 1, end)
    return False


def _of_kernel(kernel: Op, size: tuple[int, ...]) -> Finding | None:
    values = ThreadValues((*size, 1, 1)[:3])
    if values.size > 1024:
        return None
    walk = _Walk(values)
    walk.block(kernel.blocks[0], [walk.every], (None, ""))
    return next((finding for site in walk.sites if (finding := _finding(site, walk, kernel)) is not None), None)


class _Walk:
    """The threads that reach each collective of one kernel."""

    def __init__(self, values: ThreadValues):
        self.values, self.every = values, (1 << values.size) - 1
        self.sites: list[_Site] = []
        self.loops = 0  # around the op that is looked at

    def block(self, block: Block, masks: list[int], why: tuple[Span | None, str]) -> None:
        """`masks`: alternatives of who runs the block; `why`: the condition nearest to it that kept some out."""
        for op in block.ops:
            if op.name == "scf.if":
                self._if(op, masks, why)
            elif op.name in ("scf.for", "scf.while"):
                self.loops += 1
                (self._for if op.name == "scf.for" else self._while)(op, masks, why)
                self.loops -= 1
            elif kind := _kind(op):
                self.sites.append(_Site(op, kind, masks, why, self.loops > 0))

    def _if(self, op: Op, masks: list[int], why: tuple) -> None:
        condition = self.values.of(op.operands[0])
        outcomes = may_be_true(condition, self.every), may_be_false(condition, self.every)
        for block, chosen, holds in zip(op.blocks, outcomes, (True, False)):
            self.block(block, *self._narrowed(masks, chosen, why, op.operands[0], op.place, holds))

    def _narrowed(
        self, masks: list[int], chosen: list[int], why: tuple, condition: Value | None, place: Span | None, holds: bool
    ) -> tuple[list[int], tuple]:
        """The masks that a condition leaves, and why: the place of the condition and a sentence about it."""
        narrowed = list(dict.fromkeys(a & b for a in masks for b in chosen))
        if len(narrowed) > _MOST_ALTERNATIVES:
            return masks, why
        if narrowed == masks:
            return narrowed, why
        inner, holds = _place_of(condition, holds)
        place = inner or place
        if len(chosen) > 1:
            said = (
                "is true in one thread at most, of the block"
                if all(_count(m) == 1 for m in chosen)
                else "is not true in the whole block"
            )
        else:
            said = f"is {str(holds).lower()} in {self.threads(chosen[0])} only"
        return narrowed, (place, said)

    def _for(self, op: Op, masks: list[int], why: tuple) -> None:
        bounds = [self.values.of(operand) for operand in op.operands[:3]]
        body = op.blocks[0]
        if all(isinstance(bound, list) for bound in bounds):
            trips = [max(0, -(-(stop - start) // step)) if step > 0 else 0 for start, stop, step in zip(*bounds)]
            most = max((trips[t] for t in range(self.values.size) if any(m >> t & 1 for m in masks)), default=0)
            if most == 0:
                return
            last = mask_of([count == most for count in trips])
            said = f"takes its last trip, number {most}, in {self.threads(last)} only"
            narrowed = list(dict.fromkeys(a & last for a in masks))
            if narrowed != masks:
                masks, why = narrowed, (op.place, said)
        self.block(body, masks, why)

    def _while(self, op: Op, masks: list[int], why: tuple) -> None:
        before, after = op.blocks
        ends = before.ops[-1]
        self.block(before, masks, why)
        first = ThreadValues(self.values.block)  # the first test, on the initial values
        for argument, initial in zip(before.arguments, op.operands):
            first.values[argument] = self.values.of(initial)
        for value in _outside(before):
            first.values.setdefault(value, self.values.of(value))
        chosen = may_be_true(first.of(ends.operands[0]), self.every)
        masks, why = self._narrowed(masks, chosen, why, None, op.place, True)
        for argument, value in _assumed(ends.operands[0], True).items():
            for passed, inner in zip(ends.operands[1:], after.arguments):
                if passed is argument:
                    self.values.values[inner] = [int(value)] * self.values.size
        self.block(after, masks, why)

    def threads(self, mask: int) -> str:
        """A set of threads in words."""
        mask &= self.every
        numbers = [t for t in range(self.values.size) if mask >> t & 1]
        if not numbers:
            return "no thread"
        if len(numbers) == 1:
            return f"thread {numbers[0]}"
        if numbers == list(range(numbers[0], numbers[-1] + 1)):
            return f"threads {numbers[0]} to {numbers[-1]}"
        return f"{len(numbers)} of {self.values.size} threads"


def _outside(block: Block) -> Iterator[Value]:
    """The values that the ops of `block` use and that were made before it."""
    inside: set[Value] = set(block.arguments)
    for op in (inner for outer in block.ops for inner in outer.walk()):
        yield from (operand for operand in op.operands if operand not in inside)
        inside.update(op.results)
        inside.update(argument for inner in op.blocks for argument in inner.arguments)


def _assumed(condition: Value, holds: bool) -> dict[Value, bool]:
    """The values of block arguments that follow from `condition` being `holds`."""
    op = condition.op
    if op is None:
        return {condition: holds}
    if op.name == "arith.xori" and _is_true(op.operands[1]):
        return _assumed(op.operands[0], not holds)
    if op.name == ("arith.andi" if holds else "arith.ori"):
        return {**_assumed(op.operands[0], holds), **_assumed(op.operands[1], holds)}
    if op.name == "scf.if" and holds:
        then, orelse = (block.ops[-1].operands[condition.index] for block in op.blocks)
        if orelse.op is not None and orelse.op.attributes.get("value") is False:
            return {**_assumed(op.operands[0], True), **_assumed(then, True)}
    return {}


def _is_true(value: Value) -> bool:
    return value.op is not None and value.op.name == "arith.constant" and value.op.attributes["value"] is True


def _kind(op: Op) -> str:
    """The kind of a collective; collectives meet only others of the same kind. "" for other ops."""
    name = op.callee
    if name:
        if _BLOCK_BARRIER.match(name):
            return f"block {_number(op.operands[0]) if op.operands else 0}"
        if _COUNTED.match(name):
            return f"count {_number(op.operands[0])} {_number(op.operands[1])}"
        if match := _MATRIX.match(name):
            return f"warp {match[1].partition('.')[0]} -1"
        match = _OF_WARP.match(name)
        return f"warp {match[1]} {_number(op.operands[0])}" if match else ""
    if op.name != "llvm.inline_asm":
        return ""
    text = op.attributes["asm_string"]
    if match := _ASM_BARRIER.match(text):
        parts = [part.strip() for part in match[2].split(",")]
        if all(part.isdigit() for part in parts):
            return f"block {parts[0]}" if len(parts) == 1 else f"count {parts[0]} {parts[1]}"
        return "block ?"
    if match := _ASM_OF_WARP.match(text):
        return f"warp {match[1]} {_number(op.operands[-1])}"
    return "init" if _INIT.search(text) else ""


def _number(value: Value) -> int | str:
    """The number of a constant operand, `?` for other operands."""
    op = value.op
    return op.attributes["value"] if op is not None and op.name == "arith.constant" else "?"


def _place_of(condition: Value | None, holds: bool) -> tuple[Span | None, bool]:
    """The place where a condition was computed, and its value there; after an early exit, the condition of the exit."""
    op = condition.op if condition is not None else None
    while op is not None and op.name == "arith.xori" and _is_true(op.operands[1]):
        op, holds = op.operands[0].op, not holds
    if op is None:
        return None, holds
    is_exit = op.name == "scf.if" and all(inner.name == "arith.constant" for inner in op.blocks[0].ops[:-1])
    if not is_exit:
        return op.place, holds
    place, inner = _place_of(op.operands[0], holds)
    return place or op.place, inner


def _is_whole_warps(mask: int) -> bool:
    while mask:
        if mask & 0xFFFFFFFF not in (0, 0xFFFFFFFF):
            return False
        mask >>= WARP
    return True


def _count(mask: int) -> int:
    return mask.bit_count()


def _warps(mask: int) -> int:
    """How many warps have a thread in it."""
    return sum(mask >> warp & 0xFFFFFFFF != 0 for warp in range(0, mask.bit_length(), WARP))


def _finding(site: _Site, walk: _Walk, kernel: Op) -> Finding | None:
    """The finding at a site, None where divergence is not certain."""
    word, _, rest = site.kind.partition(" ")
    place, said = site.condition
    if place is None or site.op.place is None or "?" in rest:
        return None
    wrong = {"block": _at_block_barrier, "count": _at_counted, "warp": _at_warp, "init": _at_init}[word](site, walk)
    if wrong is None:
        return None
    message, fix = wrong
    return Finding(site.op.place, message, place, said, fix, kernel.attributes["sym_name"])


def _reached_elsewhere(site: _Site, walk: _Walk) -> int:
    """The threads that may wait at other collectives of the same kind."""
    reached = 0
    for other in walk.sites:
        if other is not site and other.kind == site.kind and other.condition[0] is not None:
            for mask in other.masks:
                reached |= mask
    return reached


def _at_block_barrier(site: _Site, walk: _Walk) -> tuple[str, str] | None:
    reached = [mask for mask in site.masks if mask]
    missing = [walk.every & ~mask for mask in reached]
    elsewhere = _reached_elsewhere(site, walk)
    if not reached or not all(missing) or any(not mask & ~elsewhere for mask in missing):
        return None
    who = walk.threads(reached[0]) if len(reached) == 1 else "only some"
    gets = "gets" if who.startswith("thread ") else "get"
    fix = "move it out of the condition, so that every thread gets to it"
    if len(reached) == 1 and _is_whole_warps(reached[0]):
        fix = f"move it out of the condition; or wait at a named barrier, for {_count(reached[0])} threads"
    return f"waits for all {walk.values.size} threads of the block, but {who} {gets} here", fix


def _at_counted(site: _Site, walk: _Walk) -> tuple[str, str] | None:
    """A warp that only arrives may arrive again elsewhere: it counts once at each such place, and in a loop no number
    is known."""
    count = int(site.kind.split()[2])
    number = site.kind.split()[1]
    come = waiting = warps = 0
    for other in walk.sites:
        if other.kind.split()[:2] in (["count", number], ["count", "?"], ["block", number], ["block", "?"]):
            reached = functools.reduce(operator.or_, other.masks, 0)
            come |= reached
            if not other.arrives_only:
                waiting |= reached
            elif reached and other.is_in_loop:
                return None
            else:
                warps += _warps(reached)
    warps += _warps(waiting)
    if warps * WARP >= count or not any(site.masks):
        return None
    return (
        f"waits for {count} threads at barrier {number}, but {walk.threads(come)} get to it",
        f"count the threads that meet: {warps * WARP}",
    )


def _at_warp(site: _Site, walk: _Walk) -> tuple[str, str] | None:
    named = int(site.kind.split()[-1]) & 0xFFFFFFFF
    elsewhere = _reached_elsewhere(site, walk)
    worst = 0
    reached = [mask for mask in site.masks if mask]
    for mask in reached:
        missing = 0
        for warp in range(-(-walk.values.size // WARP)):
            lanes = mask >> warp * WARP & 0xFFFFFFFF
            there = walk.every >> warp * WARP & 0xFFFFFFFF
            if lanes and named & there & ~lanes & ~(elsewhere >> warp * WARP):
                missing, worst = missing or lanes, worst or lanes
        if not missing:
            return None
    if not reached:
        return None
    name = site.kind.split()[1]
    lanes = (
        "only some lanes of a warp get"
        if len(reached) > 1
        else f"{_count(worst)} of its lanes get"
        if _count(worst) > 1
        else "one lane of it gets"
    )
    if "matrix" in name or name == "mma":
        return (
            f"{name} is one instruction of all 32 lanes of a warp, but {lanes} here",
            "move it out of the condition, or let whole warps decide",
        )
    fix = (
        f"name the lanes that get here: mask={worst:#x}; or move it out of the condition"
        if len(reached) == 1
        else "move it out of the condition, so that every lane gets to it"
    )
    return f"{name} waits for the lanes of its mask {named:#x}, but {lanes} here", fix


def _at_init(site: _Site, walk: _Walk) -> tuple[str, str] | None:
    if any(site.masks):
        return None
    return (
        "initialises an mbarrier, but no thread gets here",
        "move it out of the outer condition: one thread of the "
        "block has to initialise it, before a barrier of the block",
    )
