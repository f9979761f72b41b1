"""Atomic operations on memory that other threads see: the one way of all surfaces.
All but `reduce` return the old value.

Relaxed ones of scope gpu are LLVM's atomicrmw and cmpxchg. LLVM's NVPTX drops other scopes and orders of atomicrmw, so
those are PTX text; what no instruction does is a loop of compare-and-swaps.  PTX ISA: atom, red.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError, warn
from dsl.core.ir import arithmetic, mlir
from dsl.core.number import integer_power
from dsl.core.number.dtypes import BFloat16, Boolean, Float16, Float32, Int16, Int32, Int64, Numeric, Uint32, numeric
from dsl.core.number.operators import operate, type_name
from dsl.core.number.pointer import AddressSpace, Pointer, as_pointer, element_bytes
from dsl.core.phrase import Phrase, shown
from dsl.gpu.inline import CONSTRAINTS, ptx

# AtomicBinOp of MLIR's llvm dialect: (signed integers, unsigned, floats)
KINDS = {
    "exch": (0, 0, 0),
    "add": (1, 1, 11),
    "sub": (2, 2, None),
    "and": (3, 3, None),
    "or": (5, 5, None),
    "xor": (6, 6, None),
    "max": (7, 9, None),
    "min": (8, 10, None),
}
_MONOTONIC = 2
_SEMS, SCOPES = (None, "relaxed", "release", "acquire", "acq_rel"), (None, "gpu", "cta", "cluster", "sys")
_SPACES = {AddressSpace.gmem: ".global", AddressSpace.smem: ".shared", AddressSpace.generic: ""}


def kind_of(name: str, dtype: type[Numeric]) -> int | None:
    """The instruction of an operation on a type, or None."""
    kind = KINDS.get(name, (None,) * 3)[2 if dtype.is_float else 0 if dtype.signed else 1]
    halves = name == "add" and dtype in (Float16, BFloat16)
    return kind if (dtype.width in (32, 64) and dtype.storage_width == dtype.width) or halves else None


def update(name: str, pointer: Pointer, value: Any, sem: str | None = None, scope: str | None = None) -> Numeric:
    """`*pointer = *pointer name value`, one instruction. Raises DSLUserCodeTypeError where the type has none."""
    dtype, kind = pointer.dtype, kind_of(name, pointer.dtype)
    if kind is None:
        raise DSLUserCodeTypeError(
            Phrase("no atomic `{name}` exists for {dtype}", name=name, dtype=dtype),
            id="ATOMIC_TYPE",
            fix="integers of 32 or 64 bits; floats have `add` and `exch` alone",
        )
    order = _order(sem, scope)
    if order:
        register = CONSTRAINTS[dtype.carrier]
        return ptx(
            f"atom{order}{_space(pointer)}.{name}.{_suffix(name, dtype)} $0, [$1], $2;",
            dtype,
            f"={register},{_address(pointer)},{register}",
            pointer.toint(),
            dtype(value),
        )
    operation = mlir.op(
        "llvm.atomicrmw",
        [dtype.carrier],
        [pointer.address, dtype(value).ir()],
        {
            "bin_op": mlir.int_attr(kind),
            "ordering": mlir.int_attr(_MONOTONIC),
            "syncscope": mlir.string_attr("device"),
            "alignment": mlir.int_attr(element_bytes(dtype)),
        },
    )
    return dtype(operation.results[0])


def compare_and_swap(
    pointer: Pointer, expected: Any, value: Any, sem: str | None = None, scope: str | None = None
) -> Numeric:
    """`*pointer = value` if its bits are equal to the bits of `expected`."""
    dtype = pointer.dtype
    if dtype.width not in (16, 32, 64):
        raise DSLUserCodeTypeError(
            Phrase("no atomic compare-and-swap exists for {dtype}", dtype=dtype),
            id="ATOMIC_TYPE",
            fix="elements of 16, 32 or 64 bits",
        )
    bits = {16: mlir.i16, 32: mlir.i32, 64: mlir.i64}[dtype.width]
    old_bits, new_bits = dtype(expected).ir(), dtype(value).ir()
    if dtype.is_float:
        old_bits, new_bits = (mlir.result("arith.bitcast", bits, number) for number in (old_bits, new_bits))
    order = _order(sem, scope)
    if order or dtype.width == 16:
        register = CONSTRAINTS[bits]
        integer = {16: Int16, 32: Int32, 64: Int64}[dtype.width]
        old = ptx(
            f"atom{order}{_space(pointer)}.cas.b{dtype.width} $0, [$1], $2, $3;",
            integer,
            f"={register},{_address(pointer)},{register},{register}",
            pointer.toint(),
            old_bits,
            new_bits,
        ).ir()
    else:
        old = _swapped(pointer.address, old_bits, new_bits, element_bytes(dtype))[0]
    return dtype(mlir.result("arith.bitcast", dtype.carrier, old) if dtype.is_float else old)


def _swapped(address: mlir.Value, expected: mlir.Value, wanted: mlir.Value, alignment_bytes: int) -> tuple:
    """The old value, and whether it was replaced (an i1)."""
    exchange = mlir.op(
        "llvm.cmpxchg",
        [mlir.struct(expected.type, mlir.i1)],
        [address, expected, wanted],
        {
            "success_ordering": mlir.int_attr(_MONOTONIC),
            "failure_ordering": mlir.int_attr(_MONOTONIC),
            "syncscope": mlir.string_attr("device"),
            "alignment": mlir.int_attr(alignment_bytes),
        },
    )
    return mlir.field(exchange.results[0], 0, expected.type), mlir.field(exchange.results[0], 1, mlir.i1)


def reduce(name: str, pointer: Pointer, value: mlir.Value, kind: str, sem: str, scope: str) -> None:
    """`*pointer = *pointer name value` of PTX type `kind`, without the old value.  PTX ISA: red."""
    register = "h" if kind in ("f16", "bf16") else "r" if kind.endswith("x2") else CONSTRAINTS[value.type]
    rounding = "noftz." if "16" in kind else ""
    ptx(
        f"red.{sem}.{scope}{_space(pointer)}.{name}.{rounding}{kind} [$0], $1;",
        None,
        f"{_address(pointer)},{register}",
        pointer.toint(),
        value,
    )


def _order(sem: str | None, scope: str | None) -> str:
    """`.sem.scope`, or nothing for a relaxed operation of scope gpu. Raises DSLUserCodeValueError for other words."""
    for word, values, what in ((sem, _SEMS, "sem"), (scope, SCOPES, "scope")):
        if word not in values:
            raise DSLUserCodeValueError(
                f"{what} must be one of {', '.join(values[1:])}, got {shown(word)}", fix=f'{what}="{values[1]}"'
            )
    if sem in (None, "relaxed") and scope in (None, "gpu"):
        return ""
    return f".{sem or 'relaxed'}.{scope or 'gpu'}"


def _space(pointer: Pointer) -> str:
    if pointer.space not in _SPACES:
        raise DSLUserCodeTypeError(
            f"no other thread sees {pointer.space} memory: an atomic operation works on global or shared memory",
            fix="copy the value to shared memory first",
        )
    return _SPACES[pointer.space]


def _suffix(name: str, dtype: type[Numeric]) -> str:
    """The type of an atom instruction."""
    if name not in ("add", "min", "max"):
        return f"b{dtype.width}"
    if dtype.is_float:
        return f"noftz.{dtype.carrier}" if dtype.width == 16 else f"f{dtype.width}"
    return f"{'s' if dtype.signed and name != 'add' else 'u'}{dtype.width}"


def _address(pointer: Pointer) -> str:
    return "r" if pointer.space is AddressSpace.smem else "l"


# --- what no instruction does ---------------------------------------------------------------------------------------


def by_compare_and_swap(
    pointer: Pointer, change: Callable[[Numeric], Numeric], unless: Callable[[Numeric], Any] | None = None
) -> Numeric:
    """`*pointer = change(*pointer)`, as a loop of compare-and-swaps on the word that holds the number.

    `unless`: whether `change` leaves a number as it is, where that is common, as for a maximum; a load then does.
    """
    dtype = pointer.dtype
    word, shift = _word_of(pointer)
    bits = mlir.i64 if dtype.width == 64 else mlir.i32
    kind = mlir.ir.IntegerType.get_signless(dtype.storage_width, mlir.context)

    def value_in(whole: mlir.Value) -> Numeric:
        if shift is not None:
            whole = mlir.result("arith.shrui", bits, whole, shift)
        small = whole if kind == bits else mlir.result("arith.trunci", kind, whole)
        if dtype.width == 1:
            return dtype(arithmetic.compare("ne", small, arithmetic.constant(0, small.type), False))
        return dtype(small if small.type == dtype.carrier else mlir.result("arith.bitcast", dtype.carrier, small))

    def with_value(whole: mlir.Value, new: Numeric) -> mlir.Value:
        raw = dtype(new).ir()
        if dtype.width == 1:
            raw = mlir.result("arith.extui", kind, raw)
        raw = raw if raw.type == kind else mlir.result("arith.bitcast", kind, raw)
        if shift is None:
            return raw
        wide = mlir.result("arith.shli", bits, mlir.result("arith.extui", bits, raw), shift)
        mask = mlir.result("arith.shli", bits, mlir.constant((1 << dtype.storage_width) - 1, bits), shift)
        keep = arithmetic.binary("xor", mask, mlir.constant(-1, bits), False)
        return arithmetic.binary("or", arithmetic.binary("and", whole, keep, False), wide, False)

    def step(old: mlir.Value, _go: mlir.Value) -> tuple[mlir.Value, mlir.Value]:
        seen, done = _swapped(word, old, with_value(old, change(value_in(old))), bits.width // 8)
        return seen, arithmetic.binary("xor", done, mlir.constant(1, mlir.i1), False)

    if unless is None:
        first, go = mlir.load(word, bits, bits.width // 8), mlir.constant(1, mlir.i1)
    else:
        first = _loaded(word, bits)
        go = arithmetic.binary("xor", Boolean(unless(value_in(first))).ir(), mlir.constant(1, mlir.i1), False)
    return value_in(integer_power.loop([first, go], lambda _held, go: go, step)[0])


def _loaded(word: mlir.Value, bits: mlir.Type) -> mlir.Value:
    """A relaxed load of scope gpu."""
    attributes = {"ordering": mlir.int_attr(_MONOTONIC), "syncscope": mlir.string_attr("device")}
    return mlir.result("llvm.load", bits, word, alignment=mlir.int_attr(bits.width // 8), **attributes)


def _word_of(pointer: Pointer) -> tuple[mlir.Value, mlir.Value | None]:
    """The address of the aligned word that holds the number, and how many bits it is shifted there (None: not)."""
    if pointer.dtype.storage_width >= 32:
        return pointer.address, None
    address = pointer.toint()
    start = mlir.result("llvm.inttoptr", pointer.ir_type(), operate("and", address, type(address)(-4)).ir())
    return start, operate("mul", Int32(operate("and", address, type(address)(3))), Int32(8)).ir()


def float_extreme(
    name: str,
    pointer: Pointer,
    value: Numeric,
    negative: bool | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> Float32:
    """The larger (`max`) or smaller of a Float32 and `value`, by the order of their bits.

    As signed integers floats without a sign are in order, as unsigned ones those with it are in the other. `negative`
    is the sign of `value`, None where it is not known. A NaN without a sign is above every number.
    """
    bits = Float32(value).bitcast(Int32)

    def signed() -> mlir.Value:
        return update(name, pointer.recast(Int32), bits, sem, scope).ir()

    def unsigned() -> mlir.Value:
        opposite = {"max": "min", "min": "max"}[name]
        return update(opposite, pointer.recast(Uint32), Uint32(bits), sem, scope).ir()

    if negative is not None:
        old = unsigned() if negative else signed()
    else:
        branch = mlir.op("scf.if", [mlir.i32], [Boolean(operate("ge", bits, 0)).ir()], regions=2)
        for region, arm in zip(branch.regions, (signed, unsigned)):
            with mlir.inside(region.blocks.append()):
                mlir.op("scf.yield", [], [arm()])
        old = branch.results[0]
    return Int32(old).bitcast(Float32)


# --- what upstream writes -------------------------------------------------------------------------------------------


def typed(ptr: Pointer | mlir.Value, val: Any, what: str) -> tuple[Pointer, Numeric]:
    """A pointer to the type of `val`, which decides the operation, as upstream;
    warns if the pointer's type differs."""
    number = numeric(val)
    pointer = ptr if number is None else as_pointer(ptr, type(number))
    if number is None or not isinstance(pointer, Pointer):
        raise _no_pointer_and_number(ptr, val, what)
    dtype = type(number)
    if dtype is not pointer.dtype:
        warn(
            f"{what} of a {dtype} in memory of {pointer.dtype} works on {dtype.width} bits as {dtype}: convert the "
            f"value, `{pointer.dtype}(x)`",
            "ATOMIC_TYPE",
        )
        pointer = pointer.recast(dtype)
    return pointer, number


def _no_pointer_and_number(ptr: Any, val: Any, what: str) -> DSLUserCodeTypeError:
    said = "{what} takes a pointer and a number, got {ptr} and {val}"
    return DSLUserCodeTypeError(
        Phrase(said, what=what, ptr=type_name(ptr), val=type_name(val)),
        fix=Phrase("cute.arch.{what}(tensor.iterator + i, value)", "IN_CUTE", what=what),
    )


def _atomic(name: str, text: str) -> Callable:
    def operation(ptr: Pointer, val: Any, *, sem: str | None = None, scope: str | None = None) -> Numeric:
        pointer, number = typed(ptr, val, f"atomic_{name}")
        return update(name, pointer, number, sem, scope)

    operation.__name__ = operation.__qualname__ = f"atomic_{name}"
    operation.__doc__ = (
        f"{text} `val` and what `ptr` points at; the old value. `sem` is relaxed, release, acquire or "
        f"acq_rel, `scope` gpu, cta, cluster or sys.  PTX ISA: atom.{name}"
    )
    return operation


atomic_add, atomic_and, atomic_or, atomic_xor = (_atomic(name, "Combine") for name in ("add", "and", "or", "xor"))
atomic_min, atomic_max, atomic_exch = (
    _atomic("min", "The smaller of"),
    _atomic("max", "The larger of"),
    _atomic("exch", "Swap"),
)


def atomic_cas(ptr: Pointer, *, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None) -> Numeric:
    """Store `val` where `ptr` points at the bits of `cmp`; the old value.  PTX ISA: atom.cas"""
    pointer, number = typed(ptr, val, "atomic_cas")
    return compare_and_swap(pointer, cmp, number, sem, scope)


def atomic_fmax(
    ptr: Pointer, val: Any, *, sign_bit: bool | None = None, sem: str | None = None, scope: str | None = None
) -> Float32:
    """The larger of `val` and what `ptr` points at, by integer atomics; the old value. See float_extreme."""
    return float_extreme("max", _of_float(ptr, val, "atomic_fmax"), val, sign_bit, sem, scope)


def atomic_fmin(
    ptr: Pointer, val: Any, *, sign_bit: bool | None = None, sem: str | None = None, scope: str | None = None
) -> Float32:
    """The smaller of `val` and what `ptr` points at, by integer atomics; the old value. See float_extreme."""
    return float_extreme("min", _of_float(ptr, val, "atomic_fmin"), val, sign_bit, sem, scope)


def atomic_max_float32(ptr: Pointer, value: Any, *, positive_only: bool = True) -> Float32:
    """atomic_fmax under its older name; with `positive_only`, of values without a sign."""
    pointer = _of_float(ptr, value, "atomic_max_float32")
    return float_extreme("max", pointer, value, False if positive_only else None)


def _of_float(ptr: Any, value: Any, what: str) -> Pointer:
    pointer = as_pointer(ptr, Float32)
    if not isinstance(pointer, Pointer) or numeric(value) is None:
        raise _no_pointer_and_number(ptr, value, what)
    return pointer


_PTX_TYPES = {
    "Int32": "s32",
    "Uint32": "u32",
    "Int64": "s64",
    "Uint64": "u64",
    "Float32": "f32",
    "Float64": "f64",
    "Float16": "f16",
    "BFloat16": "bf16",
}
_FLOATS, _MIXED = ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"), ("and", "or", "xor")


def red(
    ptr: Pointer, val: Any, *, op: str, dtype: str | type[Numeric], sem: str | None = None, scope: str | None = None
) -> None:
    """`*ptr = *ptr op val` without the old value. `dtype` is a type or PTX's word: s32, u64, b32, f16x2...

    `op` is add, min, max, umin, umax (of a signed type too), and, or, xor; and `sem` relaxed or release.  PTX ISA: red.
    """
    kind = dtype if isinstance(dtype, str) else _PTX_TYPES.get(getattr(dtype, "__name__", ""), "")
    if op in ("umin", "umax"):
        op, kind = op[1:], kind.replace("s", "u")
    number = numeric(val)
    pointer = ptr if number is None else as_pointer(ptr, type(number))
    exists = (
        kind in ("b32", "b64")
        if op in _MIXED
        else kind in ("s32", "u32", "u64", *_FLOATS)
        if op == "add"
        else op in ("min", "max") and kind in ("s32", "u32", "s64", "u64")
    )
    if number is None or not isinstance(pointer, Pointer) or not exists:
        raise DSLUserCodeTypeError(
            f"no reduction {shown(op)} exists for {kind or shown(dtype)}",
            id="ATOMIC_TYPE",
            fix='and, or, xor of "b32" and "b64"; min, max of "s32" to "u64"; add of "s32", "u32", "u64" and floats',
        )
    if sem not in ("relaxed", "release") or scope not in SCOPES:
        raise DSLUserCodeValueError(
            f"sem of red must be relaxed or release, got {shown(sem)}", fix='sem="relaxed", scope="gpu"'
        )
    reduce(op, pointer, number.ir(), kind, sem, scope or "gpu")
