"""Knowledge about integers in a kernel: bounds, and whether a sum or product may leave its type where that shows.

Traced integers wrap, and C++'s `int` must not. An index (thread and block numbers, parameters, constants, and sums and
products of them) is taken not to wrap. Values that are loaded, shuffled or multiplied by large constants may: if such a
sum reaches an operation that shows it (a comparison, a division, a wider type), it has to be computed without a sign.
"""

from __future__ import annotations

import re
from typing import Any

from dsl.analysis.mlir_reader import Op, Value

_LARGE = 1 << 24
_REGISTERS = {"tid": (0, 1023), "ntid": (1, 1024), "laneid": (0, 31), "warpsize": (32, 32)}
_REGISTER = re.compile(r"nvvm\.read\.ptx\.sreg\.(tid|ntid|laneid|warpsize|n?ctaid)(?:\.([xyz]))?$")
_RING = {
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.shli",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "arith.trunci",
    "arith.select",
}
_SHOWS = {
    "arith.cmpi",
    "arith.divsi",
    "arith.remsi",
    "arith.shrsi",
    "arith.sitofp",
    "arith.minsi",
    "arith.maxsi",
    "arith.extsi",
}
_CHOICES = ("joined", "carried", "counter")


class Ranges:
    """Bounds of values. `sources`: what a variable is given; `users`: the ops that take a value, and such variables."""

    def __init__(self):
        self.sources: dict[Value, list[Value]] = {}
        self.users: dict[Value, list[Any]] = {}
        self.bounds: dict[Value, tuple[int, int] | None] = {}
        self.data: dict[Value, bool] = {}
        self.shown: dict[Value, bool] = {}

    def is_natural(self, value: Value) -> bool:
        """Whether a value is surely not negative."""
        bounds = self.of(value)
        return bounds is not None and bounds[0] >= 0

    def of(self, value: Value) -> tuple[int, int] | None:
        """Least and greatest value, or None if nothing narrower than the range of the type is known."""
        if value not in self.bounds:
            self.bounds[value] = None  # of a cycle nothing is known
            self.bounds[value] = self._fitting(value, self._find(value))
        return self.bounds[value]

    def _fitting(self, value: Value, bounds: tuple[int, int] | None) -> tuple[int, int] | None:
        if bounds is None or not value.type.startswith("i") or value.type == "i1":
            return bounds if value.type == "i1" else None
        limit = 1 << (int(value.type[1:]) - 1)
        return bounds if -limit <= bounds[0] and bounds[1] < limit else None

    def _find(self, value: Value) -> tuple[int, int] | None:
        op = value.op
        if op is None:
            return None
        if op.name == "arith.constant":
            number = op.attributes["value"]
            return (int(number), int(number)) if isinstance(number, int) else None
        if op.name == "counter":
            return self._counter(value)
        if op.name == "llvm.call_intrinsic":
            return self._register(op)
        if op.name == "arith.select":
            return _union(*(self.of(operand) for operand in op.operands[1:]))
        parts = [self.of(operand) for operand in op.operands]
        if op.name in ("arith.extsi", "arith.trunci"):
            return parts[0] if op.operands[0].type != "i1" else None
        if op.name == "arith.extui":
            width = int(op.operands[0].type[1:])
            natural = parts[0] is not None and parts[0][0] >= 0
            return parts[0] if natural else (0, (1 << width) - 1)
        rule = _RULES.get(op.name)
        return rule(*parts) if rule is not None and len(parts) == 2 else None

    def _counter(self, value: Value) -> tuple[int, int] | None:
        sources = self.sources.get(value)
        if not sources:
            return None
        start, stop = (self.of(source) for source in sources[:2])
        limit = (1 << int(value.type[1:]) - 1) - 1
        return None if start is None else (start[0], max(start[0], stop[1] - 1) if stop else limit - 1)

    def _register(self, op: Op) -> tuple[int, int] | None:
        register = _REGISTER.match(op.callee)
        if register:
            name, axis = register.groups()
            greatest = 2**31 - 1 if axis == "x" else 65535
            return _REGISTERS.get(name) or (0 if name == "ctaid" else 1, greatest - (name == "ctaid"))
        return (0, 64) if op.callee.startswith(("ctpop", "ctlz", "cttz")) else None

    # --- wrapping ---

    def may_wrap(self, op: Op) -> bool:
        """Whether a sum, difference, product or left shift may leave its type where that would be seen."""
        return self.of(op.result) is None and self._is_data(op.result) and self._is_shown(op.result)

    def _is_data(self, value: Value) -> bool:
        if value not in self.data:
            self.data[value] = False
            self.data[value] = self._data(value)
        return self.data[value]

    def _data(self, value: Value) -> bool:
        op = value.op
        if op is None:
            return False
        if op.name == "arith.constant":
            number = op.attributes["value"]
            return isinstance(number, int) and abs(number) >= _LARGE
        if op.name in _CHOICES:
            return any(self._is_data(source) for source in self.sources.get(value, ()))
        if op.name in ("llvm.load", "llvm.inline_asm", "arith.bitcast", "arith.fptosi"):
            return True
        if op.name == "llvm.call_intrinsic":
            return not _REGISTER.match(op.callee)
        return any(self._is_data(operand) for operand in op.operands)

    def _is_shown(self, value: Value) -> bool:
        """Whether anything but the low bits of a value is seen."""
        if value not in self.shown:
            self.shown[value] = False
            self.shown[value] = any(self._shows(user) for user in self.users.get(value, ()))
        return self.shown[value]

    def _shows(self, user: Any) -> bool:
        if isinstance(user, Value):
            return self._is_shown(user)
        if user.name == "arith.extsi":
            return any(not isinstance(x, Op) or x.name != "llvm.getelementptr" for x in self.users.get(user.result, ()))
        if user.name in _SHOWS or user.name.startswith("llvm.call"):
            return user.name in _SHOWS
        return user.name in _RING and self._is_shown(user.result)


def _union(*parts: tuple[int, int] | None) -> tuple[int, int] | None:
    bounds = [part for part in parts if part is not None]
    if len(bounds) != len(parts):
        return None
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def _sum(a, b):
    return None if None in (a, b) else (a[0] + b[0], a[1] + b[1])


def _difference(a, b):
    return None if None in (a, b) else (a[0] - b[1], a[1] - b[0])


def _product(a, b):
    if None in (a, b):
        return None
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _positive(b) -> int:
    """A divisor that is one positive number, else 0."""
    return b[0] if b is not None and b[0] == b[1] and b[0] > 0 else 0


def _quotient(a, b):
    return (a[0] // _positive(b), a[1] // _positive(b)) if a is not None and a[0] >= 0 and _positive(b) else None


def _remainder(a, b):
    if not _positive(b):
        return None
    return (0 if a is not None and a[0] >= 0 else 1 - b[0], b[0] - 1 if a is None else min(b[0] - 1, max(a[1], 0)))


def _masked(a, b):
    for part in (b, a):
        if part is not None and part[0] >= 0:
            return 0, part[1]
    return None


def _right(a, b):
    return (a[0] >> b[0], a[1] >> b[0]) if a is not None and b is not None and b[0] == b[1] and a[0] >= 0 else None


def _left(a, b):
    return (a[0] << b[0], a[1] << b[0]) if a is not None and b is not None and b[0] == b[1] and a[0] >= 0 else None


def _joined(a, b):
    if None in (a, b) or a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


def _least(a, b):
    return None if None in (a, b) else (min(a[0], b[0]), min(a[1], b[1]))


def _most(a, b):
    return None if None in (a, b) else (max(a[0], b[0]), max(a[1], b[1]))


_RULES = {
    "arith.addi": _sum,
    "arith.subi": _difference,
    "arith.muli": _product,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.andi": _masked,
    "arith.shrsi": _right,
    "arith.shrui": _right,
    "arith.shli": _left,
    "arith.ori": _joined,
    "arith.xori": _joined,
    "arith.minsi": _least,
    "arith.maxsi": _most,
}
