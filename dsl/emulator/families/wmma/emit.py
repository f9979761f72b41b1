"""wmma.load, wmma.store: each lane moves the elements that it holds; wmma.mma: products of mma. PTX ISA 9.7.14.4."""

from __future__ import annotations

import re

from dsl.emulator.families.arithmetic.float import narrow, widen
from dsl.emulator.families.matrix import emit as matrix
from dsl.emulator.families.memory.emit import checked
from dsl.emulator.families.wmma.tiles import Fragment, Product, fragment
from dsl.emulator.ptx.operands import space_of
from dsl.emulator.ptx.syntax import PtxError, Vec
from dsl.emulator.tensor_core.fragments import BITS

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")


def load(body, instr):
    """wmma.load.a/b/c.sync.aligned.layout.shape{.space}.type r, [p]{, stride}."""
    kind, part = instr.mods[-1], instr.mods[1]
    whole = fragment(_product(instr, kind), part, kind)
    registers = _registers(instr.operands[0], len(whole.places), kind)
    kept: dict[tuple[int, int], str] = {}
    for register, place in zip(registers, whole.places):
        if place not in kept:
            kept[place] = _moved(body, instr, whole, place, kind)
        body.write(register, kept[place], _width(kind))


def store(body, instr):
    """wmma.store.d.sync.aligned.layout.shape{.space}.type [p], r{, stride}."""
    kind = instr.mods[-1]
    whole = fragment(_product(instr, kind), "c", kind)
    for register, place in zip(_registers(instr.operands[1], len(whole.places), kind), whole.places):
        _moved(body, instr, whole, place, kind, body.read(register, _width(kind)))


def multiply(body, instr):
    """wmma.mma.sync.aligned.alayout.blayout.shape.dtype{.atype.btype}.ctype d, a, b, c."""
    types = [each for each in instr.mods if each in BITS]
    of_d, of_c = types[0], types[-1]
    kind = types[1] if len(types) == 4 else "f16"
    product = _product(instr, kind)
    sums = of_d if of_d == of_c else "f32"
    form = product.mma(sums, "satfinite" in instr.mods, matrix.operation(instr))
    parts = {name: fragment(product, name, each) for name, each in (("a", kind), ("b", kind), ("c", of_c), ("d", of_d))
             if name != "d"}  # fmt: skip
    count_d = len(fragment(product, "c", of_d).places)
    d = _registers(instr.operands[0], count_d, of_d)
    given = {
        name: _registers(operand, len(each.places), kind if name != "c" else of_c)
        for (name, each), operand in zip(parts.items(), instr.operands[1:])
    }
    values = {name: [body.read(each, _width(kind)) for each in given[name]] for name in "ab"}
    values["c"] = _converted(body, [body.read(each, _width(of_c)) for each in given["c"]], of_c, sums)
    results = []
    for tile in range(product.tiles):
        words = []
        for name in ("b", "a", "c") if product.turned else ("a", "b", "c"):
            first, end = product.part(name, tile, sums)
            words += [(value, _width(sums if name == "c" else kind)) for value in values[name][first:end]]
        results += matrix.multiplied(body, instr, form, words)
    for register, value in zip(d, _converted(body, results, sums, of_d)):
        body.write(register, value, _width(of_d))


def _product(instr, kind: str) -> Product:
    m, n, k = next(map(int, found.groups()) for found in map(_SHAPE.match, instr.mods) if found)
    return Product((m, n, k), kind)


def _width(kind: str) -> int:
    return 64 if kind == "f64" else 32


def _registers(operand, count: int, kind: str) -> tuple:
    """The registers in the braces of an operand. Raises PtxError for another number of them."""
    if not isinstance(operand, Vec) or len(operand.items) != count:
        raise PtxError(f"a fragment of .{kind} of this shape is {count} registers in braces")
    return operand.items


def _converted(body, values: list[str], source: str, target: str) -> list[str]:
    """Registers of f16 as registers of f32, or the other way round."""
    if source == target:
        return values
    if target == "f32":
        halves = [body.resize(body.lshr(value, 16 * half), 32, 16) for value in values for half in range(2)]
        return [body.bits_of(widen(body, half, "f16"), "f32") for half in halves]
    narrowed = [body.resize(narrow(body, widen(body, value, "f32"), "f16"), 16, 32) for value in values]
    return [body.or_(low, body.shl(high, 16)) for low, high in zip(narrowed[::2], narrowed[1::2])]


def _moved(body, instr, whole: Fragment, place: tuple[int, int], kind: str, value: str = "") -> str:
    """Store a register, or load one and return it; at once if its elements are neighbours in memory."""
    x, y = place
    is_row = "row" in instr.mods
    if whole.pack == 1 or is_row != whole.by_columns:
        pointer, bits = _pointer(body, instr, whole, (x, y), kind, whole.pack)
        if not value:
            return body.op(f"load i{bits}, ptr {pointer}, align {bits // 8}")
        body.do(f"store i{bits} {value}, ptr {pointer}, align {bits // 8}")
        return value
    bits, result = BITS[kind], "0"
    for each in range(whole.pack):
        pointer, _ = _pointer(body, instr, whole, (x, y + each), kind, 1)
        if value:
            piece = body.resize(body.lshr(value, bits * each), 32, bits)
            body.do(f"store i{bits} {piece}, ptr {pointer}, align {bits // 8}")
        else:
            piece = body.op(f"load i{bits}, ptr {pointer}, align {bits // 8}")
            result = body.or_(result, body.shl(body.resize(piece, bits, 32), bits * each))
    return value or result


def _pointer(body, instr, whole: Fragment, place: tuple[int, int], kind: str, count: int) -> tuple[str, int]:
    """The checked pointer of `count` elements from a place on, and their bits."""
    store_first = instr.mods[0] == "store"
    operand = instr.operands[0 if store_first else 1]
    lane = body.and_(body.threads["linear"], 31)
    x = body.add(body.lshr(lane, 2), place[0])
    y = body.add(body.mul(body.and_(lane, 3), whole.step), place[1])
    by_lines = ("row" in instr.mods) != whole.by_columns  # lines lie one after the other in memory
    far, near = (x, y) if by_lines else (y, x)
    offset = body.mul(body.resize(far, 32, 64), _stride(body, instr), "i64")
    offset = body.add(offset, body.resize(near, 32, 64), "i64")
    offset = body.lshr(body.mul(offset, BITS[kind], "i64"), 3, "i64")
    address = body.add(body.address(operand), offset, "i64")
    space, bits = space_of(instr), BITS[kind] * count
    pointer = checked(body, instr, address, space, bits // 8)
    return body.accessed(instr, pointer, space, bits // 8), bits


def _stride(body, instr) -> str:
    """Elements from a row, or a column, to the next, as i64: as many as it has where none is given."""
    if len(instr.operands) > 2:
        return body.resize(body.read(instr.operands[2], 32), 32, 64)
    m, n, k = next(map(int, found.groups()) for found in map(_SHAPE.match, instr.mods) if found)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(instr.mods[1], (m, n))
    return str(columns if "row" in instr.mods else rows)
