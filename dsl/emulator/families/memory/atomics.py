"""atom, red: on memory that others see too. PTX ISA 9.7.13.5, 9.7.13.6."""

from __future__ import annotations

from dsl.emulator.check.ordering import ACQUIRES, RELEASES
from dsl.emulator.families.arithmetic import float as floating
from dsl.emulator.families.memory.emit import SHARED_BY_BLOCKS, host_address, shape
from dsl.emulator.ptx.operands import space_of
from dsl.emulator.ptx.syntax import FLOATS, SIGNED, SINK, TYPE_BITS, PtxError


def atomic(body, instr):
    """atom, red: on memory that blocks share an atomic operation of the host. Threads of one block run in turn, and so
    do all blocks of a kernel with floating-point atomics (analysis.order_matters): a read, an operation and a write.
    """
    kind, bits, count, size_bytes = shape(instr)
    has_result = instr.opcode == "atom"
    destination = instr.operands[0] if has_result else None
    address, *values = instr.operands[1:] if has_result else instr.operands
    operation = next(m for m in instr.mods if m in OPERATIONS)
    space = space_of(instr)
    if body.one_place(instr, address, space):
        return _combined(body, instr, operation, address, body.read(values[0], bits))
    pointer = host_address(body, instr, address, space, size_bytes)
    if count > 1:
        return _vector_atomic(body, instr, operation, pointer, destination, values[0])
    operands = [body.read(v, bits) for v in values[: 2 if operation == "cas" else 1]]
    old = _one(body, instr, operation, pointer, operands)
    if destination is not None:
        body.write(destination, old, bits, kind in SIGNED)


def _one(body, instr, operation: str, pointer: str, operands: list[str]) -> str:
    """The old value."""
    kind, bits, _, _ = shape(instr)
    if space_of(instr) in SHARED_BY_BLOCKS and bits <= 64 and kind not in FLOATS and not kind.endswith("x2"):
        return _host_atomic(body, instr, operation, kind, pointer, operands)
    return _in_turn(body, instr, operation, kind, pointer, operands)


def _combined(body, instr, operation: str, address, value: str) -> None:
    """All threads of a region update one place, and nobody reads what was there: combine their values, then update."""
    kind, bits, _, size_bytes = shape(instr)
    if kind in FLOATS:
        return _summed(body, instr, address, value)
    total = body.alloca(f"i{bits}")
    with body.before_threads():
        body.put(total, _neutral(operation, kind), f"i{bits}")
    body.put(total, OPERATIONS[operation](body, instr, kind, body.get(total, f"i{bits}"), value), f"i{bits}")
    with body.after_threads():
        pointer = host_address(body, instr, address, space_of(instr), size_bytes)
        _one(body, instr, operation, pointer, [body.get(total, f"i{bits}")])


def _summed(body, instr, address, value: str) -> None:
    """The same for a sum of f32 or f64: each thread adds to the sum so far, in the order of the threads."""
    kind, bits, _, size_bytes = shape(instr)
    total, llvm = body.alloca(floating.LLVM[kind]), floating.LLVM[kind]
    with body.before_threads():
        pointer = host_address(body, instr, address, space_of(instr), size_bytes)
        old = body.op(f"load i{bits}, ptr {pointer}, align {size_bytes}")
        body.put(total, floating.widen(body, old, kind), llvm)
    body.put(total, body.op(f"fadd {llvm} {body.get(total, llvm)}, {floating.widen(body, value, kind)}"), llvm)
    with body.after_threads():
        new = floating.narrow(body, body.get(total, llvm), kind)
        body.do(f"store i{bits} {new}, ptr {pointer}, align {size_bytes}")


def _neutral(operation: str, kind: str) -> str:
    """The value that leaves every other as it is."""
    bits, lowest = TYPE_BITS[kind], kind in SIGNED
    if operation in ("min", "max"):
        least, most = (-1 << bits - 1, (1 << bits - 1) - 1) if lowest else (0, -1)
        return str(most if operation == "min" else least)
    return "-1" if operation == "and" else "0"


def _in_turn(body, instr, operation: str, kind: str, pointer: str, operands: list[str]) -> str:
    """The old value."""
    bits = TYPE_BITS[kind]
    old = body.op(f"load i{bits}, ptr {pointer}, align {bits // 8}")
    new = OPERATIONS[operation](body, instr, kind, old, *operands)
    body.do(f"store i{bits} {new}, ptr {pointer}, align {bits // 8}")
    return old


def _vector_atomic(body, instr, operation: str, pointer: str, destination, values) -> None:
    """One atomic operation an element; they are floats."""
    kind, bits, count, _ = shape(instr)
    for vector in (values, destination):
        if vector is not None and vector != SINK and len(getattr(vector, "items", ())) != count:
            raise PtxError(f"it needs {count} registers in braces")
    for i, value in enumerate(values.items):
        place = body.op(f"getelementptr i8, ptr {pointer}, i64 {i * bits // 8}")
        old = _in_turn(body, instr, operation, kind, place, [body.read(value, bits)])
        if destination is not None and destination != SINK:
            body.write(destination.items[i], old, bits)


_HOST_NAMES = {"exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap"}


def _host_atomic(body, instr, operation: str, kind: str, pointer: str, operands: list[str]) -> str:
    """The old value."""
    bits = TYPE_BITS[kind]
    order = "acq_rel" if not (ACQUIRES | RELEASES).isdisjoint(instr.mods) else "monotonic"
    if operation == "cas":
        otherwise = "acquire" if order == "acq_rel" else order
        values = f"i{bits} {operands[0]}, i{bits} {operands[1]}"
        pair = body.op(f"cmpxchg ptr {pointer}, {values} {order} {otherwise}, align {bits // 8}")
        return body.op(f"extractvalue {{ i{bits}, i1 }} {pair}, 0")
    name = _HOST_NAMES.get(operation, operation)
    if operation in ("min", "max") and kind not in SIGNED:
        name = "u" + name
    return body.op(f"atomicrmw {name} ptr {pointer}, i{bits} {operands[0]} {order}, align {bits // 8}")


def _atomic_add(body, instr, kind, old, value):
    bits = TYPE_BITS[kind]
    if kind in FLOATS or kind in ("f16x2", "bf16x2"):
        return _float_add(body, kind, old, value)
    return body.add(old, value, f"i{bits}")


def _float_add(body, kind, old, value):
    """f32 atomics on global memory flush subnormals on hardware's L2 only for .ftz forms: plain IEEE add here."""
    if kind.endswith("x2"):
        result = "0"
        for i in range(2):
            parts = [body.op(f"trunc i32 {body.lshr(w, 16 * i)} to i16") for w in (old, value)]
            piece = body.resize(_float_add(body, kind[:-2], *parts), 16, 32)
            result = body.or_(result, body.shl(piece, 16 * i))
        return result
    a, b = (floating.widen(body, v, kind) for v in (old, value))
    llvm = "double" if kind == "f64" else "float"
    return floating.narrow(body, body.op(f"fadd {llvm} {a}, {b}"), kind)


def _atomic_minmax(name):
    def emit(body, instr, kind, old, value):
        bits = TYPE_BITS[kind]
        if kind in FLOATS or kind.endswith("x2"):
            return floating.minmax_bits(body, instr, name, kind, old, value)
        letter = "s" if kind in SIGNED else "u"
        return body.op(f"call i{bits} @llvm.{letter}{name}.i{bits}(i{bits} {old}, i{bits} {value})")

    return emit


def _atomic_logic(name):
    def emit(body, instr, kind, old, value):
        return body.op(f"{name} i{TYPE_BITS[kind]} {old}, {value}")

    return emit


def _exchange(body, instr, kind, old, value):
    return value


def _compare_and_swap(body, instr, kind, old, expected, value):
    same = body.cmp("eq", old, expected, f"i{TYPE_BITS[kind]}")
    return body.select(same, value, old, f"i{TYPE_BITS[kind]}")


def _increment(body, instr, kind, old, value):
    """inc: old >= limit ? 0 : old + 1."""
    return body.select(body.cmp("uge", old, value), 0, body.add(old, 1))


def _decrement(body, instr, kind, old, value):
    """dec: old == 0 or old > limit ? limit : old - 1."""
    wraps = body.or_(body.cmp("eq", old, 0), body.cmp("ugt", old, value), "i1")
    return body.select(wraps, value, body.sub(old, 1))


OPERATIONS = {
    "add": _atomic_add, "min": _atomic_minmax("min"), "max": _atomic_minmax("max"), "and": _atomic_logic("and"),
    "or": _atomic_logic("or"), "xor": _atomic_logic("xor"), "exch": _exchange, "cas": _compare_and_swap,
    "inc": _increment, "dec": _decrement,
}  # fmt: skip
