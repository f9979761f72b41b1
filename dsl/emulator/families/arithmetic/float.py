"""Floating point: f32, f64, f16, bf16 and their packed pairs. PTX ISA 9.7.3 to 9.7.5.

f16 and bf16 are computed wider and rounded once (innocuous: 24 >= 2*11+2 bits; fma goes through f64 rounded to odd).
A NaN result of f32, f16 and bf16 is the canonical 0x7fffffff or 0x7fff; f64 keeps its payload.
If only f32 arithmetic reads an f32 result, its NaN becomes canonical later: analysis.any_nan_registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from dsl.emulator.families.arithmetic import rounding
from dsl.emulator.ptx.analysis import is_chained
from dsl.emulator.ptx.syntax import TYPE_BITS, type_of

CANONICAL = {"f32": "0x7FFFFFFFE0000000", "f16": "32767", "bf16": "32767"}
LEAST_NORMAL = {"f32": "0x3810000000000000", "f64": "0x0010000000000000", "f16": "0x3F10000000000000"}
OUT_OF_BOUNDS = 0x7FF7  # what others saw TMA fill with on an H100
LLVM = {"f32": "float", "f64": "double"}
THREE = "100:8.8"  # of min and max of three
SUFFIX = {"float": "f32", "double": "f64"}


# ** between register bits and a wide enough LLVM type


def flush(body, value: str, llvm: str = "float", least: str = LEAST_NORMAL["f32"]) -> str:
    """Subnormals become zero of the same sign."""
    suffix = SUFFIX[llvm]
    size = body.op(f"call {llvm} @llvm.fabs.{suffix}({llvm} {value})")
    tiny = body.op(f"fcmp olt {llvm} {size}, {least}")
    zero = body.op(f"call {llvm} @llvm.copysign.{suffix}({llvm} 0.0, {llvm} {value})")
    return body.op(f"select i1 {tiny}, {llvm} {zero}, {llvm} {value}")


def widen(body, bits: str, kind: str) -> str:
    """i16/i32/i64 bits of `kind` as float (f16, bf16, f32) or double (f64)."""
    if kind == "f16":
        half = body.op(f"bitcast i16 {bits} to half")
        return body.op(f"fpext half {half} to float")
    if kind == "bf16":
        wide = body.shl(body.resize(bits, 16, 32), 16)
        return body.op(f"bitcast i32 {wide} to float")
    return body.op(f"bitcast i{TYPE_BITS[kind]} {bits} to {LLVM[kind]}")


def read_wide(body, operand, kind: str, ftz: bool = False) -> str:
    """An operand as float or double; `ftz` flushes f32 and f16 subnormals."""
    value = widen(body, body.read(operand, TYPE_BITS[kind]), kind)
    return flush(body, value, "float", LEAST_NORMAL[kind]) if ftz and kind in ("f32", "f16") else value


def canonical(body, value: str) -> str:
    """A float with every NaN made 0x7fffffff."""
    nan = body.op(f"fcmp uno float {value}, 0.0")
    return body.op(f"select i1 {nan}, float {CANONICAL['f32']}, float {value}")


def narrow_bf16(body, value: str) -> str:
    """float -> i16 bits of bf16, to nearest even, NaN canonical."""
    bits = body.op(f"bitcast float {value} to i32")
    odd = body.and_(body.lshr(bits, 16), 1)
    rounded = body.lshr(body.add(body.add(bits, 0x7FFF), odd), 16)
    result = body.cast("trunc", rounded, "i32", "i16")
    nan = body.op(f"fcmp uno float {value}, 0.0")
    return body.select(nan, CANONICAL["bf16"], result, "i16")


def narrow_f16(body, value: str) -> str:
    """float -> i16 bits of f16, to nearest even, NaN canonical."""
    half = body.op(f"fptrunc float {value} to half")
    nan = body.op(f"fcmp uno float {value}, 0.0")
    return body.select(nan, CANONICAL["f16"], body.op(f"bitcast half {half} to i16"), "i16")


def narrow(body, value: str, kind: str) -> str:
    """float or double -> register bits of `kind`."""
    if kind == "f16":
        return narrow_f16(body, value)
    if kind == "bf16":
        return narrow_bf16(body, value)
    if kind == "f32":
        value = canonical(body, value)
    return body.op(f"bitcast {LLVM[kind]} {value} to i{TYPE_BITS[kind]}")


def double_to_odd_float(body, value: str) -> str:
    """double -> float rounded to odd: a later rounding to fewer bits is then the right one."""
    near = body.op(f"fptrunc double {value} to float")
    back = body.op(f"fpext float {near} to double")
    bits = body.op(f"bitcast float {near} to i32")
    inexact = body.op(f"fcmp one double {back}, {value}")
    even = body.cmp("eq", body.and_(bits, 1), 0)
    size = body.op(f"call double @llvm.fabs.f64(double {value})")
    back_size = body.op(f"call double @llvm.fabs.f64(double {back})")
    over = body.op(f"fcmp ogt double {back_size}, {size}")
    moved = body.select(over, body.sub(bits, 1), body.add(bits, 1))
    result = body.select(body.and_(inexact, even, "i1"), moved, bits)
    return body.op(f"bitcast i32 {result} to float")


def saturate(body, value: str, llvm: str = "float") -> str:
    """Clamp to [0, 1]; NaN becomes +0."""
    above = body.op(f"fcmp ogt {llvm} {value}, 1.0")
    value = body.op(f"select i1 {above}, {llvm} 1.0, {llvm} {value}")
    positive = body.op(f"fcmp ogt {llvm} {value}, 0.0")
    return body.op(f"select i1 {positive}, {llvm} {value}, {llvm} 0.0")


# ** one operation on one element


def _directed(instr) -> str | None:
    return next((m for m in instr.mods if m in rounding.MODES), None)


def calculate(body, instr, operation: str, values: list[str], kind: str) -> str:
    """fadd, fsub, fmul, fdiv, sqrt, fma on float or double values in the instruction's rounding mode."""
    llvm = "double" if kind == "f64" else "float"
    arguments = ", ".join(f"{llvm} {v}" for v in values)
    mode = _directed(instr)
    if mode and kind in LLVM:
        return body.op(f"call {llvm} @{rounding.name_of(operation, llvm, mode)}({arguments})")
    if operation in ("fma", "sqrt"):
        return body.op(f"call {llvm} @llvm.{operation}.{SUFFIX[llvm]}({arguments})")
    return body.op(f"{operation} {llvm} {', '.join(values)}")


def _small_fma(body, values: list[str]) -> str:
    """a * b + c for f16 or bf16 values held as float: exact product, sum rounded to odd in f64, then to float."""
    a, b, c = (body.op(f"fpext float {v} to double") for v in values)
    product = body.op(f"fmul double {a}, {b}")
    total = body.op(f"fadd double {product}, {c}")
    c_part = body.op(f"fsub double {total}, {product}")
    product_part = body.op(f"fsub double {total}, {c_part}")
    error = body.op(
        f"fadd double {body.op(f'fsub double {product}, {product_part}')}, {body.op(f'fsub double {c}, {c_part}')}"
    )
    bits = body.op(f"bitcast double {total} to i64")
    inexact = body.op(f"fcmp one double {error}, 0.0")  # NaN and infinity compare false
    even = body.cmp("eq", body.and_(bits, 1, "i64"), 0, "i64")
    away = body.op(f"fmul double {error}, {total}")
    grows = body.op(f"fcmp ogt double {away}, 0.0")
    moved = body.select(grows, body.add(bits, 1, "i64"), body.sub(bits, 1, "i64"), "i64")
    chosen = body.select(body.and_(inexact, even, "i1"), moved, bits, "i64")
    return double_to_odd_float(body, body.op(f"bitcast i64 {chosen} to double"))


def _element(body, instr, operation: str, bits: list[str], kind: str) -> str:
    """Register bits of one element -> result bits, with .ftz, .sat and .relu."""
    values = [widen(body, b, kind) for b in bits]
    ftz = "ftz" in instr.mods
    if ftz:
        values = [flush(body, v, "float", LEAST_NORMAL[kind]) for v in values]
    if operation == "fma" and kind in ("f16", "bf16"):
        result = _small_fma(body, values)
    else:
        result = calculate(body, instr, operation, values, kind)
    llvm = "double" if kind == "f64" else "float"
    if kind in ("f16", "bf16") and (ftz or "sat" in instr.mods or "relu" in instr.mods):
        result = widen(body, narrow(body, result, kind), kind)
    if ftz:
        result = flush(body, result, llvm, LEAST_NORMAL[kind])
    if "sat" in instr.mods:
        result = saturate(body, result, llvm)
    if "relu" in instr.mods:
        keeps = body.op(f"fcmp ugt {llvm} {result}, 0.0")  # -0 becomes +0, as in cvt.relu
        result = body.op(f"select i1 {keeps}, {llvm} {result}, {llvm} 0.0")
    if operation == "sqrt" and kind == "f32":  # LLVM takes select(x < 0, NaN, sqrt x) for sqrt x: choose integers
        nan = body.op(f"fcmp uno float {result}, 0.0")
        return body.select(nan, 0x7FFFFFFF, body.op(f"bitcast float {result} to i32"))
    if is_chained(instr) and getattr(instr.operands[0], "name", None) in body.any_nan:
        return body.op(f"bitcast float {result} to i32")
    return narrow(body, result, kind)


def _zero_out_of_bounds(body, value: str, operands: list[str]) -> str:
    """.oob of f16 and bf16: 0 where an operand is the NaN that TMA fills boxes with. PTX ISA 9.7.4.4, 5.5."""
    flag = "false"
    for each in operands:
        flag = body.or_(flag, body.cmp("eq", each, OUT_OF_BOUNDS, "i16"), "i1")
    return body.select(flag, 0, value, "i16")


def per_element(body, instr, kind: str, operands: list, function) -> None:
    """Apply `function(bits of each operand, element kind)` to a scalar or to both halves of a pair."""
    if not kind.endswith("x2"):
        bits = TYPE_BITS[kind]
        body.write(instr.operands[0], function([body.read(o, bits) for o in operands], kind), bits)
        return
    element = kind[:-2]
    width = TYPE_BITS[element]
    whole = [body.read(o, 2 * width) for o in operands]
    result = "0"
    for i in range(2):
        parts = [body.op(f"trunc i{2 * width} {body.lshr(w, width * i, f'i{2 * width}')} to i{width}") for w in whole]
        piece = body.resize(function(parts, element), width, 2 * width)
        result = body.or_(result, body.shl(piece, width * i, f"i{2 * width}"), f"i{2 * width}")
    body.write(instr.operands[0], result, 2 * width)


def arithmetic(operation: str):
    """add, sub, mul, fma, div.rn, sqrt.rn: IEEE operations."""

    def emit(body, instr):
        def element(bits, kind):
            value = _element(body, instr, operation, bits, kind)
            return _zero_out_of_bounds(body, value, bits) if "oob" in instr.mods else value

        body.takes_any_nan = is_chained(instr)
        per_element(body, instr, type_of(instr), instr.operands[1:], element)
        body.takes_any_nan = False

    return emit


def mixed(operation: str):
    """add, sub, fma of an f32 with f16 or bf16 operands, which are exact in f32."""

    def emit(body, instr):
        kind = type_of(instr)
        *small, last = instr.operands[1:]
        values = [*(read_wide(body, operand, kind) for operand in small), read_wide(body, last, "f32")]
        value = calculate(body, instr, operation, values, "f32")
        if "sat" in instr.mods:
            value = saturate(body, value)
        body.write(instr.operands[0], narrow(body, value, "f32"), 32)

    return emit


def divide(body, instr):
    """div: .rn and directed are IEEE; .approx and .full (2 ulp each) take the IEEE quotient too.

    A divisor of .approx between 2^126 and 2^128 has no reciprocal but 0, which the dividend is multiplied by.
    """
    if "approx" not in instr.mods:
        return arithmetic("fdiv")(body, instr)
    a, b = (read_wide(body, operand, "f32", "ftz" in instr.mods) for operand in instr.operands[1:])
    size = body.op(f"call float @llvm.fabs.f32(float {b})")
    large = body.op(f"fcmp ogt float {size}, 0x47D0000000000000")
    has_none = body.and_(large, body.op(f"fcmp olt float {size}, 0x7FF0000000000000"), "i1")
    zero = body.op(f"call float @llvm.copysign.f32(float 0.0, float {b})")
    quotient = body.op(f"fdiv float {a}, {b}")
    value = body.op(f"select i1 {has_none}, float {body.op(f'fmul float {a}, {zero}')}, float {quotient}")
    if "ftz" in instr.mods:
        value = flush(body, value)
    body.write(instr.operands[0], narrow(body, value, "f32"), 32)
    return None


def reciprocal(body, instr):
    """rcp: as 1 / x; .approx is within 1 ulp."""
    kind = type_of(instr)
    if kind == "f64" and "approx" in instr.mods:
        return _upper_half(body, instr, lambda x: body.op(f"fdiv double 1.0, {x}"))
    x = read_wide(body, instr.operands[1], kind, "ftz" in instr.mods)
    value = calculate(body, instr, "fdiv", ["1.0", x], kind)
    if "ftz" in instr.mods and kind == "f32":
        value = flush(body, value)
    body.write(instr.operands[0], narrow(body, value, kind), TYPE_BITS[kind])
    return None


def _upper_half(body, instr, function) -> None:
    """approx.ftz.f64: of the operand the upper 32 bits are read, of the result the upper 32 bits are written.

    Subnormal operands and results are zeros. PTX ISA 9.7.3.14 and 9.7.3.17.
    """
    bits = body.and_(body.read(instr.operands[1], 64), -(1 << 32), "i64")
    x = flush(body, body.op(f"bitcast i64 {bits} to double"), "double", LEAST_NORMAL["f64"])
    value = flush(body, function(x), "double", LEAST_NORMAL["f64"])
    body.write(instr.operands[0], body.and_(narrow(body, value, "f64"), -(1 << 32), "i64"), 64)


def reciprocal_root(body, instr):
    """rsqrt.approx: 1 / sqrt(x), computed in f64 for f32."""
    kind = type_of(instr)
    if kind == "f64" and "ftz" in instr.mods:
        root = "call double @llvm.sqrt.f64(double {})"
        return _upper_half(body, instr, lambda x: body.op(f"fdiv double 1.0, {body.op(root.format(x))}"))
    x = read_wide(body, instr.operands[1], kind, "ftz" in instr.mods)
    wide = x if kind == "f64" else body.op(f"fpext float {x} to double")
    root = body.op(f"call double @llvm.sqrt.f64(double {wide})")
    value = body.op(f"fdiv double 1.0, {root}")
    if kind == "f32":
        value = body.op(f"fptrunc double {value} to float")
    body.write(instr.operands[0], narrow(body, value, kind), TYPE_BITS[kind])
    return None


def through_libm(function: str):
    """ex2, lg2, sin, cos, tanh .approx: the C library's value, inside the stated bounds."""

    def emit(body, instr):
        ftz = "ftz" in instr.mods

        def element(bits, kind):
            x = widen(body, bits[0], kind)
            if ftz:
                x = flush(body, x)
            value = body.op(f"call float @{function}(float {x})")
            if ftz:
                value = flush(body, value)
            return narrow(body, value, kind)

        per_element(body, instr, type_of(instr), instr.operands[1:2], element)

    return emit


def sign(operation: str):
    """abs, neg on the sign bit; .ftz flushes."""

    def emit(body, instr):
        def element(bits, kind):
            width = TYPE_BITS[kind]
            value = bits[0]
            if "ftz" in instr.mods:
                value = narrow(body, flush(body, widen(body, value, kind), "float", LEAST_NORMAL[kind]), kind)
            top = 1 << (width - 1)
            if operation == "neg":
                return body.xor(value, top - (top << 1), f"i{width}")
            return body.and_(value, top - 1, f"i{width}")

        per_element(body, instr, type_of(instr), instr.operands[1:2], element)

    return emit


def minmax(body, instr):
    """min, max of two or three: a NaN counts only with .NaN, or if there is nothing else; -0 is less than +0."""
    operation = instr.opcode
    if len(instr.operands) > 3:
        body.require(instr, THREE)

    def element(bits, kind):
        llvm = "double" if kind == "f64" else "float"
        result = bits[0]
        for other in bits[1:]:
            result = _minmax_pair(body, instr, operation, result, other, kind, llvm)
        return result

    per_element(body, instr, type_of(instr), instr.operands[1:], element)


def minmax_bits(body, instr, operation: str, kind: str, a: str, b: str) -> str:
    """As `minmax`, of a scalar or of each half of a pair; the bits of the result."""
    if not kind.endswith("x2"):
        return _minmax_pair(body, instr, operation, a, b, kind, "float")
    result, element = "0", kind[:-2]
    for shift in (0, 16):
        x, y = (body.op(f"trunc i32 {body.lshr(each, shift)} to i16") for each in (a, b))
        piece = body.resize(_minmax_pair(body, instr, operation, x, y, element, "float"), 16, 32)
        result = body.or_(result, body.shl(piece, shift))
    return result


def _minmax_pair(body, instr, operation, a_bits, b_bits, kind, llvm):
    width = TYPE_BITS[kind]
    a, b = widen(body, a_bits, kind), widen(body, b_bits, kind)
    if "ftz" in instr.mods:
        a, b = (flush(body, v, "float", LEAST_NORMAL[kind]) for v in (a, b))
    xorsign = "xorsign" in instr.mods
    if xorsign:
        signs = body.xor(a_bits, b_bits, f"i{width}")
    if "abs" in instr.mods:
        a, b = (body.op(f"call {llvm} @llvm.fabs.{SUFFIX[llvm]}({llvm} {v})") for v in (a, b))
    less = body.op(f"fcmp {'olt' if operation == 'min' else 'ogt'} {llvm} {a}, {b}")
    picked = body.op(f"select i1 {less}, {llvm} {a}, {llvm} {b}")
    if _is_plain_number(b_bits, kind) and "NaN" not in instr.mods and not xorsign:
        return narrow(body, picked, kind)  # a NaN is not less, and zeros of two signs do not meet
    a_raw, b_raw = narrow(body, a, kind), narrow(body, b, kind)
    result = narrow(body, picked, kind)
    equal = body.op(f"fcmp oeq {llvm} {a}, {b}")
    merged = body.op(f"{'or' if operation == 'min' else 'and'} i{width} {a_raw}, {b_raw}")
    result = body.select(equal, merged, result, f"i{width}")
    a_nan, b_nan = body.op(f"fcmp uno {llvm} {a}, 0.0"), body.op(f"fcmp uno {llvm} {b}, 0.0")
    if "NaN" in instr.mods:
        result = body.select(a_nan, a_raw, body.select(b_nan, b_raw, result, f"i{width}"), f"i{width}")
    else:
        result = body.select(a_nan, b_raw, body.select(b_nan, a_raw, result, f"i{width}"), f"i{width}")
    if xorsign:
        top = 1 << (width - 1)
        result = body.and_(result, top - 1, f"i{width}")
        result = body.or_(result, body.and_(signs, top - (top << 1), f"i{width}"), f"i{width}")
    return result


def _is_plain_number(bits: str, kind: str) -> bool:
    """Whether the bits of an f32 are a constant, and neither a zero nor a NaN."""
    return kind == "f32" and bits.isdigit() and 0 < int(bits) <= 0x7F800000


def copy_sign(body, instr):
    """copysign d, a, b: b with the sign of a."""
    bits = TYPE_BITS[type_of(instr)]
    a, b = (body.read(x, bits) for x in instr.operands[1:3])
    top = 1 << (bits - 1)
    sign = body.and_(a, top - (top << 1), f"i{bits}")
    body.write(instr.operands[0], body.or_(sign, body.and_(b, top - 1, f"i{bits}"), f"i{bits}"), bits)


_CLASS_TESTS = {"notanumber": 0x003, "number": 0x3FC, "infinite": 0x204, "finite": 0x1F8, "normal": 0x108,
                "subnormal": 0x090}  # fmt: skip


def test_class(body, instr):
    """testp: a property of a float."""
    kind = type_of(instr)
    x = widen(body, body.read(instr.operands[1], TYPE_BITS[kind]), kind)
    mask = _CLASS_TESTS[instr.mods[0]]
    llvm = LLVM[kind]
    flag = body.op(f"call i1 @llvm.is.fpclass.{SUFFIX[llvm]}({llvm} {x}, i32 {mask})")
    body.write(instr.operands[0], flag, 1)


_FLOAT_COMPARE = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
                  "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
                  "num": "ord", "nan": "uno"}  # fmt: skip


def _compare_bits(body, instr, kind, a_bits, b_bits) -> str:
    llvm = "double" if kind == "f64" else "float"
    values = [widen(body, v, kind) for v in (a_bits, b_bits)]
    if "ftz" in instr.mods:
        values = [flush(body, v, "float", LEAST_NORMAL[kind]) for v in values]
    return body.op(f"fcmp {_FLOAT_COMPARE[instr.mods[0]]} {llvm} {values[0]}, {values[1]}")


def compare(body, instr, a, b) -> str:
    """The i1 of a floating-point comparison."""
    kind = type_of(instr) if instr.opcode == "setp" else instr.mods[-1]
    bits = TYPE_BITS[kind]
    return _compare_bits(body, instr, kind, body.read(a, bits), body.read(b, bits))


def compare_pair(body, instr) -> Iterator[str]:
    """The i1 of the low halves of f16x2 or bf16x2, then of the high ones, combined with the predicate."""
    kind = instr.mods[-1]
    whole = [body.read(o, 32) for o in instr.operands[1:3]]
    for i in range(2):
        parts = [body.op(f"trunc i32 {body.lshr(w, 16 * i)} to i16") for w in whole]
        flag = _compare_bits(body, instr, kind[:-2], *parts)
        combine = next((m for m in instr.mods[1:] if m in ("and", "or", "xor")), None)
        yield body.op(f"{combine} i1 {flag}, {body.read(instr.operands[3], 1)}") if combine else flag
