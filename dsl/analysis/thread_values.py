"""What traced values are in every thread of a block of known size: the arithmetic behind uniformity.

A value is a list of numbers, one a thread (thread (x, y, z) at x + nx * (y + ny * z)); Shifted, such a list plus a
number that is unknown and the same in the whole block; UNIFORM, unknown and the same; or None, where threads may differ
in ways that are not known. Integers are kept as signed numbers of their width.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dsl.analysis.mlir_reader import Block, Op, Value

UNIFORM = "uniform"
WARP = 32


@dataclass(frozen=True)
class Shifted:
    """`offsets`, one a thread, plus an unknown number that is the same in the block; wrapping."""

    offsets: tuple[int, ...]


def _width(type_: str) -> int:
    return int(type_[1:]) if type_[:1] == "i" and type_[1:].isdigit() else 0


def _signed(value: int, width: int) -> int:
    if width == 1:
        return value & 1
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def _quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * _quotient(a, b)


# name: what it computes from numbers as signed ones (of their bits without sign where the name is in _OF_BITS)
_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.divsi": _quotient,
    "arith.remsi": _remainder,
    "arith.divui": _quotient,
    "arith.remui": _remainder,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.minui": min,
    "arith.maxui": max,
    "arith.shli": lambda a, b: a << min(b, 128),
    "arith.shrsi": lambda a, b: a >> min(b, 128),
    "arith.shrui": lambda a, b: a >> min(b, 128),
}
_OF_BITS = {"arith.divui", "arith.remui", "arith.minui", "arith.maxui", "arith.shrui"}
_COMPARE = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)
_DIVERGENT = {"llvm.load", "scf.for", "scf.while", "llvm.call", "llvm.atomicrmw", "llvm.cmpxchg", "llvm.alloca"}
_REGISTER = re.compile(
    r"nvvm\.read\.ptx\.sreg\.(?:(n?tid)\.([xyz])|(laneid|warpsize)|n?ctaid\.[xyz]|"
    r"(?:cluster|is_explicit|nclusterid|clusterid)[\w.]*)$"
)


class ThreadValues:
    """Evaluates values of one kernel for a block of `block` threads, each on demand and once."""

    def __init__(self, block: Sequence[int]):
        nx, ny, nz = block
        self.size, self.block = nx * ny * nz, tuple(block)
        self.tid = {
            "x": [t % nx for t in range(self.size)],
            "y": [t // nx % ny for t in range(self.size)],
            "z": [t // (nx * ny) for t in range(self.size)],
        }
        self.known: dict[Value, object] = {}

    def of(self, value: Value) -> object:
        """The value in every thread: a list, Shifted, UNIFORM or None."""
        waiting = [value]
        while waiting:  # no recursion: chains are as long as the author's function
            top = waiting[-1]
            if top in self.known:
                waiting.pop()
                continue
            needed = [operand for operand in self._needs(top) if operand not in self.known]
            if needed:
                waiting.extend(needed)
                continue
            self.known[top] = self._evaluate(top)
            waiting.pop()
        return self.known[value]

    def _needs(self, value: Value) -> list[Value]:
        op = value.op
        if op is None or op.name in ("scf.for", "scf.while", "llvm.load"):
            return []
        if op.name == "scf.if":
            return [op.operands[0], *(block.ops[-1].operands[value.index] for block in op.blocks)]
        return op.operands

    def _evaluate(self, value: Value) -> object:
        op = value.op
        if op is None:
            return self._argument(value)
        if op.name == "arith.constant":
            number = op.attributes["value"]
            return [int(number)] * self.size if isinstance(number, (int, bool)) and _width(value.type) else UNIFORM
        parts = [self.known[operand] for operand in self._needs(value)]
        if op.name == "llvm.call_intrinsic":
            return self._intrinsic(op, parts)
        if op.name == "llvm.inline_asm":
            return self._elected() if "elect.sync" in op.attributes["asm_string"] else None
        if op.name == "arith.select" and op.operands[0] in op.operands[1:]:  # Python's `and` and `or`
            is_and = op.operands[2] is op.operands[0]
            return self._binary("arith.andi" if is_and else "arith.ori", 1, parts[0], parts[1 if is_and else 2])
        if op.name in ("scf.if", "arith.select"):
            return _chosen(*parts)
        width = _width(op.operands[0].type) if op.operands else 0
        if op.name in _BINARY and width:
            return self._binary(op.name, width, *parts)
        if op.name == "arith.cmpi" and width:
            return self._compare(op.attributes["predicate"], width, *parts)
        if op.name in ("arith.extsi", "arith.extui", "arith.trunci"):
            return self._resized(op, width, parts[0])
        if op.name in _DIVERGENT:
            return None
        return UNIFORM if all(part is UNIFORM or _constant(part) for part in parts) else None

    def _argument(self, value: Value) -> object:
        """A kernel's parameter is uniform; so is the variable of a `for` whose bounds are."""
        owner: Block = value.owner
        if owner.owner.name == "llvm.func":
            return UNIFORM
        if owner.owner.name == "scf.for" and value.index == 0:
            bounds = [self.of(operand) for operand in owner.owner.operands[:3]]
            return UNIFORM if all(bound is UNIFORM or _constant(bound) for bound in bounds) else None
        return None

    def _intrinsic(self, op: Op, parts: list) -> object:
        match = _REGISTER.match(op.callee)
        if match:
            register, axis, other = match.groups()
            if register == "tid":
                return self.tid[axis]
            if register == "ntid":
                return [self.block["xyz".index(axis)]] * self.size
            if other == "laneid":
                return [t % WARP for t in range(self.size)]
            return [WARP] * self.size if other == "warpsize" else UNIFORM
        if op.callee == "nvvm.shfl.sync.idx.i32":  # make_warp_uniform and the like
            _, value, lane, clamp = parts
            if _constant(lane) and _constant(clamp) and clamp[0] == 31 and isinstance(value, list):
                sources = [t - t % WARP + lane[0] % WARP for t in range(self.size)]
                return [value[s] for s in sources] if max(sources) < self.size else None
            return UNIFORM if value is UNIFORM else None
        if "sync" in op.callee or op.callee.startswith("nvvm.read"):
            return None
        return UNIFORM if parts and all(part is UNIFORM or _constant(part) for part in parts) else None

    def _elected(self) -> list[int]:
        """One lane of each warp, as elect.sync chooses; which one does not matter to who can arrive where."""
        return [int(t % WARP == 0) for t in range(self.size)]

    def _binary(self, name: str, width: int, a: object, b: object) -> object:
        if isinstance(a, list) and isinstance(b, list):
            return self._on_numbers(name, width, a, b)
        if width == 1 and name in ("arith.andi", "arith.ori"):
            return _logic(name, a, b)
        if width == 1 and name == "arith.xori" and _constant(b) and b[0]:
            return _negated(a)
        if name in _OFFSET_BY.get(_shape(a), {}).get(_shape(b), ()):
            return self._sum(name, width, a, b)
        if name == "arith.muli" and isinstance(a, Shifted) and _constant(b):
            return Shifted(tuple(self._on_numbers(name, width, list(a.offsets), b)))
        every = all(part is UNIFORM or _constant(part) for part in (a, b))
        return UNIFORM if every else None

    def _sum(self, name: str, width: int, a: object, b: object) -> object:
        """A sum or difference of a value that all threads share and an offset that is known of each."""
        if a is UNIFORM and b is UNIFORM:
            return UNIFORM
        offsets = self._on_numbers(name, width, self._offsets(a), self._offsets(b))
        return UNIFORM if _constant(offsets) else Shifted(tuple(offsets))

    def _offsets(self, part: object) -> list[int]:
        return part if isinstance(part, list) else [0] * self.size if part is UNIFORM else list(part.offsets)

    def _on_numbers(self, name: str, width: int, a: list[int], b: list[int]) -> list[int]:
        compute = _BINARY[name]
        if name in _OF_BITS:
            a, b = ([_unsigned(x, width) for x in side] for side in (a, b))
        return [_signed(compute(x, y), width) for x, y in zip(a, b)]

    def _compare(self, predicate: int, width: int, a: object, b: object) -> object:
        if isinstance(a, list) and isinstance(b, list):
            if predicate >= 6:
                a, b = ([_unsigned(x, width) for x in side] for side in (a, b))
            return [int(_COMPARE[predicate](x, y)) for x, y in zip(a, b)]
        if all(part is UNIFORM or _constant(part) for part in (a, b)):
            return UNIFORM
        if predicate == 0 and None not in (a, b) and not (isinstance(a, Shifted) and isinstance(b, Shifted)):
            offsets = [self._offsets(part) for part in (a, b)]
            if any(isinstance(part, Shifted) for part in (a, b)) and any(
                isinstance(part, list) and not _constant(part) for part in (a, b)
            ):
                return None
            return OneOf(_classes(self._on_numbers("arith.subi", width, *offsets)))
        return None

    def _resized(self, op: Op, width: int, part: object) -> object:
        if isinstance(part, list):
            result_width = _width(op.result.type)
            if op.name == "arith.extui" and width > 1:
                part = [_unsigned(x, width) for x in part]
            return [_signed(x, result_width) for x in part]
        return part if part is UNIFORM or (isinstance(part, Shifted) and op.name != "arith.trunci") else None


@dataclass(frozen=True)
class OneOf:
    """A condition that is true in all threads of one of `masks` (a bit a thread), or in none; which, is not known."""

    masks: tuple[int, ...]


def mask_of(numbers: Sequence[int]) -> int:
    """A bit a thread: where a known condition is true."""
    return sum(1 << thread for thread, number in enumerate(numbers) if number)


def _classes(offsets: list[int]) -> tuple[int, ...]:
    masks_by_offset: dict[int, int] = {}
    for thread, offset in enumerate(offsets):
        masks_by_offset[offset] = masks_by_offset.get(offset, 0) | 1 << thread
    return tuple(masks_by_offset.values())


def _constant(part: object) -> bool:
    return isinstance(part, list) and part.count(part[0]) == len(part)


@dataclass(frozen=True)
class AtMost:
    """A condition that is false outside `mask` (a bit a thread), and unknown inside."""

    mask: int


@dataclass(frozen=True)
class AtLeast:
    """A condition that is true in `mask` (a bit a thread), and unknown elsewhere."""

    mask: int


def may_be_true(part: object, every: int) -> list[int]:
    """The threads in which a condition can be true: alternatives, each a mask."""
    if isinstance(part, list):
        return [mask_of(part)]
    if isinstance(part, OneOf):
        return list(part.masks)
    return [part.mask] if isinstance(part, AtMost) else [every]


def may_be_false(part: object, every: int) -> list[int]:
    """The threads in which a condition can be false: alternatives, each a mask."""
    if isinstance(part, list):
        return [every & ~mask_of(part)]
    return [every & ~part.mask] if isinstance(part, AtLeast) else [every]


def _shape(part: object) -> str:
    """What is known of a value: the numbers of all threads, that all share it, offsets from what they share, or ''."""
    if isinstance(part, list):
        return "numbers"
    return "uniform" if part is UNIFORM else "shifted" if isinstance(part, Shifted) else ""


# What is known of both sides -> the operations whose result is what all threads share and an offset.
_SUM, _LINEAR = ("arith.addi",), ("arith.addi", "arith.subi")
_OFFSET_BY = {
    "uniform": {"numbers": _LINEAR, "uniform": _LINEAR, "shifted": _SUM},
    "shifted": {"numbers": _LINEAR, "uniform": _LINEAR},
    "numbers": {"uniform": _LINEAR, "shifted": _SUM},
}


def _negated(part: object) -> object:
    """`not` of a condition."""
    if isinstance(part, AtMost):
        return AtLeast(~part.mask)
    if isinstance(part, AtLeast):
        return AtMost(~part.mask)
    return UNIFORM if part is UNIFORM else None


def _logic(name: str, a: object, b: object) -> object:
    """`and` and `or` of conditions of which at most one is known in every thread."""
    if a is UNIFORM and b is UNIFORM:
        return UNIFORM
    every = -1
    if name == "arith.andi":
        bounds = [may_be_true(part, every) for part in (a, b)]
        if any(len(alternatives) > 1 for alternatives in bounds):
            other = bounds[1] if len(bounds[0]) > 1 else bounds[0]
            many = bounds[0] if len(bounds[0]) > 1 else bounds[1]
            return (
                OneOf(tuple(x & other[0] for x in many))
                if len(other) == 1 and _is_same(b if many is bounds[0] else a)
                else None
            )
        mask = bounds[0][0] & bounds[1][0]
        return None if mask == every else AtMost(mask)
    masks = [
        mask_of(part) if isinstance(part, list) else part.mask if isinstance(part, AtLeast) else 0 for part in (a, b)
    ]
    return AtLeast(masks[0] | masks[1]) if any(masks) else None


def _is_same(part: object) -> bool:
    """Whether a condition is known, or the same in the whole block."""
    return part is UNIFORM or isinstance(part, list)


def _chosen(condition: object, a: object, b: object) -> object:
    if isinstance(condition, list):
        if all(condition):
            return a
        if not any(condition):
            return b
        if isinstance(a, list) and isinstance(b, list):
            return [x if c else y for c, x, y in zip(condition, a, b)]
        if isinstance(b, list) and not any(b):  # `c and a`
            return AtMost(mask_of(condition))
        if isinstance(a, list) and all(a):  # `c or b`
            return AtLeast(mask_of(condition))
        return None
    if isinstance(a, list) and isinstance(b, list) and a == b:
        return a
    if condition is UNIFORM:
        return UNIFORM if all(part is UNIFORM or _constant(part) for part in (a, b)) else None
    return None
