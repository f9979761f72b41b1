"""Integer arithmetic, comparison, logic, shifts and bit fields. PTX ISA 9.7.1, 9.7.2, 9.7.5, 9.7.6, 9.7.8."""

from __future__ import annotations

from dsl.emulator.families.cluster import pairs
from dsl.emulator.ptx.syntax import SIGNED, TYPE_BITS, Imm, Pair, PtxError, type_of


def _read(body, instr, bits, signed=False, first=1):
    return [body.read(operand, bits, signed) for operand in instr.operands[first:]]


def conjunction(body, instr):
    """and; of an address, perhaps that in the even block of a pair."""
    if not pairs.leads(body, instr):
        return simple("and")(body, instr)
    destination, source, mask = instr.operands
    return body.write(destination, pairs.leader_address(body, body.read(source, 32), mask.value), 32)


def simple(operation: str):
    """d = operation(a, b) on the type's width."""

    def emit(body, instr):
        bits = TYPE_BITS[type_of(instr)]
        a, b = _read(body, instr, bits)
        body.write(instr.operands[0], body.op(f"{operation} i{bits} {a}, {b}"), bits)

    return emit


def add_sub(operation: str):
    """add, sub: with .sat (s32), packed 16x2, and .cc."""

    def emit(body, instr):
        kind = type_of(instr)
        bits = TYPE_BITS[kind]
        a, b = _read(body, instr, bits)
        if kind in ("u16x2", "s16x2"):
            value = _vector(body, operation, a, b)
        elif "sat" in instr.mods:
            value = body.op(f"call i{bits} @llvm.s{operation}.sat.i{bits}(i{bits} {a}, i{bits} {b})")
        else:
            value = body.op(f"{operation} i{bits} {a}, {b}")
        if "cc" in instr.mods:
            how = ("ult", value, a) if operation == "add" else ("uge", a, b)
            set_carry(body, body.cmp(*how, f"i{bits}"))
        body.write(instr.operands[0], value, bits, kind in SIGNED)

    return emit


def _vector(body, operation: str, a: str, b: str) -> str:
    """A 16-bit operation on both halves of 32 bits."""
    x = body.op(f"bitcast i32 {a} to <2 x i16>")
    y = body.op(f"bitcast i32 {b} to <2 x i16>")
    if operation in ("add", "sub"):
        result = body.op(f"{operation} <2 x i16> {x}, {y}")
    else:
        result = body.op(f"call <2 x i16> @llvm.{operation}.v2i16(<2 x i16> {x}, <2 x i16> {y})")
    return body.op(f"bitcast <2 x i16> {result} to i32")


def _carry_slot(body) -> str:
    if not body.frame.carry:
        body.frame.carry = body.alloca("i1", 1)
        body.prologue.append(f"  store i1 0, ptr {body.frame.carry}")
    return body.frame.carry


def set_carry(body, flag: str) -> None:
    """CC.CF = flag. A subtraction a - b sets the carry of a + ~b + 1, so it is set if nothing is borrowed.

    The PTX ISA calls it the borrow, and does not define an addc after a sub.cc. The code that ptxas makes has one carry
    for both, and nvcc's division of 128-bit integers relies on that.
    """
    body.do(f"store i1 {flag}, ptr {_carry_slot(body)}")


def with_carry(operation: str):
    """addc, subc: PTX ISA 9.7.2."""

    def emit(body, instr):
        bits = TYPE_BITS[type_of(instr)]
        a, b = _read(body, instr, bits)
        _carry_chain(body, instr, operation, a, b, bits)

    return emit


def _carry_chain(body, instr, operation, a, b, bits):
    carry = body.get(_carry_slot(body), "i1")
    if operation == "sub":
        carry = body.not_(carry, "i1")
    carry = body.op(f"zext i1 {carry} to i{bits}")
    intrinsic = f"@llvm.u{operation}.with.overflow.i{bits}"
    pair = f"{{ i{bits}, i1 }}"
    first = body.op(f"call {pair} {intrinsic}(i{bits} {a}, i{bits} {b})")
    value = body.op(f"extractvalue {pair} {first}, 0")
    second = body.op(f"call {pair} {intrinsic}(i{bits} {value}, i{bits} {carry})")
    value = body.op(f"extractvalue {pair} {second}, 0")
    if "cc" in instr.mods:
        one = body.op(f"extractvalue {pair} {first}, 1")
        two = body.op(f"extractvalue {pair} {second}, 1")
        overflow = body.or_(one, two, "i1")
        set_carry(body, overflow if operation == "add" else body.not_(overflow, "i1"))
    body.write(instr.operands[0], value, bits)


def _product(body, instr, a, b) -> tuple[str, int]:
    """a * b by the rule of .lo, .hi or .wide, and its width."""
    kind = type_of(instr)
    bits, signed = TYPE_BITS[kind], kind in SIGNED
    if "wide" not in instr.mods and "hi" not in instr.mods:
        return body.mul(body.read(a, bits), body.read(b, bits), f"i{bits}"), bits
    extend = "sext" if signed else "zext"
    wide = [body.op(f"{extend} i{bits} {body.read(x, bits)} to i{2 * bits}") for x in (a, b)]
    product = body.mul(*wide, f"i{2 * bits}")
    if "wide" in instr.mods:
        return product, 2 * bits
    high = body.lshr(product, bits, f"i{2 * bits}")
    return body.op(f"trunc i{2 * bits} {high} to i{bits}"), bits


def mul(body, instr):
    value, bits = _product(body, instr, instr.operands[1], instr.operands[2])
    body.write(instr.operands[0], value, bits, type_of(instr) in SIGNED)


def mad(body, instr):
    """mad and its .sat (hi.s32 only), mad.cc."""
    value, bits = _product(body, instr, instr.operands[1], instr.operands[2])
    c = body.read(instr.operands[3], bits)
    if "sat" in instr.mods:
        total = body.op(f"call i{bits} @llvm.sadd.sat.i{bits}(i{bits} {value}, i{bits} {c})")
    else:
        total = body.add(value, c, f"i{bits}")
    if "cc" in instr.mods:
        set_carry(body, body.cmp("ult", total, c, f"i{bits}"))
    body.write(instr.operands[0], total, bits, type_of(instr) in SIGNED)


def madc(body, instr):
    value, bits = _product(body, instr, instr.operands[1], instr.operands[2])
    _carry_chain(body, instr, "add", value, body.read(instr.operands[3], bits), bits)


def mul24(body, instr):
    """mul24, mad24: the product of the low 24 bits; .hi gives bits 47..16."""
    kind = type_of(instr)
    how = "ashr" if kind in SIGNED else "lshr"
    wide = []
    for operand in instr.operands[1:3]:
        high = body.shl(body.read(operand, 32), 8)
        short = body.op(f"{how} i32 {high}, 8")
        wide.append(body.resize(short, 32, 64, kind in SIGNED))
    product = body.mul(*wide, "i64")
    if "hi" in instr.mods:
        product = body.lshr(product, 16, "i64")
    value = body.cast("trunc", product, "i64", "i32")
    if instr.opcode == "mad24":
        c = body.read(instr.operands[3], 32)
        if "sat" in instr.mods:
            value = body.op(f"call i32 @llvm.sadd.sat.i32(i32 {value}, i32 {c})")
        else:
            value = body.add(value, c)
    body.write(instr.operands[0], value, 32)


def divide(body, instr):
    """div, rem. By zero the ISA leaves the result open: all ones, as GPUs give. INT_MIN / -1 is INT_MIN, rest 0."""
    kind = type_of(instr)
    bits, signed = TYPE_BITS[kind], kind in SIGNED
    a, b = _read(body, instr, bits)
    zero = body.cmp("eq", b, 0, f"i{bits}")
    safe = body.select(zero, 1, b, f"i{bits}")
    letter = "s" if signed else "u"
    if signed:
        minus = body.cmp("eq", b, -1, f"i{bits}")
        safe = body.select(minus, 1, safe, f"i{bits}")
    value = body.op(f"{letter}{instr.opcode} i{bits} {a}, {safe}")
    if signed and instr.opcode == "div":
        value = body.select(minus, body.sub(0, a, f"i{bits}"), value, f"i{bits}")
    value = body.select(zero, -1, value, f"i{bits}")
    body.write(instr.operands[0], value, bits, signed)


def absolute(body, instr):
    bits = TYPE_BITS[type_of(instr)]
    (a,) = _read(body, instr, bits)
    body.write(instr.operands[0], body.op(f"call i{bits} @llvm.abs.i{bits}(i{bits} {a}, i1 false)"), bits, True)


def negate(body, instr):
    bits = TYPE_BITS[type_of(instr)]
    (a,) = _read(body, instr, bits)
    body.write(instr.operands[0], body.sub(0, a, f"i{bits}"), bits, True)


def minmax(body, instr):
    kind = type_of(instr)
    bits = TYPE_BITS[kind]
    name = ("s" if kind in SIGNED or kind == "s16x2" else "u") + instr.opcode
    a, b = _read(body, instr, bits)
    if kind in ("u16x2", "s16x2"):
        value = _vector(body, name, a, b)
    else:
        value = body.op(f"call i{bits} @llvm.{name}.i{bits}(i{bits} {a}, i{bits} {b})")
    if "relu" in instr.mods:
        if kind == "s16x2":
            value = _vector(body, "smax", value, "0")
        else:
            value = body.op(f"call i{bits} @llvm.smax.i{bits}(i{bits} {value}, i{bits} 0)")
    body.write(instr.operands[0], value, bits, kind in SIGNED)


def invert(body, instr):
    bits = TYPE_BITS[type_of(instr)]
    (a,) = _read(body, instr, bits)
    body.write(instr.operands[0], body.not_(a, f"i{bits}"), bits)


def logical_not(body, instr):
    """cnot: 1 where a is 0, else 0."""
    bits = TYPE_BITS[type_of(instr)]
    (a,) = _read(body, instr, bits)
    body.write(instr.operands[0], body.cast("zext", body.cmp("eq", a, 0, f"i{bits}"), "i1", f"i{bits}"), bits)


def shift_left(body, instr):
    """shl: amounts of the width or more give 0."""
    bits = TYPE_BITS[type_of(instr)]
    a, amount = body.read(instr.operands[1], bits), body.read(instr.operands[2], 32)
    body.write(instr.operands[0], shifted(body, "shl", a, amount, bits), bits)


def shifted(body, how: str, a: str, amount: str, bits: int) -> str:
    """a shifted by an i32 amount that may exceed the width."""
    if amount.isdigit() and int(amount) < bits:
        return body.op(f"{how} i{bits} {a}, {amount}")
    inside = body.cmp("ult", amount, bits)
    limited = body.select(inside, amount, bits - 1)
    limited = body.resize(limited, 32, bits)
    value = body.op(f"{how} i{bits} {a}, {limited}")
    return value if how == "ashr" else body.select(inside, value, 0, f"i{bits}")


def shift_right(body, instr):
    """shr: .s fills with the sign, .u and .b with 0; amounts of the width or more give all fill."""
    kind = type_of(instr)
    bits = TYPE_BITS[kind]
    a, amount = body.read(instr.operands[1], bits), body.read(instr.operands[2], 32)
    how = "ashr" if kind in SIGNED else "lshr"
    body.write(instr.operands[0], shifted(body, how, a, amount, bits), bits, kind in SIGNED)


def funnel(body, instr):
    """shf.l/.r with .clamp or .wrap: PTX ISA 9.7.8, operands are the low word, the high word, the amount."""
    a, b, c = _read(body, instr, 32)
    low, high = body.resize(a, 32, 64), body.resize(b, 32, 64)
    both = body.or_(body.shl(high, 32, "i64"), low, "i64")
    if "wrap" in instr.mods:
        n = body.and_(c, 31)
    else:
        n = body.op(f"call i32 @llvm.umin.i32(i32 {c}, i32 32)")
    n = body.resize(n, 32, 64)
    if "l" in instr.mods:
        value = body.lshr(body.shl(both, n, "i64"), 32, "i64")
    else:
        value = body.lshr(both, n, "i64")
    body.write(instr.operands[0], body.cast("trunc", value, "i64", "i32"), 32)


_PERMUTE_MODES = {
    "f4e": lambda n, i: (i + n, False),
    "b4e": lambda n, i: ((n - i) & 7, False),
    "rc8": lambda n, i: (n, False),
    "ecl": lambda n, i: (max(i, n), False),
    "ecr": lambda n, i: (min(i, n), False),
    "rc16": lambda n, i: ((n & 1) * 2 + (i & 1), False),
}


def permute(body, instr):
    """prmt: four bytes picked from the eight of {b, a}; selector bit 3 replicates the byte's sign."""
    a, b, c = _read(body, instr, 32)
    both = body.or_(body.shl(body.resize(b, 32, 64), 32, "i64"), body.resize(a, 32, 64), "i64")
    mode = next((m for m in instr.mods if m in _PERMUTE_MODES), None)
    result = "0"
    for i in range(4):
        if mode:
            choice = _choose_by_table(body, body.and_(c, 3), [_PERMUTE_MODES[mode](n, i)[0] for n in range(4)])
            sign = None
        else:
            nibble = body.lshr(c, 4 * i)
            choice, sign = body.and_(nibble, 7), body.cmp("ne", body.and_(nibble, 8), 0)
        shift = body.resize(body.shl(choice, 3), 32, 64)
        byte = body.cast("trunc", body.lshr(both, shift, "i64"), "i64", "i8")
        if sign is not None:
            byte = body.select(sign, body.op(f"ashr i8 {byte}, 7"), byte, "i8")
        result = body.or_(result, body.shl(body.resize(byte, 8, 32), 8 * i))
    body.write(instr.operands[0], result, 32)


def _choose_by_table(body, index: str, values: list[int]) -> str:
    value = str(values[-1])
    for i, each in enumerate(values[:-1]):
        value = body.select(body.cmp("eq", index, i), each, value)
    return value


def logic3(body, instr):
    """lop3: the immediate is the truth table over (a, b, c) = (0xF0, 0xCC, 0xAA)."""
    operands = instr.operands
    has_bool = any(m in ("and", "or") for m in instr.mods)
    destination = operands[0]
    a, b, c = (body.read(x, 32) for x in operands[1:4])
    if not isinstance(operands[4], Imm):
        raise PtxError("the truth table must be an immediate")
    table = operands[4].value & 255
    result = "0"
    for row in range(8):
        if table >> row & 1:
            terms = [x if row >> (2 - i) & 1 else body.not_(x) for i, x in enumerate((a, b, c))]
            result = body.or_(result, body.and_(body.and_(terms[0], terms[1]), terms[2]))
    if has_bool:
        flag = body.cmp("ne", result, 0)
        flag = body.op(f"{'and' if 'and' in instr.mods else 'or'} i1 {flag}, {body.read(operands[5], 1)}")
        pair = destination if isinstance(destination, Pair) else Pair(None, destination)
        if pair.first is not None:
            body.write(pair.first, result, 32)
        body.write(pair.second, flag, 1)
    else:
        body.write(destination, result, 32)


def sum_of_differences(body, instr):
    """sad: |a - b| + c."""
    kind = type_of(instr)
    bits = TYPE_BITS[kind]
    a, b, c = _read(body, instr, bits)
    larger = body.cmp("sgt" if kind in SIGNED else "ugt", a, b, f"i{bits}")
    one, two = body.sub(a, b, f"i{bits}"), body.sub(b, a, f"i{bits}")
    body.write(instr.operands[0], body.add(body.select(larger, one, two, f"i{bits}"), c, f"i{bits}"), bits)


def dot(body, instr):
    """dp4a, dp2a: a dot product of bytes (of a's halves and two bytes of b), added to c."""
    kinds = [m for m in instr.mods if m in TYPE_BITS]
    a, b, c = (body.read(x, 32) for x in instr.operands[1:4])
    lanes, a_bits = (4, 8) if instr.opcode == "dp4a" else (2, 16)
    b_start = 2 if "hi" in instr.mods else 0
    total = c
    for i in range(lanes):
        x = body.op(f"trunc i32 {body.lshr(a, a_bits * i)} to i{a_bits}")
        y = body.op(f"trunc i32 {body.lshr(b, 8 * (i + b_start))} to i8")
        x = body.resize(x, a_bits, 32, kinds[0] in SIGNED)
        y = body.resize(y, 8, 32, kinds[1] in SIGNED)
        total = body.add(total, body.mul(x, y))
    body.write(instr.operands[0], total, 32)


def select(body, instr):
    """selp: p ? a : b."""
    bits = TYPE_BITS[type_of(instr)]
    a, b = body.read(instr.operands[1], bits), body.read(instr.operands[2], bits)
    p = body.read(instr.operands[3], 1)
    body.write(instr.operands[0], body.select(p, a, b, f"i{bits}"), bits)


def select_by_sign(body, instr):
    """slct: c >= 0 ? a : b; for .f32 a NaN picks b and -0 picks a."""
    bits = TYPE_BITS[instr.mods[-2]]
    a, b = body.read(instr.operands[1], bits), body.read(instr.operands[2], bits)
    if instr.mods[-1] == "f32":
        c = body.read_float(instr.operands[3], "f32")
        flag = body.op(f"fcmp oge float {c}, 0.0")
        if "ftz" in instr.mods:  # a subnormal counts as zero
            tiny = body.op(f"call float @llvm.fabs.f32(float {c})")
            flag = body.or_(flag, body.op(f"fcmp olt float {tiny}, 0x3810000000000000"), "i1")
    else:
        flag = body.cmp("sge", body.read(instr.operands[3], 32), 0)
    body.write(instr.operands[0], body.select(flag, a, b, f"i{bits}"), bits)


_INTEGER_COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
                    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}  # fmt: skip


def compare(body, instr, a, b) -> str:
    """The i1 of an integer comparison."""
    kind = type_of(instr) if instr.opcode == "setp" else instr.mods[-1]
    bits = TYPE_BITS[kind]
    how = _INTEGER_COMPARE[instr.mods[0]]
    if how in ("lt", "le", "gt", "ge"):
        how = ("s" if kind in SIGNED else "u") + how
    return body.cmp(how, body.read(a, bits), body.read(b, bits), f"i{bits}")
