"""vadd, vmad, vset, vadd2, vset4 and their like: numbers taken from parts of registers. PTX ISA 9.7.18.

Numbers are 128 bits wide here: no step before the last loses a bit.
"""

from __future__ import annotations

import re

from dsl.emulator.ptx.syntax import SIGNED, TYPE_BITS, Instr, PtxError

_PART = re.compile(r"[bh][0-3]")
_WHOLE_MASKS = {2: "h10", 4: "b3210"}
_SELECTIONS = {2: ("h10", "h32"), 4: ("b3210", "b7654")}  # of a and b, where none is written
_SECOND = ("add", "min", "max")


def scalar(body, instr):
    """One number of each operand; then a second operation with c, or a merge into c."""
    parts = _selectors(instr)
    into = parts.pop(0)
    types = [each for each in instr.mods if each in TYPE_BITS]
    of_result = "u32" if instr.opcode == "vset" else types[0]
    a, b = (_number(body, instr, place, parts[place - 1], types[place - 3]) for place in (1, 2))
    value = _combined(body, instr, a, b)
    if "sat" in instr.mods:
        value = _clamped(body, value, of_result in SIGNED, _bits(into))
    second = next((each for each in instr.mods if each in _SECOND), None)
    if (into or second) and len(instr.operands) < 4:
        raise PtxError("a fourth operand is missing, which the result is combined with or merged into")
    if into and second:
        raise PtxError(f"the destination has a part or the instruction has .{second}, not both")
    if second:
        c = body.resize(body.read(instr.operands[3], 32), 32, 128, of_result in SIGNED)
        value = body.add(value, c, "i128") if second == "add" else _least(body, f"s{second}", value, c)
    result = body.resize(value, 128, 32)
    if into:
        result = _merged(body, result, body.read(instr.operands[3], 32), _bits(into), int(into[1]))
    body.write(instr.operands[0], result, 32)


def multiply_add(body, instr):
    """vmad: a * b + c, or with one of both negated; .po adds 1 more."""
    signs = [each[:1] == "-" for each in _spelled(instr)]
    types = [each for each in instr.mods if each in TYPE_BITS]
    into, *parts = _selectors(instr, negatable=True)
    if into or parts[2] or signs[0]:
        raise PtxError("only the factors have parts here, and no destination is negated")
    if "po" in instr.mods and any(signs):
        raise PtxError(".po does not go with a negated operand")
    negates = signs[1] != signs[2]
    is_signed = "s32" in types[1:] or negates or signs[3]
    a, b = (_number(body, instr, place, parts[place - 1], types[place]) for place in (1, 2))
    total = body.mul(a, b, "i128")
    c = body.resize(body.read(instr.operands[3], 32), 32, 128, is_signed)
    if negates:
        total = body.sub(c, total, "i128")
    else:
        total = body.op(f"{'sub' if signs[3] else 'add'} i128 {total}, {c}")
    if "po" in instr.mods:
        total = body.add(total, 1, "i128")
    shift = next((int(each[3:]) for each in instr.mods if each.startswith("shr")), 0)
    total = body.op(f"ashr i128 {total}, {shift}")
    if "sat" in instr.mods:
        total = _clamped(body, total, is_signed, 32)
    body.write(instr.operands[0], body.resize(total, 128, 32), 32)


def vector(body, instr):
    """Two or four numbers, picked from a and b; the numbers of the mask go into c, or are added to it."""
    lanes = int(instr.opcode[-1])
    mask, *picks = _selectors(instr, lanes)
    types = [each for each in instr.mods if each in TYPE_BITS]
    is_signed = instr.opcode[:4] != "vset" and types[0] in SIGNED
    bits = 32 // lanes
    both = body.resize(body.read(instr.operands[1], 32), 32, 128)
    both = body.or_(both, body.shl(body.resize(body.read(instr.operands[2], 32), 32, 128), 32, "i128"), "i128")
    result = body.read(instr.operands[3], 32)
    for lane in range(lanes):
        if str(lane) not in mask:
            continue
        a, b = (_picked(body, both, int(pick[-1 - lane]), bits, kind) for pick, kind in zip(picks, types[-2:]))
        value = _combined(body, instr, a, b)
        if "sat" in instr.mods:
            value = _clamped(body, value, is_signed, bits)
        narrow = body.resize(value, 128, 32)
        result = body.add(result, narrow) if "add" in instr.mods else _merged(body, result=narrow, c=result, bits=bits,
                                                                              place=lane)  # fmt: skip
    body.write(instr.operands[0], result, 32)


def _combined(body, instr: Instr, a: str, b: str) -> str:
    """The first operation, on i128."""
    operation = instr.opcode.rstrip("24")[1:]
    match operation:
        case "add" | "sub":
            return body.op(f"{operation} i128 {a}, {b}")
        case "min" | "max":
            return _least(body, f"s{operation}", a, b)
        case "absdiff":
            return body.op(f"call i128 @llvm.abs.i128(i128 {body.sub(a, b, 'i128')}, i1 false)")
        case "avrg":
            total = body.add(a, b, "i128")
            is_negative = body.lshr(total, 127, "i128")
            return body.op(f"ashr i128 {body.sub(body.add(total, 1, 'i128'), is_negative, 'i128')}, 1")
        case "set":
            how = next(each for each in instr.mods if each in ("eq", "ne", "lt", "le", "gt", "ge"))
            flag = body.cmp(how if how in ("eq", "ne") else f"s{how}", a, b, "i128")
            return body.resize(flag, 1, 128)
    amount = body.and_(b, 31, "i128") if "wrap" in instr.mods else _least(body, "umin", b, "32")
    return body.op(f"{'shl' if operation == 'shl' else 'ashr'} i128 {a}, {amount}")


def _least(body, how: str, a: str, b: str) -> str:
    return body.op(f"call i128 @llvm.{how}.i128(i128 {a}, i128 {b})")


def _clamped(body, value: str, is_signed: bool, bits: int) -> str:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    value = body.op(f"call i128 @llvm.smax.i128(i128 {value}, i128 {low})")
    return body.op(f"call i128 @llvm.smin.i128(i128 {value}, i128 {high})")


def _merged(body, result: str, c: str, bits: int, place: int) -> str:
    """c with the low bits of the result at a place."""
    ones = (1 << bits) - 1
    kept = body.and_(c, ~(ones << bits * place))
    return body.or_(body.shl(body.and_(result, ones), bits * place), kept)


def _number(body, instr: Instr, place: int, part: str, kind: str) -> str:
    """A part of an operand, extended to i128."""
    value = body.read(instr.operands[place], 32)
    return _picked(body, body.resize(value, 32, 128), int(part[1:] or 0), _bits(part), kind)


def _picked(body, value: str, place: int, bits: int, kind: str) -> str:
    """The number at a place of an i128, extended as its type is."""
    piece = body.resize(body.lshr(value, place * bits, "i128"), 128, bits)
    return body.resize(piece, bits, 128, kind in SIGNED)


def _bits(part: str) -> int:
    return {"b": 8, "h": 16, "": 32}[part[:1]]


def _spelled(instr: Instr) -> tuple[str, ...]:
    return instr.selectors or ("",) * 4


def _selectors(instr: Instr, lanes: int = 1, negatable: bool = False) -> list[str]:
    """The part that each operand has; of vectors the mask, and what is picked for a and b. Raises PtxError."""
    spelled = [each.lstrip("-") if negatable else each for each in _spelled(instr)]
    if lanes == 1:
        wrong = next((each for each in spelled if each and not _PART.fullmatch(each)), "")
        wrong = wrong or next((each for each in spelled if each in ("h2", "h3")), "") or "".join(spelled[3:])
    else:
        letter, least = _WHOLE_MASKS[lanes][0], _WHOLE_MASKS[lanes]
        mask = spelled[0] or least
        spelled = [mask, *(each or whole for each, whole in zip(spelled[1:3], _SELECTIONS[lanes])), *spelled[3:]]
        digits = f"{letter}[0-{2 * lanes - 1}]{{{lanes}}}"
        falls = mask[1:] == "".join(sorted({*mask[1:]} & {*least[1:]}, reverse=True)) and mask[:1] == letter
        wrong = next((each for each in spelled[1:3] if not re.fullmatch(digits, each)), "".join(spelled[3:]))
        wrong = wrong or (mask if not (falls and mask[1:]) else "")
        spelled = spelled[:3]
    if wrong:
        raise PtxError(f"`.{wrong}` is not a part that this operand may have")
    return spelled
