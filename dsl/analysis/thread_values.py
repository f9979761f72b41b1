"""The values of traced numbers in every thread of a block of known size: the arithmetic for uniformity.

A value is a list of numbers, one a thread (thread (x, y, z) at x + nx * (y + ny * z)); Shifted, such a list plus a
number that is unknown and the same in the whole block; UNIFORM, unknown and the same; or None, where threads may differ
in ways that are not known. A condition may also be OneOf, AtMost or AtLeast. Integers are kept as signed numbers of
their width. `_RULES` has the rule of each operation.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dsl.analysis.mlir_reader import Block, Op, Value

UNIFORM: Final[Literal["uniform"]] = "uniform"
WARP = 32


@dataclass(frozen=True)
class Shifted:
    """`offsets`, one a thread, plus an unknown number that is the same in the block; wrapping."""

    offsets: tuple[int, ...]


@dataclass(frozen=True)
class OneOf:
    """A condition that is true in all threads of one of `masks` (a bit a thread), or in none; which, is not known."""

    masks: tuple[int, ...]


@dataclass(frozen=True)
class AtMost:
    """A condition that is false outside `mask` (a bit a thread), and unknown inside."""

    mask: int


@dataclass(frozen=True)
class AtLeast:
    """A condition that is true in `mask` (a bit a thread), and unknown elsewhere."""

    mask: int


ThreadValue: TypeAlias = list[int] | Shifted | OneOf | AtMost | AtLeast | Literal["uniform"] | None


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
        self.values: dict[Value, ThreadValue] = {}

    def of(self, value: Value) -> ThreadValue:
        """The value in every thread."""
        waiting = [value]
        while waiting:  # no recursion: chains are as long as the author's function
            top = waiting[-1]
            if top in self.values:
                waiting.pop()
                continue
            needed = [operand for operand in self._needs(top) if operand not in self.values]
            if needed:
                waiting.extend(needed)
                continue
            self.values[top] = self._evaluate(top)
            waiting.pop()
        return self.values[value]

    def _needs(self, value: Value) -> list[Value]:
        op = value.op
        if op is None or op.name in ("scf.for", "scf.while", "llvm.load"):
            return []
        if op.name == "scf.if":
            return [op.operands[0], *(block.ops[-1].operands[value.index] for block in op.blocks)]
        return op.operands

    def _evaluate(self, value: Value) -> ThreadValue:
        op = value.op
        if op is None:
            return self._argument(value)
        rule = _RULES.get(op.name, ThreadValues._other)
        return rule(self, op, [self.values[operand] for operand in self._needs(value)])

    # --- the rules ---

    def _number(self, op: Op, _: list[ThreadValue]) -> ThreadValue:
        number = op.attributes["value"]
        return [int(number)] * self.size if isinstance(number, (int, bool)) and _width(op.result.type) else UNIFORM

    def _assembly(self, op: Op, _: list[ThreadValue]) -> ThreadValue:
        """One lane of each warp, as elect.sync chooses; which one does not matter to who can arrive where."""
        is_election = "elect.sync" in op.attributes["asm_string"]
        return [int(t % WARP == 0) for t in range(self.size)] if is_election else None

    def _select(self, op: Op, parts: list[ThreadValue]) -> ThreadValue:
        condition, a, b = op.operands
        if condition is b:  # Python's `and`
            return self._binary("arith.andi", 1, parts[0], parts[1])
        if condition is a:  # Python's `or`
            return self._binary("arith.ori", 1, parts[0], parts[2])
        return _chosen(*parts)

    def _if(self, _: Op, parts: list[ThreadValue]) -> ThreadValue:
        return _chosen(*parts)

    def _arithmetic(self, op: Op, parts: list[ThreadValue]) -> ThreadValue:
        width = _width(op.operands[0].type)
        return self._binary(op.name, width, *parts) if width else self._other(op, parts)

    def _comparison(self, op: Op, parts: list[ThreadValue]) -> ThreadValue:
        width = _width(op.operands[0].type)
        return self._compare(op.attributes["predicate"], width, *parts) if width else self._other(op, parts)

    def _divergent(self, _op: Op, _: list[ThreadValue]) -> ThreadValue:
        return None

    def _other(self, _: Op, parts: list[ThreadValue]) -> ThreadValue:
        """An operation without a rule gives the same result to threads with the same operands."""
        return _shared(*parts)

    def _argument(self, value: Value) -> ThreadValue:
        """A kernel's parameter is uniform; so is the variable of a `for` whose bounds are."""
        assert isinstance(value.owner, Block)
        owner = value.owner.owner
        if owner.name == "llvm.func":
            return UNIFORM
        if owner.name == "scf.for" and value.index == 0:
            bounds: list[ThreadValue] = [self.of(operand) for operand in owner.operands[:3]]
            return _shared(*bounds)
        return None

    def _intrinsic(self, op: Op, parts: list[ThreadValue]) -> ThreadValue:
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
            number = _constant(lane)
            if number is not None and _constant(clamp) == 31 and isinstance(value, list):
                sources = [t - t % WARP + number % WARP for t in range(self.size)]
                return [value[s] for s in sources] if max(sources) < self.size else None
            return UNIFORM if value is UNIFORM else None
        if "sync" in op.callee or op.callee.startswith("nvvm.read"):
            return None
        return _shared(*parts) if parts else None

    # --- of two operands ---

    def _binary(self, name: str, width: int, a: ThreadValue, b: ThreadValue) -> ThreadValue:
        if isinstance(a, list) and isinstance(b, list):
            return self._on_numbers(name, width, a, b)
        if width == 1 and name in _OF_CONDITIONS:
            return _OF_CONDITIONS[name](a, b)
        rule = _OF_OFFSETS.get(name)
        return rule(self, name, width, a, b) if rule is not None else _shared(a, b)

    def _sum(self, name: str, width: int, a: ThreadValue, b: ThreadValue) -> ThreadValue:
        """A sum or difference of a uniform value and numbers that are known in every thread."""
        if name not in _OFFSET_BY.get((_shape(a), _shape(b)), ()):
            return None
        if a is UNIFORM and b is UNIFORM:
            return UNIFORM
        offsets = self._on_numbers(name, width, self._offsets(a), self._offsets(b))
        return UNIFORM if _constant(offsets) is not None else Shifted(tuple(offsets))

    def _product(self, name: str, width: int, a: ThreadValue, b: ThreadValue) -> ThreadValue:
        if isinstance(a, Shifted) and isinstance(b, list) and _constant(b) is not None:
            return Shifted(tuple(self._on_numbers(name, width, list(a.offsets), b)))
        return _shared(a, b)

    def _offsets(self, part: ThreadValue) -> list[int]:
        """The number of each thread that is added to the uniform part."""
        if isinstance(part, list):
            return part
        return list(part.offsets) if isinstance(part, Shifted) else [0] * self.size

    def _on_numbers(self, name: str, width: int, a: list[int], b: list[int]) -> list[int]:
        compute = _BINARY[name]
        if name in _OF_BITS:
            a, b = ([_unsigned(x, width) for x in side] for side in (a, b))
        return [_signed(compute(x, y), width) for x, y in zip(a, b)]

    def _compare(self, predicate: int, width: int, a: ThreadValue, b: ThreadValue) -> ThreadValue:
        if isinstance(a, list) and isinstance(b, list):
            if predicate >= 6:
                a, b = ([_unsigned(x, width) for x in side] for side in (a, b))
            return [int(_COMPARE[predicate](x, y)) for x, y in zip(a, b)]
        if _shared(a, b) is UNIFORM:
            return UNIFORM
        if predicate == 0 and (_shape(a), _shape(b)) in _EQUALITY_OF:
            differing = [part for part in (a, b) if isinstance(part, list) and _constant(part) is None]
            if differing and (isinstance(a, Shifted) or isinstance(b, Shifted)):
                return None
            return OneOf(_classes(self._on_numbers("arith.subi", width, self._offsets(a), self._offsets(b))))
        return None

    def _resized(self, op: Op, parts: list[ThreadValue]) -> ThreadValue:
        part, width = parts[0], _width(op.operands[0].type)
        if isinstance(part, list):
            result_width = _width(op.result.type)
            if op.name == "arith.extui" and width > 1:
                part = [_unsigned(x, width) for x in part]
            return [_signed(x, result_width) for x in part]
        if isinstance(part, Shifted):
            return part if op.name != "arith.trunci" else None
        return UNIFORM if part is UNIFORM else None


def mask_of(numbers: Sequence[int]) -> int:
    """A bit a thread, set where the number is not 0."""
    return sum(1 << thread for thread, number in enumerate(numbers) if number)


def _classes(offsets: list[int]) -> tuple[int, ...]:
    masks_by_offset: dict[int, int] = {}
    for thread, offset in enumerate(offsets):
        masks_by_offset[offset] = masks_by_offset.get(offset, 0) | 1 << thread
    return tuple(masks_by_offset.values())


def _constant(part: ThreadValue) -> int | None:
    """The number that every thread has, None where that is not known."""
    return part[0] if isinstance(part, list) and part.count(part[0]) == len(part) else None


def _shared(*parts: ThreadValue) -> ThreadValue:
    """The result of an operation without a rule: uniform if every operand is uniform or constant."""
    return UNIFORM if all(part is UNIFORM or _constant(part) is not None for part in parts) else None


def may_be_true(part: ThreadValue, every: int) -> list[int]:
    """The threads in which a condition can be true: alternatives, each a mask."""
    if isinstance(part, list):
        return [mask_of(part)]
    if isinstance(part, OneOf):
        return list(part.masks)
    return [part.mask] if isinstance(part, AtMost) else [every]


def may_be_false(part: ThreadValue, every: int) -> list[int]:
    """The threads in which a condition can be false: alternatives, each a mask."""
    if isinstance(part, list):
        return [every & ~mask_of(part)]
    return [every & ~part.mask] if isinstance(part, AtLeast) else [every]


def _shape(part: ThreadValue) -> str:
    """The kind of knowledge about a value: "numbers", "uniform", "shifted", or "" for the others."""
    if isinstance(part, list):
        return "numbers"
    return "uniform" if part is UNIFORM else "shifted" if isinstance(part, Shifted) else ""


# The operations whose result is a shared number plus an offset, by what is known of both sides.
_SUM, _LINEAR = ("arith.addi",), ("arith.addi", "arith.subi")
_OFFSET_BY = {
    ("uniform", "numbers"): _LINEAR,
    ("uniform", "uniform"): _LINEAR,
    ("uniform", "shifted"): _SUM,
    ("shifted", "numbers"): _LINEAR,
    ("shifted", "uniform"): _LINEAR,
    ("numbers", "uniform"): _LINEAR,
    ("numbers", "shifted"): _SUM,
}
# Pairs of sides for which `==` divides the threads into classes; only constants together with Shifted.
_EQUALITY_OF = {
    ("uniform", "numbers"),
    ("uniform", "shifted"),
    ("shifted", "numbers"),
    ("shifted", "uniform"),
    ("numbers", "uniform"),
    ("numbers", "shifted"),
}


def _exclusive_or(a: ThreadValue, b: ThreadValue) -> ThreadValue:
    """xor with True is `not`; other operands give at most a uniform result."""
    if not _constant(b):
        return _shared(a, b)
    if isinstance(a, AtMost):
        return AtLeast(~a.mask)
    if isinstance(a, AtLeast):
        return AtMost(~a.mask)
    return UNIFORM if a is UNIFORM else None


def _and(a: ThreadValue, b: ThreadValue) -> ThreadValue:
    """`and` of conditions of which at most one is known in every thread."""
    if a is UNIFORM and b is UNIFORM:
        return UNIFORM
    every = -1
    first, second = may_be_true(a, every), may_be_true(b, every)
    if len(first) == len(second) == 1:
        mask = first[0] & second[0]
        return None if mask == every else AtMost(mask)
    many, other, other_part = (first, second, b) if len(first) > 1 else (second, first, a)
    is_known = other_part is UNIFORM or isinstance(other_part, list)
    return OneOf(tuple(mask & other[0] for mask in many)) if len(other) == 1 and is_known else None


def _or(a: ThreadValue, b: ThreadValue) -> ThreadValue:
    """`or` of conditions of which at most one is known in every thread."""
    if a is UNIFORM and b is UNIFORM:
        return UNIFORM
    masks = [
        mask_of(part) if isinstance(part, list) else part.mask if isinstance(part, AtLeast) else 0 for part in (a, b)
    ]
    return AtLeast(masks[0] | masks[1]) if any(masks) else None


def _chosen(condition: ThreadValue, a: ThreadValue, b: ThreadValue) -> ThreadValue:
    if isinstance(condition, list):
        return _chosen_by_numbers(condition, a, b)
    if isinstance(a, list) and isinstance(b, list) and a == b:
        return a
    return _shared(a, b) if condition is UNIFORM else None


def _chosen_by_numbers(condition: list[int], a: ThreadValue, b: ThreadValue) -> ThreadValue:
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


# An operation with two operands of which not both are known in every thread: of conditions (i1), of other integers.
_OF_CONDITIONS: dict[str, Callable[[ThreadValue, ThreadValue], ThreadValue]] = {
    "arith.andi": _and,
    "arith.ori": _or,
    "arith.xori": _exclusive_or,
}
_OF_OFFSETS: dict[str, Callable[[ThreadValues, str, int, ThreadValue, ThreadValue], ThreadValue]] = {
    "arith.addi": ThreadValues._sum,
    "arith.subi": ThreadValues._sum,
    "arith.muli": ThreadValues._product,
}
_RULES: dict[str, Callable[[ThreadValues, Op, list[ThreadValue]], ThreadValue]] = {
    "arith.constant": ThreadValues._number,
    "llvm.call_intrinsic": ThreadValues._intrinsic,
    "llvm.inline_asm": ThreadValues._assembly,
    "arith.select": ThreadValues._select,
    "scf.if": ThreadValues._if,
    **dict.fromkeys(_BINARY, ThreadValues._arithmetic),
    "arith.cmpi": ThreadValues._comparison,
    **dict.fromkeys(("arith.extsi", "arith.extui", "arith.trunci"), ThreadValues._resized),
    **dict.fromkeys(
        ("llvm.load", "scf.for", "scf.while", "llvm.call", "llvm.atomicrmw", "llvm.cmpxchg", "llvm.alloca"),
        ThreadValues._divergent,
    ),
}
