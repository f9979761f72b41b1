"""How many low bits of an SSA integer or address are 0, from the operations that compute it.

`Numeric.divisibility` is what NVIDIA's compiler knows, and widths of accesses follow it. A copy that needs more
alignment asks here before it is refused: `t * 4`, `t << 2` and `t & -4` are multiples of 4. Zero bits that the
operations do not show are noted where they are promised; a note holds in the block it is made in.
"""

from __future__ import annotations

from collections.abc import Callable

from dsl.core.ir import mlir
from dsl.core.state import this_thread

MOST = 10  # 1024 bytes: more is asked for nowhere
_MOST_OPERATIONS = 1_000  # a value that is computed of more is looked at no further
_DYNAMIC = -(1 << 31)  # how llvm.getelementptr writes that an index is an operand


def note(value: mlir.Value, divisor: int) -> None:
    """`value` is a multiple of `divisor`: a promise, or the alignment of a pointer."""
    if this_thread.zero_bits:
        this_thread.zero_bits[-1][value] = divisor


def known(value: mlir.Value) -> int:
    """How many low bits of `value` are known to be 0, at most MOST."""
    return _Reader().bits(value)


def lacking(value: mlir.Value, wanted: int) -> list[mlir.Value]:
    """The values that keep `value` from having `wanted` low bits 0: nothing shows more of them."""
    return list(dict.fromkeys(_Reader().lacking(value, wanted)))


def of_number(number: int) -> int:
    return min((number & -number).bit_length() - 1, MOST) if number else MOST


class _Reader:
    def __init__(self):
        self.seen: dict[mlir.Value, int] = {}

    def bits(self, value: mlir.Value) -> int:
        if value not in self.seen:
            self.seen[value] = 0  # until it is known
            computed = 0 if len(self.seen) > _MOST_OPERATIONS else self._computed(value)
            noted = [of_number(notes[value]) for notes in this_thread.zero_bits if value in notes]
            self.seen[value] = min(max([computed, *noted]), MOST)
        return self.seen[value]

    def _computed(self, value: mlir.Value) -> int:
        owner = value.owner
        if isinstance(owner, mlir.Block):
            return 0
        operation = owner.operation
        if operation.name == "scf.if":
            return self.joined(operation, mlir.ir.OpResult(value).result_number)
        rule = _RULES.get(operation.name)
        return rule(self, operation) if rule is not None else 0

    def least(self, operation: mlir.Operation) -> int:
        return min(map(self.bits, operation.operands))

    def most(self, operation: mlir.Operation) -> int:
        return max(map(self.bits, operation.operands))

    def product(self, operation: mlir.Operation) -> int:
        return sum(map(self.bits, operation.operands))

    def constant(self, operation: mlir.Operation) -> int:
        number = operation.attributes["value"]
        return of_number(number.value) if isinstance(number, mlir.ir.IntegerAttr) else 0

    def shifted_left(self, operation: mlir.Operation) -> int:
        return self.bits(operation.operands[0]) + max(self._number(operation.operands[1]) or 0, 0)

    def shifted_right(self, operation: mlir.Operation) -> int:
        amount = self._number(operation.operands[1])
        return 0 if amount is None else max(self.bits(operation.operands[0]) - amount, 0)

    def quotient(self, operation: mlir.Operation) -> int:
        divisor = self._number(operation.operands[1])
        if not divisor or divisor & (divisor - 1):
            return 0
        return max(self.bits(operation.operands[0]) - of_number(divisor), 0)

    def address(self, operation: mlir.Operation) -> int:
        """The base and each index times the size of what it counts."""
        size_bytes = _size_bytes(operation.attributes["elem_type"].value)
        indices = operation.attributes["rawConstantIndices"]
        if size_bytes is None or len(indices) != 1:
            return 0
        moved = self.bits(operation.operands[1]) if indices[0] == _DYNAMIC else of_number(indices[0])
        return min(self.bits(operation.operands[0]), moved + of_number(size_bytes))

    def allocated(self, operation: mlir.Operation) -> int:
        return of_number(operation.attributes["alignment"].value) if "alignment" in operation.attributes else 0

    def difference(self, operation: mlir.Operation) -> int:
        """`a - a % 8` and `a - (a & 7)` are multiples of 8."""
        whole, part = operation.operands
        made = None if isinstance(part.owner, mlir.Block) else part.owner.operation
        if made is not None and made.name in ("arith.remsi", "arith.remui", "arith.andi") and made.operands[0] == whole:
            number = self._number(made.operands[1]) or 0
            return max(self.least(operation), of_number(number + 1 if made.name == "arith.andi" else number))
        return self.least(operation)

    def remainder(self, operation: mlir.Operation) -> int:
        return MOST if self._divides(operation) else self.least(operation)  # a - b * q

    def _divides(self, operation: mlir.Operation) -> bool:
        divisor = self._number(operation.operands[1]) or 0
        power = divisor > 0 and divisor & (divisor - 1) == 0
        return power and self.bits(operation.operands[0]) >= divisor.bit_length() - 1

    def choice(self, operation: mlir.Operation) -> int:
        test, chosen, other = operation.operands
        return self.bits(other) if self._is_false(test) else min(self.bits(chosen), self.bits(other))

    def _is_false(self, test: mlir.Value) -> bool:
        """Whether `test` asks for a remainder that there is none of, as a quotient that is rounded down does."""
        if isinstance(test.owner, mlir.Block):
            return False
        operation = test.owner.operation
        if operation.name == "arith.andi":
            return any(map(self._is_false, operation.operands))
        if operation.name != "arith.cmpi" or operation.attributes["predicate"].value != 1:
            return False
        left, right = operation.operands
        if isinstance(left.owner, mlir.Block) or self._number(right) != 0:
            return False
        made = left.owner.operation
        return made.name in ("arith.remsi", "arith.remui") and self._divides(made)

    def joined(self, operation: mlir.Operation, position: int) -> int:
        """The number of bits that both arms of a branch give."""
        return min(
            self.bits(region.blocks[0].operations[len(region.blocks[0].operations) - 1].operands[position])
            for region in operation.regions
        )

    def lacking(self, value: mlir.Value, wanted: int) -> list[mlir.Value]:
        if wanted <= self.bits(value):
            return []
        if isinstance(value.owner, mlir.Block):
            return [value]
        operation = value.owner.operation
        name, operands = operation.name, list(operation.operands)
        if name == "llvm.getelementptr" and operation.attributes["rawConstantIndices"][0] == _DYNAMIC:
            size_bytes = _size_bytes(operation.attributes["elem_type"].value)
            inside = wanted - of_number(size_bytes) if size_bytes else wanted
            return [*self.lacking(operands[0], wanted), *self.lacking(operands[1], inside)]
        if name == "llvm.getelementptr" and self.bits(operands[0]) < wanted:
            return self.lacking(operands[0], wanted)
        if name == "arith.muli":
            a, b = operands
            either = self.lacking(a, wanted - self.bits(b)), self.lacking(b, wanted - self.bits(a))
            return min(either, key=lambda values: sum(not isinstance(value.owner, mlir.Block) for value in values))
        if name == "arith.shli":
            return self.lacking(operands[0], wanted - max(self._number(operands[1]) or 0, 0))
        if name == "arith.select":
            operands = operands[1:]
        elif name != "arith.subi" and _RULES.get(name) is not _Reader.least:
            return [value]
        return [each for operand in operands for each in self.lacking(operand, wanted)]

    def _number(self, value: mlir.Value) -> int | None:
        number = mlir.constant_of(value)
        return None if number is None or not isinstance(number, mlir.ir.IntegerAttr) else number.value


def _size_bytes(type_: mlir.Type) -> int | None:
    if isinstance(type_, (mlir.ir.IntegerType, mlir.ir.FloatType)):
        return type_.width // 8 or None
    return None


_RULES: dict[str, Callable[[_Reader, mlir.Operation], int]] = {
    "arith.constant": _Reader.constant,
    **dict.fromkeys(("arith.addi", "arith.ori", "arith.xori"), _Reader.least),
    **dict.fromkeys(("arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui"), _Reader.least),
    "arith.subi": _Reader.difference,
    **dict.fromkeys(("arith.remsi", "arith.remui"), _Reader.remainder),
    **dict.fromkeys(("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast"), _Reader.least),
    **dict.fromkeys(("llvm.ptrtoint", "llvm.inttoptr", "llvm.addrspacecast"), _Reader.least),
    "arith.andi": _Reader.most,
    "arith.muli": _Reader.product,
    "arith.select": _Reader.choice,
    "arith.shli": _Reader.shifted_left,
    **dict.fromkeys(("arith.shrsi", "arith.shrui"), _Reader.shifted_right),
    **dict.fromkeys(("arith.divsi", "arith.divui"), _Reader.quotient),
    "llvm.getelementptr": _Reader.address,
    "llvm.alloca": _Reader.allocated,
}
