"""mov, cvt, set, setp: values between registers, widths and types. PTX ISA 9.7.6, 9.7.9."""

from __future__ import annotations

from dsl.emulator.families.arithmetic import float as floating, integer, rounding
from dsl.emulator.families.arithmetic.float import LLVM, SUFFIX, double_to_odd_float, flush, narrow, saturate, widen
from dsl.emulator.families.conversion import float8, powers
from dsl.emulator.ptx.syntax import FLOATS, SIGNED, TYPE_BITS, Pair, PtxError, Sym, Vec, type_of

_TRUE = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}  # what set gives; of integers all ones
_TO_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def move(body, instr):
    """mov: registers, addresses, and packing {a, b} <-> one register."""
    kind = type_of(instr)
    bits = TYPE_BITS[kind]
    destination, source = instr.operands
    for operand in instr.operands:
        if isinstance(operand, Vec) and len(operand.items) not in (2, 4):
            raise PtxError("a vector here has 2 or 4 elements")
    if isinstance(source, Vec):
        width = bits // len(source.items)
        value = "0"
        for i, item in enumerate(source.items):
            piece = body.resize(body.read(item, width), width, bits)
            value = body.or_(value, body.shl(piece, width * i, f"i{bits}"), f"i{bits}")
        body.write(destination, value, bits)
    elif isinstance(destination, Vec):
        value = body.read(source, bits)
        width = bits // len(destination.items)
        pieces = [
            body.op(f"trunc i{bits} {body.lshr(value, width * i, f'i{bits}')} to i{width}")
            for i in range(len(destination.items))
        ]
        for item, piece in zip(destination.items, pieces):
            body.write(item, piece, width)
    else:
        if isinstance(source, Sym) and source.name in body.frame.params and body.frame.number:
            raise body.refuse(instr, "the address of a function's .param is not emulated")
        value = body.read(source, bits)
        if bits == 32 and isinstance(source, Sym) and source.name in body.frame.params:
            value = body.sub(value, body.resize(body.load("params", constant=True), 64, 32))
        body.write(destination, value, bits)


# ** comparisons


def set_predicate(body, instr):
    """setp: p[|q] = (a cmp b) [boolop c]; q is (!(a cmp b)) [boolop c]."""
    if instr.mods[-1].endswith("x2"):
        return _set_predicates(body, instr)
    flag = _comparison(body, instr)
    destination = instr.operands[0]
    first, second = (destination.first, destination.second) if isinstance(destination, Pair) else (destination, None)
    inverse = body.xor(flag, "true", "i1") if second is not None else None
    combine = next((m for m in instr.mods[1:] if m in ("and", "or", "xor")), None)
    if combine:
        c = body.read(instr.operands[3], 1)
        flag = body.op(f"{combine} i1 {flag}, {c}")
        inverse = body.op(f"{combine} i1 {inverse}, {c}") if inverse else None
    body.write(first, flag, 1)
    if second is not None:
        body.write(second, inverse, 1)
    return None


def _set_predicates(body, instr) -> None:
    """setp of packed halves: p from the low halves, q from the high ones."""
    pair = instr.operands[0]
    destinations = (pair.first, pair.second) if isinstance(pair, Pair) else (pair,)
    for destination, flag in zip(destinations, floating.compare_pair(body, instr)):
        body.write(destination, flag, 1)


def _comparison(body, instr) -> str:
    a, b = instr.operands[1:3]
    kind = instr.mods[-1]
    return (floating if kind in FLOATS else integer).compare(body, instr, a, b)


def set_value(body, instr):
    """set: all ones (or 1.0) where the comparison holds, else 0; of packed halves in each half."""
    if instr.mods[-1].endswith("x2"):
        return _set_halves(body, instr)
    flag = _comparison(body, instr)
    combine = next((m for m in instr.mods[1:] if m in ("and", "or", "xor")), None)
    if combine:
        flag = body.op(f"{combine} i1 {flag}, {body.read(instr.operands[3], 1)}")
    kind = instr.mods[-2]
    bits = TYPE_BITS[kind]
    body.write(instr.operands[0], body.select(flag, _TRUE.get(kind, -1), 0, f"i{bits}"), bits)
    return None


def _set_halves(body, instr) -> None:
    one = _TRUE.get(instr.mods[-2].removesuffix("x2"), 0xFFFF)
    low, high = (body.select(flag, one, 0) for flag in floating.compare_pair(body, instr))
    body.write(instr.operands[0], body.or_(low, body.shl(high, 16)), 32)


# ** cvt


def convert(body, instr):
    """cvt between any two scalar types, and the packing forms to f16x2 and bf16x2."""
    kinds = [m for m in instr.mods if m in TYPE_BITS]
    target, source = kinds
    if powers.KIND in kinds:
        return powers.convert(body, instr, source)
    if float8.is_pair(target) or float8.is_pair(source):
        return float8.convert(body, instr, target, source)
    if target in ("f16x2", "bf16x2"):
        return _convert_pair(body, instr, target, source)
    bits, source_bits = TYPE_BITS[target], TYPE_BITS[source]
    if source not in FLOATS and target not in FLOATS and target != "tf32":
        value = _integer_to_integer(body, instr, target, source)
    else:
        value = body.read(instr.operands[1], source_bits)
        value = convert_bits(body, instr, value, target, source)
    body.write(instr.operands[0], value, bits, target in SIGNED)
    return None


def _convert_pair(body, instr, target: str, source: str):
    """d = {b, a}: the first source operand becomes the upper half."""
    high, low = (
        convert_bits(body, instr, body.read(o, TYPE_BITS[source]), target[:-2], source) for o in instr.operands[1:3]
    )
    wide = body.shl(body.resize(high, 16, 32), 16)
    body.write(instr.operands[0], body.or_(wide, body.resize(low, 16, 32)), 32)


def _integer_to_integer(body, instr, target: str, source: str) -> str:
    bits, source_bits = TYPE_BITS[target], TYPE_BITS[source]
    signed = source in SIGNED
    value = body.read(instr.operands[1], source_bits)
    if "sat" in instr.mods:
        wide = body.resize(value, source_bits, 128, signed)
        low = -(1 << (bits - 1)) if target in SIGNED else 0
        high = (1 << (bits - 1)) - 1 if target in SIGNED else (1 << bits) - 1
        wide = body.op(f"call i128 @llvm.smax.i128(i128 {wide}, i128 {low})")
        wide = body.op(f"call i128 @llvm.smin.i128(i128 {wide}, i128 {high})")
        return body.op(f"trunc i128 {wide} to i{bits}")
    return body.resize(value, source_bits, bits, signed)


def convert_bits(body, instr, value: str, target: str, source: str) -> str:
    """Register bits of `source` -> register bits of `target`, at least one of which is a float type."""
    if source not in FLOATS:
        return _integer_to_float(body, instr, value, target, source)
    number = widen(body, value, source)
    llvm = "double" if source == "f64" else "float"
    ftz = "ftz" in instr.mods
    if ftz and source == "f32":  # .ftz is of f32: a subnormal f16 is a normal f32
        number = flush(body, number)
    if target not in FLOATS and target != "tf32":
        return _float_to_integer(body, instr, number, llvm, target, source)
    integral = next((m for m in instr.mods if m in _TO_INTEGRAL), None)
    if integral:
        number = body.op(f"call {llvm} @llvm.{_TO_INTEGRAL[integral]}.{SUFFIX[llvm]}({llvm} {number})")
    if "sat" in instr.mods:
        number = saturate(body, number, llvm)
    if "relu" in instr.mods:
        positive = body.op(f"fcmp ogt {llvm} {number}, 0.0")
        nan = body.op(f"fcmp uno {llvm} {number}, 0.0")
        keep = body.or_(positive, nan, "i1")
        number = body.op(f"select i1 {keep}, {llvm} {number}, {llvm} 0.0")
    if target == source:
        return narrow(body, number, target)
    return _float_to_float(body, instr, number, llvm, target)


def _float_to_float(body, instr, number: str, llvm: str, target: str) -> str:
    mode = next((m for m in instr.mods if m in ("rz", "rm", "rp", "rna")), None)
    if target == "f64":
        return body.bits_of(body.op(f"fpext float {number} to double") if llvm == "float" else number, "f64")
    if target == "f32":
        if llvm == "double":
            if mode:
                name = rounding.conversion_name("fptrunc", "double", "float", mode)
                number = body.op(f"call float @{name}(double {number})")
            else:
                number = body.op(f"fptrunc double {number} to float")
        if "ftz" in instr.mods:
            number = flush(body, number)
        return narrow(body, number, "f32")
    if target == "tf32":
        return _to_tf32(body, number, mode, "satfinite" in instr.mods)
    if llvm == "double":
        number = double_to_odd_float(body, number)
    return _narrow_directed(body, instr, number, target, mode)


def _to_tf32(body, number: str, mode: str | None, saturates: bool) -> str:
    """f32 -> tf32: 10 fraction bits; rna rounds half away from zero; what is too large saturates, or is infinite."""
    bits = body.op(f"bitcast float {number} to i32")
    if mode == "rna":
        moved = body.add(bits, 0x1000)
    elif mode == "rz":
        moved = bits
    else:
        moved = body.add(body.add(bits, 0x0FFF), body.and_(body.lshr(bits, 13), 1))
    rounded = body.and_(moved, -0x2000)
    special = body.cmp("uge", body.and_(bits, 0x7FFFFFFF), 0x7F800000)
    nan = body.op(f"fcmp uno float {number}, 0.0")
    result = body.select(special, bits, rounded)
    if saturates:
        above = body.cmp("uge", body.and_(result, 0x7FFFFFFF), 0x7F800000)
        result = body.select(above, body.or_(body.and_(bits, -(1 << 31)), 0x7F7FE000), result)
    return body.select(nan, 0x7FFFFFFF, result)


def _narrow_directed(body, instr, number: str, target: str, mode: str | None) -> str:
    """float -> f16 or bf16 in any mode: the nearest, then one step back where it passed the number."""
    if "satfinite" in instr.mods:
        top = {"f16": "65504.0", "bf16": "0x47EFE00000000000"}[target]
        size = body.op(f"call float @llvm.fabs.f32(float {number})")
        above = body.op(f"fcmp ogt float {size}, {top}")
        limit = body.op(f"call float @llvm.copysign.f32(float {top}, float {number})")
        number = body.op(f"select i1 {above}, float {limit}, float {number}")
    near = narrow(body, number, target)
    if mode in (None, "rna"):
        return near
    back = widen(body, near, target)
    one_down, one_up = body.sub(near, 1, "i16"), body.add(near, 1, "i16")
    negative = body.cmp("slt", near, 0, "i16")
    if mode == "rz":
        size = body.op(f"call float @llvm.fabs.f32(float {number})")
        back_size = body.op(f"call float @llvm.fabs.f32(float {back})")
        return body.select(body.op(f"fcmp ogt float {back_size}, {size}"), one_down, near, "i16")
    if mode == "rm":  # too high: towards minus infinity
        passed = body.op(f"fcmp ogt float {back}, {number}")
        zero = body.cmp("eq", body.and_(near, 0x7FFF, "i16"), 0, "i16")
        moved = body.select(zero, -32767, body.select(negative, one_up, one_down, "i16"), "i16")
    else:
        passed = body.op(f"fcmp olt float {back}, {number}")
        zero = body.cmp("eq", body.and_(near, 0x7FFF, "i16"), 0, "i16")
        moved = body.select(zero, 1, body.select(negative, one_down, one_up, "i16"), "i16")
    return body.select(passed, moved, near, "i16")


def _float_to_integer(body, instr, number: str, llvm: str, target: str, source: str) -> str:
    """Rounded, clamped to the range. NaN: 0, but 1 << (width - 1) from f64 or to a 64-bit type (PTX ISA, cvt)."""
    bits = TYPE_BITS[target]
    integral = next((m for m in instr.mods if m in _TO_INTEGRAL), None)
    if integral is None:
        raise PtxError("a conversion from float to integer needs .rni, .rzi, .rmi or .rpi")
    number = body.op(f"call {llvm} @llvm.{_TO_INTEGRAL[integral]}.{SUFFIX[llvm]}({llvm} {number})")
    how = "fptosi" if target in SIGNED else "fptoui"
    value = body.op(f"call i{bits} @llvm.{how}.sat.i{bits}.{SUFFIX[llvm]}({llvm} {number})")
    if source == "f64" or bits == 64:
        nan = body.op(f"fcmp uno {llvm} {number}, 0.0")
        value = body.select(nan, -(1 << (bits - 1)), value, f"i{bits}")
    return value


def _integer_to_float(body, instr, value: str, target: str, source: str) -> str:
    signed, bits = source in SIGNED, TYPE_BITS[source]
    mode = next((m for m in instr.mods if m in ("rz", "rm", "rp")), None)
    how = "sitofp" if signed else "uitofp"
    if bits < 32:
        value, bits = body.resize(value, bits, 32, signed), 32
    if target in LLVM:
        llvm = LLVM[target]
        if mode:
            name = rounding.conversion_name(how, f"i{bits}", llvm, mode)
            number = body.op(f"call {llvm} @{name}(i{bits} {value})")
        else:
            number = body.op(f"{how} i{bits} {value} to {llvm}")
        if "sat" in instr.mods:
            number = saturate(body, number, llvm)
        return body.bits_of(number, target)
    # to f16 or bf16: an f32 rounded to odd first, so that the second rounding is the only one
    truncated = body.op(f"call float @{rounding.conversion_name(how, f'i{bits}', 'float', 'rz')}(i{bits} {value})")
    back = body.op(f"call i{bits} @llvm.{'fptosi' if signed else 'fptoui'}.sat.i{bits}.f32(float {truncated})")
    inexact = body.cast("zext", body.cmp("ne", back, value, f"i{bits}"), "i1", "i32")
    odd = body.or_(body.op(f"bitcast float {truncated} to i32"), inexact)
    number = body.op(f"bitcast i32 {odd} to float")
    if "sat" in instr.mods:
        number = saturate(body, number)
    return _narrow_directed(body, instr, number, target, mode)


def pack(body, instr):
    """cvt.pack: a and b clamped to the range of a small type, a above b; c moves up into the bits above, or is lost."""
    kind = instr.mods[2]
    bits = int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    above, below = (
        body.op(
            f"call i32 @llvm.smin.i32(i32 {body.op(f'call i32 @llvm.smax.i32(i32 {each}, i32 {low})')}, i32 {high})"
        )
        for each in (body.read(operand, 32) for operand in instr.operands[1:3])
    )
    ones = (1 << bits) - 1
    value = body.or_(body.shl(body.and_(above, ones), bits), body.and_(below, ones))
    if bits < 16:
        value = body.or_(value, body.shl(body.read(instr.operands[3], 32), 2 * bits))
    body.write(instr.operands[0], value, 32)
