"""Atomic operations on places: one instruction where other threads see the place, a load and a store elsewhere.

All return the old value.  PTX ISA: atom.  Source: Quadrants user guide, Atomics.
"""

from __future__ import annotations

from dsl.core import arith, mlir, power
from dsl.core.dtypes import Int32, Int64, Numeric
from dsl.core.value import operate
from dsl.quadrants import dtypes as types
from dsl.quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.lvalue import Lvalue, value_of
from dsl.quadrants.matrix import Matrix, _entries_like
from dsl.quadrants.task import program

ATOMIC = ("add", "sub", "and", "or", "xor")          # of augmented assignments
# AtomicBinOp of MLIR's llvm dialect: (signed integers, unsigned, floats)
_KINDS = {"xchg": (0, 0, 0), "add": (1, 1, 11), "sub": (2, 2, 12), "and": (3, 3, None), "or": (5, 5, None),
          "xor": (6, 6, None), "max": (7, 9, None), "min": (8, 10, None)}
_MONOTONIC = 2


def update(name: str, place: Lvalue, value: object) -> Numeric:
    """`place = place name value`, atomic where it must be; the old value."""
    core = place.core
    value = types.number(value_of(value))
    if value is None:
        raise QuadrantsTypeError.at(f"atomic_{name} takes a number")
    if core.is_float and name in ("and", "or", "xor") or name in ("and", "or", "xor") and value.is_float:
        raise QuadrantsTypeError.at(f"unsupported operand type(s) for 'atomic_{name}': "
                                    f"'{types.of_core(core)}' and '{types.of_core(type(value))}'")
    value = core(value)
    if not place.is_shared:
        old = place.load()
        place.store(_combined(name, old, value))
        return old
    program().task.effect()
    kind = _KINDS.get(name, (None,) * 3)[2 if core.is_float else 0 if core.signed else 1]
    if name == "sub" and (core.is_float or core.width < 32):
        name, value, kind = "add", -value, _KINDS["add"][2 if core.is_float else 0]
    if kind is None or core.width < 32:
        return _by_compare_and_swap(place, lambda old: _combined(name, old, value))
    made = mlir.op("llvm.atomicrmw", [core.carrier], [place.pointer().address, value.ir()],
                   {"bin_op": mlir.int_attr(kind), "ordering": mlir.int_attr(_MONOTONIC)})
    return core(made.results[0])


def _combined(name: str, old: Numeric, value: Numeric) -> Numeric:
    return value if name == "xchg" else type(old)(operate(name, old, value))


def _by_compare_and_swap(place: Lvalue, change) -> Numeric:
    """Any operation, as a loop of compare-and-swaps on the word that holds the number."""
    core, pointer = place.core, place.pointer()
    word, shift = _word_of(pointer)
    width = 64 if core.width == 64 else 32
    bits = mlir.i64 if width == 64 else mlir.i32

    def value_in(held):
        if shift is not None:
            held = mlir.result("arith.shrui", bits, held, shift)
        small = held if core.storage_width == width else \
            mlir.result("arith.trunci", mlir.ir.IntegerType.get_signless(core.storage_width, mlir.context), held)
        if core.width == 1:
            return core(arith.compare("ne", small, arith.constant(0, small.type), False))
        return core(small if small.type == core.carrier else mlir.result("arith.bitcast", core.carrier, small))

    def with_value(held, new):
        raw = core(new).ir()
        kind = mlir.ir.IntegerType.get_signless(core.storage_width, mlir.context)
        if core.width == 1:
            raw = mlir.result("arith.extui", kind, raw)
        raw = raw if raw.type == kind else mlir.result("arith.bitcast", kind, raw)
        if shift is None:
            return raw
        wide = mlir.result("arith.shli", bits, mlir.result("arith.extui", bits, raw), shift)
        mask = mlir.result("arith.shli", bits, mlir.constant((1 << core.storage_width) - 1, bits), shift)
        keep = arith.binary("xor", mask, mlir.constant(-1, bits), False)
        return arith.binary("or", arith.binary("and", held, keep, False), wide, False)

    def swap(expected, wanted):
        with mlir.context:
            pair = mlir.Type.parse(f"!llvm.struct<({bits}, i1)>")
        made = mlir.op("llvm.cmpxchg", [pair], [word, expected, wanted],
                       {"success_ordering": mlir.int_attr(_MONOTONIC), "failure_ordering": mlir.int_attr(_MONOTONIC)})
        return mlir.field(made.results[0], 0, bits), mlir.field(made.results[0], 1, mlir.i1)

    def step(held, _go):
        seen, done = swap(held, with_value(held, change(value_in(held))))
        return seen, arith.binary("xor", done, mlir.constant(1, mlir.i1), False)
    first = mlir.load(word, bits, width // 8)
    last = power.loop([first, mlir.constant(1, mlir.i1)], lambda _held, go: go, step)[0]
    return value_in(last)


def _word_of(pointer) -> tuple:
    """The address of the aligned word that holds the number, and how many bits it is shifted there (None: not)."""
    if pointer.dtype.storage_width >= 32:
        return pointer.address, None
    address = pointer.toint()
    start = mlir.result("llvm.inttoptr", pointer.ir_type(), operate("and", address, Int64(-4)).ir())
    return start, operate("mul", Int32(operate("and", address, Int64(3))), Int32(8)).ir()


def _fanned(name: str, place: object, value: object) -> object:
    if isinstance(place, Matrix) and all(isinstance(entry, Lvalue) for entry in place.entries):
        pairs = zip(place.entries, _entries_like(place, value))
        return place.like([update(name, entry, part) for entry, part in pairs])
    if not isinstance(place, Lvalue):
        raise QuadrantsSyntaxError.at(f"cannot use a non-writable target as the first operand of 'atomic_{name}'",
                                      fix="name a variable, or an element of a field or array")
    return update(name, place, value)


def _atomic(name: str, spelled: str):
    def operation(x, y):
        return _fanned(name, x, y)
    operation.__name__ = f"atomic_{spelled}"
    operation.__doc__ = f"`x = x {spelled} y`; the old value of x."
    return operation


atomic_add, atomic_sub, atomic_min, atomic_max, atomic_and, atomic_or, atomic_xor, atomic_mul = (
    _atomic(name, name) for name in ("add", "sub", "min", "max", "and", "or", "xor", "mul"))
atomic_exchange = _atomic("xchg", "exchange")


def atomic_cas(x, expected, desired):
    """`x = desired` where x is `expected`; the old value of x."""
    if not isinstance(x, Lvalue):
        raise QuadrantsSyntaxError.at("cannot use a non-writable target as the first operand of 'atomic_cas'")
    if x.core.is_float:
        raise QuadrantsTypeError.at(f"atomic_cas takes integers, and this is {x.dtype}")
    expected, desired = (x.core(types.number(value_of(value))) for value in (expected, desired))

    def changed(old):
        from dsl.core.value import select
        return select(operate("eq", old, expected), desired, old)
    if not x.is_shared:
        old = x.load()
        x.store(changed(old))
        return old
    program().task.effect()
    if x.core.width < 32:
        return _by_compare_and_swap(x, changed)
    with mlir.context:
        pair = mlir.Type.parse(f"!llvm.struct<({x.core.carrier}, i1)>")
    made = mlir.op("llvm.cmpxchg", [pair], [x.pointer().address, expected.ir(), desired.ir()],
                   {"success_ordering": mlir.int_attr(_MONOTONIC), "failure_ordering": mlir.int_attr(_MONOTONIC)})
    return x.core(mlir.field(made.results[0], 0, x.core.carrier))
