"""mma, ldmatrix, stmatrix, movmatrix: all 32 lanes of a warp meet, and one computes for all. PTX ISA 9.7.14.5."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dsl.emulator.families.matrix import functions
from dsl.emulator.families.matrix.numbers import MatrixArea
from dsl.emulator.families.memory.emit import host_address
from dsl.emulator.families.warp import emit as warp
from dsl.emulator.machine.numbers import meeting
from dsl.emulator.ptx.operands import space_of
from dsl.emulator.tensor_core.fragments import BITS, SHAPES, SPARSE_SHAPES, Mma

_SPARSE = frozenset({"sp", "sp::ordered_metadata"})
_ROW_BYTES = {"b8": 16, "b6x16_p32": 12, "b4x16_p64": 8}  # without padding
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")


def mma(body, instr):
    """mma{.sp}.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c{, metadata, selector}."""
    match = next(filter(None, map(_SHAPE.match, instr.mods)))
    types = [m for m in instr.mods if m in BITS]
    d, a, b, c = types
    m, n, k = (int(each) for each in match.groups())
    is_sparse = not _SPARSE.isdisjoint(instr.mods)
    if d != c or (a, b, c) not in (SPARSE_SHAPES if is_sparse else SHAPES).get((m, n, k), ()):
        raise body.refuse(instr, "the emulator does not support this form")
    form = Mma(m, n, k, a, b, c, "satfinite" in instr.mods, operation(instr), is_sparse)
    words, operands = [], instr.operands
    bits = 64 if c == "f64" else 32
    for operand in operands[1:4]:
        words += [(body.read(item, bits), bits) for item in operand.items]
    words += [(body.read(operand, 32), 32) for operand in operands[4:]]
    for register, value in zip(operands[0].items, multiplied(body, instr, form, words)):
        body.write(register, value, bits)


def operation(instr) -> str:
    """The operation on bits in place of a product; "" for other types."""
    return next((f"bits_{each}" for each in instr.mods if each in ("xor", "and")), "")


def multiplied(body, instr, form: Mma, words: list[tuple[str, int]]) -> list[str]:
    """The registers of D that a form of mma makes of words (value, bits)."""
    area = _meet(body, instr, functions.of_mma(form, body.places.tensor_core.name), words)
    bits = 64 if form.c == "f64" else 32
    return [_word(body, area, i * bits // 32, bits) for i in range(form.registers[2])]


def ldmatrix(body, instr):
    """ldmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 r, [p]: lane 8 i + r names row r of matrix i."""
    count, transpose = _form(instr)
    row = _row(body, instr, instr.operands[1], 8 * count)
    area = _meet(body, instr, functions.of_matrices("ldmatrix", count, transpose), [(row, 64)])
    _take(body, area, instr.operands[0].items, 2, 32)


def ldmatrix_of_bytes(body, instr):
    """ldmatrix.sync.aligned.m16n16.num.trans{.shared}.b8 r, [p], and of elements of 6 and 4 bits, which become bytes
    with zeros above them; m8n16.num without .trans. Lane 16 i + r, or 8 i + r, names row r of matrix i."""
    count, is_square = _form(instr)
    elements = next(each for each in functions.ELEMENTS if each in instr.mods)
    rows = (16 if is_square else 8) * count
    row = _row(body, instr, instr.operands[1], rows, _ROW_BYTES[elements])
    name = functions.of_bytes("m16n16" if is_square else "m8n16", count, elements)
    area = _meet(body, instr, name, [(row, 64)])
    _take(body, area, instr.operands[0].items, 2, 32)


def stmatrix(body, instr):
    """stmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 [p], r; m16n8.num.trans of .b8."""
    count, transpose = _form(instr)
    name = functions.of_matrices("stmatrix_b8" if "b8" in instr.mods else "stmatrix", count, transpose)
    site, kind = body.check_of_rows(instr)
    row = _row(body, instr, instr.operands[0], 8 * count)
    values = [(body.read(value, 32), 32) for value in instr.operands[1].items]
    words = [(row, 64), *values, *[("0", 32)] * (4 - count), (site, 32), (str(kind), 32)]
    area = _meet(body, instr, name, words)
    body.rows_written(body.place_in(area, MatrixArea.words, 2))


def movmatrix(body, instr):
    """movmatrix.sync.aligned.m8n8.trans.b16 d, a."""
    word = (body.read(instr.operands[1], 32), 32)
    area = _meet(body, instr, functions.MOVMATRIX, [word])
    _take(body, area, [instr.operands[0]], 1, 32)


def _form(instr) -> tuple[int, bool]:
    return next(int(m[1]) for m in instr.mods if m in ("x1", "x2", "x4")), "trans" in instr.mods


def _row(body, instr, operand, rows: int, read_bytes: int = 16) -> str:
    """The host address of the row of 16 bytes this lane names, as i64, of which it touches the first ones; lanes past
    the last of the rows name none."""
    space = space_of(instr)
    if rows == 32:
        return body.cast("ptrtoint", host_address(body, instr, operand, space, 16, read_bytes), "ptr", "i64")
    slot = body.alloca("i64")
    body.put(slot, 0, "i64")
    lane = body.and_(body.threads["linear"], 31)
    names, after = body.fresh("names"), body.fresh("named")
    body.do(f"br i1 {body.cmp('ult', lane, rows)}, label %{names}, label %{after}")
    values, checked = dict(body.values), set(body.checked)
    body.start(names, keep=True)
    pointer = host_address(body, instr, operand, space, 16, read_bytes)
    body.put(slot, body.cast("ptrtoint", pointer, "ptr", "i64"), "i64")
    body.branch(after)
    body.start(after)
    body.values.update(values)
    body.checked = checked
    return body.get(slot, "i64")


def _meet(body, instr, name: str, words: list[tuple[str, int]]) -> str:
    """Give `words` (value, bits) and wait for the whole warp; afterwards the exchange area has the results."""
    area = body.exchange_area(MatrixArea)
    body.put(area, f"@{body.wrap(name) if body.wrap else name}", "ptr")
    at = 0
    for value, bits in words:
        body.put_in(area, MatrixArea.words, value, f"i{bits}", at)
        at += bits // 32
    key = meeting.COLLECTIVE | body.site(instr) << 8
    warp.meet(body, instr, key, "-1", body.cast("ptrtoint", area, "ptr", "i64"))
    return area


def _take(body, area: str, results: Sequence, first: int, bits: int) -> None:
    for i, result in enumerate(results):
        body.write(result, _word(body, area, first + i * bits // 32, bits), bits)


def _word(body, area: str, number: int, bits: int) -> str:
    return body.get_from(area, MatrixArea.words, number, f"i{bits}")
