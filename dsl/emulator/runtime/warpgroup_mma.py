"""Native code of wgmma.mma_async: what the 128 threads of a warpgroup compute together. PTX ISA 9.7.15.5.

Each thread has an exchange area of words (i32): the function that computes, what the instruction says, scale-d, both
descriptors, four registers of A, the group for checkers, then D, in and out. The thread that completes the meeting
makes dense planes of A, B and D once, eight columns of D are one vector, and the sums are those of warpgroup_sums.py.
One function has all forms.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.runtime import matrix_descriptor, tensor_core, warpgroup_sums
from dsl.emulator.runtime.fragments import BITS, WGMMA_K_BYTES, WGMMA_M, Wgmma
from dsl.emulator.runtime.tensor_core import FLOAT, INT, LANES, _splat

SIGNATURES = {"emu_wgmma": "void (ptr, i32)"}
THREADS = 128
FUNCTION, FORM, SCALE_D, A_DESC, B_DESC, A, GROUP, D = 0, 2, 3, 4, 6, 8, 12, 13  # words of an exchange area
WORDS = D + 128
OPERANDS = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1")
RESULTS = ("f32", "f16", "s32")
# bits of the word FORM, above n / 8
_A_KIND, _B_KIND, _D_KIND = 8, 12, 16
IN_REGISTERS, TRANSPOSED_A, TRANSPOSED_B, NEGATED_A, NEGATED_B, SATURATES = (1 << bit for bit in range(20, 26))
_MOST_N, _MOST_K = 256, 32
_LEAST = {"f16": -14, "e5m2": -14, "e4m3": -6}


def form_word(form: Wgmma, flags: int) -> int:
    """What an instruction says, as one number; `flags` are IN_REGISTERS and its like."""
    kinds = OPERANDS.index(form.a) << _A_KIND | OPERANDS.index(form.b) << _B_KIND | RESULTS.index(form.d) << _D_KIND
    return form.n // 8 | kinds | flags


def _length(kind: str) -> int:
    """Elements of a row of 32 bytes; of b1 words."""
    return 8 * WGMMA_K_BYTES // (32 if kind == "b1" else BITS[kind])


def functions() -> list[str]:
    """The IR text."""
    return [
        tensor_core.DECLARATIONS, _DECLARATIONS, *matrix_descriptor.functions(), *warpgroup_sums.functions(),
        *map(_row, OPERANDS), _spread(), _exponents(), _fragment(), _take(), _give(), _products(), _bit_products(),
        _same(), _wgmma(),
    ]  # fmt: skip


_DECLARATIONS = "\n".join((
    f"declare {INT} @llvm.ctpop.v{LANES}i32({INT})",
    f"declare {INT} @llvm.sadd.sat.v{LANES}i32({INT}, {INT})",
    f"declare {FLOAT} @llvm.fma.v{LANES}f32({FLOAT}, {FLOAT}, {FLOAT})",
))  # fmt: skip


def _at(f: Builder, array: str, index, kind: str = "i32") -> str:
    return f.op(f"getelementptr {kind}, ptr {array}, i32 {index}")


def _area(f: Builder, thread: str) -> str:
    return f.cast("inttoptr", f.load("a", thread), "i64", "ptr")


# --- operands as planes


def _row(kind: str) -> str:
    """32 bytes of %raw as floats at %out, their signs changed by %sign; bits of b1 as words."""
    f = Builder()
    k = _length(kind)
    wide, floats = f"<{k} x i32>", f"<{k} x float>"
    if kind in ("tf32", "b1"):
        bits = f.op(f"load {wide}, ptr %raw, align 16")
        bits = bits if kind == "b1" else f.and_(bits, _many(-8192, k), wide)
    else:
        narrow = f"<{k} x i{BITS[kind]}>"
        bits = f.op(f"bitcast {floats} {_floats(f, kind, k, f.op(f'load {narrow}, ptr %raw, align 16'))} to {wide}")
    if kind != "b1":
        one = f.op(f"insertelement {wide} poison, i32 %sign, i32 0")
        bits = f.xor(bits, f.op(f"shufflevector {wide} {one}, {wide} poison, {wide} zeroinitializer"), wide)
    f.do(f"store {wide} {bits}, ptr %out, align 16")
    f.do("ret void")
    return f.function(f"define internal void @wgmma_row_{kind}(ptr %raw, ptr %out, i32 %sign)")


def _many(value: int, count: int, kind: str = "i32") -> str:
    return f"<{', '.join([f'{kind} {value}'] * count)}>"


def _floats(f: Builder, kind: str, k: int, codes: str) -> str:
    narrow, short, half = f"<{k} x i{BITS[kind]}>", f"<{k} x i16>", f"<{k} x half>"
    wide, floats = f"<{k} x i32>", f"<{k} x float>"
    if kind in ("s8", "u8"):
        return f.op(f"{'sitofp' if kind == 's8' else 'uitofp'} {narrow} {codes} to {floats}")
    if kind == "bf16":
        return f.op(f"bitcast {wide} {f.shl(f.op(f'zext {narrow} {codes} to {wide}'), _many(16, k), wide)} to {floats}")
    if kind == "f16":
        return f.op(f"fpext {half} {f.op(f'bitcast {short} {codes} to {half}')} to {floats}")
    words = f.op(f"zext {narrow} {codes} to {short}")
    if kind == "e5m2":
        bits = f.shl(words, _many(8, k, "i16"), short)
        return f.op(f"fpext {half} {f.op(f'bitcast {short} {bits} to {half}')} to {floats}")
    size = f.and_(words, _many(0x7F, k, "i16"), short)
    sign = f.shl(f.and_(words, _many(0x80, k, "i16"), short), _many(8, k, "i16"), short)
    bits = f.or_(f.shl(size, _many(7, k, "i16"), short), sign, short)
    number = f.op(f"fpext {half} {f.op(f'bitcast {short} {bits} to {half}')} to {floats}")
    number = f.op(f"fmul {floats} {number}, <{', '.join(['float 2.560000e+02'] * k)}>")
    is_nan = f.cmp("eq", size, _many(0x7F, k, "i16"), short)
    nan = f"<{', '.join(['float 0x7FF8000000000000'] * k)}>"
    return f.op(f"select <{k} x i1> {is_nan}, {floats} {nan}, {floats} {number}")


def _switch(f: Builder, kind: str, cases: list, emit) -> None:
    """`emit(case)` for the case whose index is %kind."""
    after = f.fresh("after")
    names = [f.fresh("case") for _ in cases]
    table = " ".join(f"i32 {i}, label %{name}" for i, name in enumerate(names))
    f.do(f"switch i32 {kind}, label %{after} [{table}]")
    for case, name in zip(cases, names):
        f.start(name)
        emit(case)
        f.do(f"br label %{after}")
    f.start(after)


def _spread() -> str:
    """The plane of %rows rows of 32 bytes: element (row, k) at row * %row_step + k * %k_step."""
    f = Builder()
    one = f.alloca(f"[{_MOST_K} x float]", 64)

    def of_kind(kind: str) -> None:
        k = _length(kind)
        with f.for_range("%rows") as row:
            raw, first = _at(f, "%raw", f.mul(row, WGMMA_K_BYTES), "i8"), _at(f, "%out", f.mul(row, "%row_step"))
            dense, strided, after = (f.fresh(name) for name in ("dense", "strided", "stored"))
            f.do(f"br i1 {f.cmp('eq', '%k_step', 1)}, label %{dense}, label %{strided}")
            f.start(dense)
            f.do(f"call void @wgmma_row_{kind}(ptr {raw}, ptr {first}, i32 %sign)")
            f.do(f"br label %{after}")
            f.start(strided)
            f.do(f"call void @wgmma_row_{kind}(ptr {raw}, ptr {one}, i32 %sign)")
            for i in range(k):
                f.put(_at(f, first, f.mul("%k_step", i)), f.get(_at(f, one, i)))
            f.do(f"br label %{after}")
            f.start(after)

    _switch(f, "%kind", list(OPERANDS), of_kind)
    f.do("ret void")
    arguments = "ptr %raw, i32 %rows, i32 %kind, i32 %sign, ptr %out, i32 %row_step, i32 %k_step"
    return f.function(f"define internal void @wgmma_spread({arguments})")


class _Exponents(tensor_core.Accumulate):
    """The exponents of a plane of floats."""

    def __init__(self, f: Builder):
        self.f = f

    def of(self, values: str, least: str) -> str:
        f = self.f
        bits = f.op(f"bitcast {FLOAT} {values} to {INT}")
        field = f.and_(f.lshr(bits, _splat(23, "i32"), INT), _splat(0xFF, "i32"), INT)
        exponent = self._larger(f.sub(field, _splat(127, "i32"), INT), least)
        is_zero = f.cmp("eq", f.shl(bits, _splat(1, "i32"), INT), "zeroinitializer", INT)
        return f.op(f"select <{LANES} x i1> {is_zero}, {INT} {_splat(-126, 'i32')}, {INT} {exponent}")


def _exponents() -> str:
    """The exponents of %count floats of an operand kind, at %out; whether one is an infinity or a NaN."""
    f = Builder()
    make, most = _Exponents(f), f.alloca(INT, 32)
    f.put(most, _splat(-126, "i32"), INT)
    least = "-126"
    for kind, exponent in _LEAST.items():
        least = f.select(f.cmp("eq", "%kind", OPERANDS.index(kind)), exponent, least)
    splat = make._all_lanes(least, "i32")
    with f.for_range(f.lshr("%count", 3)) as i:
        at = f.shl(i, 3)
        exponent = make.of(f.get(_at(f, "%values", at), FLOAT), splat)
        f.put(_at(f, "%out", at), exponent, INT)
        f.put(most, make._larger(f.get(most, INT), exponent), INT)
    greatest = f.op(f"call i32 @llvm.vector.reduce.smax.v{LANES}i32({INT} {f.get(most, INT)})")
    f.do(f"ret i1 {f.cmp('sgt', greatest, 127)}")
    return f.function("define internal i1 @wgmma_exponents(ptr %values, i32 %count, i32 %kind, ptr %out)")


# --- registers


def _place_of(f: Builder, thread: str) -> tuple[str, str]:
    """(row, thread of the group) of a thread's first elements of A and D."""
    lane = f.and_(thread, 31)
    return f.add(f.shl(f.lshr(thread, 5), 4), f.lshr(lane, 2)), f.and_(lane, 3)


def _fragment() -> str:
    """A from registers: rows of 32 bytes. Register r has 4 bytes of row + 8 (r % 2), 16 (r / 2) bytes along."""
    f = Builder()
    with f.for_range(str(THREADS)) as thread:
        area, (row, place) = _area(f, f.add("%base", thread)), _place_of(f, thread)
        for r in range(4):
            byte = f.add(f.mul(f.add(row, 8 * (r % 2)), WGMMA_K_BYTES), f.add(f.shl(place, 2), 16 * (r // 2)))
            f.put(_at(f, "%out", byte, "i8"), f.get(_at(f, area, A + r)))
    f.do("ret void")
    return f.function("define internal void @wgmma_fragment(ptr %ctx, i32 %base, ptr %out)")


def _each_pair(f: Builder, halves: bool, move) -> None:
    """`move(word, place)` for each two neighbours of D: where a thread has them, and their place in the plane."""
    with f.for_range(str(THREADS)) as thread:
        area, (row, place) = _area(f, f.add("%base", thread)), _place_of(f, thread)
        with f.for_range(f.lshr("%n", 3)) as block:
            column = f.add(f.shl(block, 3), f.shl(place, 1))
            for lower in range(2):
                word = f.add(D + (lower if halves else 2 * lower), f.shl(block, 1 if halves else 2))
                index = f.add(f.mul(f.add(row, 8 * lower), "%n"), column)
                move(_at(f, area, word), _at(f, "%plane", index))


def _halves_or_words(name: str, move_halves, move_words) -> str:
    f = Builder()
    halves, words = f.fresh("halves"), f.fresh("words")
    f.do(f"br i1 %is_half, label %{halves}, label %{words}")
    for block, is_half, move in ((halves, True, move_halves), (words, False, move_words)):
        f.start(block)
        _each_pair(f, is_half, lambda word, place, move=move: move(f, word, place))
        f.do("ret void")
    return f.function(f"define internal void @{name}(ptr %ctx, i32 %base, i32 %n, ptr %plane, i1 %is_half)")


def _copy_words(f: Builder, source: str, target: str) -> None:
    f.do(f"store i64 {f.op(f'load i64, ptr {source}, align 4')}, ptr {target}, align 4")


def _take() -> str:
    """D from the threads' registers to a plane."""

    def widen(f: Builder, word: str, place: str) -> None:
        two = f.op(f"load <2 x half>, ptr {word}, align 4")
        f.do(f"store <2 x float> {f.op(f'fpext <2 x half> {two} to <2 x float>')}, ptr {place}, align 4")

    return _halves_or_words("wgmma_take", widen, _copy_words)


def _give() -> str:
    """D from a plane to the threads' registers; a NaN of f16 is the canonical one."""

    def narrow(f: Builder, word: str, place: str) -> None:
        two = f.op(f"load <2 x float>, ptr {place}, align 4")
        bits = f.op(f"bitcast <2 x half> {f.op(f'fptrunc <2 x float> {two} to <2 x half>')} to <2 x i16>")
        nan = f.op(f"fcmp uno <2 x float> {two}, zeroinitializer")
        chosen = f.op(f"select <2 x i1> {nan}, <2 x i16> <i16 32767, i16 32767>, <2 x i16> {bits}")
        f.do(f"store <2 x i16> {chosen}, ptr {word}, align 4")

    return _halves_or_words("wgmma_give", narrow, lambda f, word, place: _copy_words(f, place, word))


# --- integers


def _integer_rows(name: str, k: int, product) -> str:
    """d += the sums of `product(f, a, b, total)` over k, by eight columns; %saturates: instead of wrapping."""
    f = Builder()
    lanes = _Exponents(f)
    with f.for_range(f.lshr("%n", 3)) as block, f.for_range(str(WGMMA_M)) as row:
        column = f.shl(block, 3)
        place = _at(f, "%d", f.add(f.mul(row, "%n"), column))
        total = "zeroinitializer"
        for i in range(k):
            of_a = f.get(_at(f, "%a", f.add(f.mul(row, k), i)), "float")
            of_b = f.get(_at(f, "%b", f.add(f.mul("%n", i), column)), FLOAT)
            total = product(f, lanes._all_lanes(of_a, "float"), of_b, total)
        if total.startswith("%") and name == "wgmma_products":
            total = f.op(f"fptosi {FLOAT} {total} to {INT}")
        start = f.get(place, INT)
        wrapped = f.add(start, total, INT)
        clamped = f.op(f"call {INT} @llvm.sadd.sat.v{LANES}i32({INT} {start}, {INT} {total})")
        f.put(place, f.select("%saturates", clamped, wrapped, INT), INT)
    f.do("ret void")
    return f.function(f"define internal void @{name}(ptr %a, ptr %b, ptr %d, i32 %n, i1 %saturates) noinline")


def _products() -> str:
    """8-bit integers: their products and 32 of them together are exact as floats."""

    def fma(f: Builder, a: str, b: str, total: str) -> str:
        return f.op(f"call {FLOAT} @llvm.fma.v{LANES}f32({FLOAT} {a}, {FLOAT} {b}, {FLOAT} {total})")

    return _integer_rows("wgmma_products", 32, fma)


def _bit_products() -> str:
    """b1: the bits that both have, counted."""

    def count(f: Builder, a: str, b: str, total: str) -> str:
        of_a, of_b = (f.op(f"bitcast {FLOAT} {each} to {INT}") for each in (a, b))
        both = f.and_(of_a, of_b, INT)
        return f.add(total, f.op(f"call {INT} @llvm.ctpop.v{LANES}i32({INT} {both})"), INT)

    return _integer_rows("wgmma_bit_products", 8, count)


# --- the instruction


def _same() -> str:
    """Whether all threads name the same matrices and the same scale-d; a fault of the first that does not."""
    f = Builder()
    first = _area(f, "%base")
    with f.for_range(str(THREADS)) as thread:
        tid = f.add("%base", thread)
        area = _area(f, tid)
        for word, shown in ((A_DESC, True), (B_DESC, True), (SCALE_D, False)):
            kind = "i64" if shown else "i32"
            mine, theirs = (f.op(f"load {kind}, ptr {_at(f, each, word)}, align 4") for each in (area, first))
            with f.if_(f.cmp("ne", mine, theirs, kind)):
                where = f"i32 {context.ILLEGAL}, i32 %site, i32 {tid}, i64 {word}, i64 0"
                f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {context.NOT_UNIFORM})")
                f.do("ret i1 false")
                f.start(f.fresh("dead"))
    f.do("ret i1 true")
    return f.function("define internal i1 @wgmma_same(ptr %ctx, i32 %base, i32 %site)")


def _wgmma() -> str:
    """One wgmma.mma_async of the warpgroup whose first thread is %base."""
    f = Builder()
    area, site = _area(f, "%base"), f.load("wait_site", "%base")
    f.return_if(f.xor(f.op(f"call i1 @wgmma_same(ptr %ctx, i32 %base, i32 {site})"), "true", "i1"), "void")
    with f.if_(f.cmp("ne", f.load("matrix_read"), 0, "i64")):
        function, ctx = f.cast("inttoptr", f.load("order_call"), "i64", "ptr"), f.cast("ptrtoint", "%ctx", "ptr", "i64")
        group, wide = (f.cast("zext", each, "i32", "i64") for each in (f.get(_at(f, area, GROUP)), site))
        told = f"i64 {ctx}, i32 {context.ORDER_WGMMA}, i32 %base, i64 {group}, i64 {wide}"
        f.store("matrix_group", f.op(f"call i32 {function}({told})"))
    form = f.get(_at(f, area, FORM))
    n = f.shl(f.and_(form, 63), 3)
    a_kind, b_kind = (f.and_(f.lshr(form, bit), 15) for bit in (_A_KIND, _B_KIND))
    is_half = f.cmp("eq", f.and_(f.lshr(form, _D_KIND), 3), RESULTS.index("f16"))
    k = "8"
    for kind in OPERANDS:
        k = f.select(f.cmp("eq", a_kind, OPERANDS.index(kind)), _length(kind), k)
    raw_a, raw_b = (f.alloca(f"[{rows * WGMMA_K_BYTES} x i8]", 64) for rows in (WGMMA_M, _MOST_N))
    planes = [f.alloca(f"[{rows * _MOST_K} x float]", 64) for rows in (WGMMA_M, WGMMA_M, _MOST_N, _MOST_N)]
    a, exponents_a, b, exponents_b = planes
    d = f.alloca(f"[{WGMMA_M * _MOST_N} x float]", 64)
    _operands(f, form, area, site, n, raw_a, raw_b)
    for raw, rows, kind, sign, plane, steps in (
        (raw_a, str(WGMMA_M), a_kind, NEGATED_A, a, f"i32 {k}, i32 1"),
        (raw_b, n, b_kind, NEGATED_B, b, f"i32 1, i32 {n}"),
    ):
        mask = f.select(_flag(f, form, sign), -(1 << 31), 0)
        f.do(f"call void @wgmma_spread(ptr {raw}, i32 {rows}, i32 {kind}, i32 {mask}, ptr {plane}, {steps})")
    arguments = f"ptr %ctx, i32 %base, i32 {n}, ptr {d}, i1 {is_half}"
    adds = f.cmp("ne", f.get(_at(f, area, SCALE_D)), 0)
    with f.if_(adds):
        f.do(f"call void @wgmma_take({arguments})")
    with f.if_(f.xor(adds, "true", "i1")):
        size = f.cast("zext", f.mul(n, 4 * WGMMA_M), "i32", "i64")
        f.do(f"call void @llvm.memset.p0.i64(ptr {d}, i8 0, i64 {size}, i1 false)")
    _multiply(f, form, a_kind, b_kind, n, k, is_half, (a, exponents_a, b, exponents_b, d))
    f.do(f"call void @wgmma_give({arguments})")
    f.do("ret void")
    return f.function("define void @emu_wgmma(ptr %ctx, i32 %base)")


def _flag(f: Builder, form: str, flag: int) -> str:
    return f.cmp("ne", f.and_(form, flag), 0)


def _operands(f: Builder, form: str, area: str, site: str, n: str, raw_a: str, raw_b: str) -> None:
    """A and B as rows of 32 bytes; the function returns after a fault."""
    in_registers = _flag(f, form, IN_REGISTERS)
    with f.if_(in_registers):
        f.do(f"call void @wgmma_fragment(ptr %ctx, i32 %base, ptr {raw_a})")
    rows_of_a = f.select(in_registers, 0, WGMMA_M)
    for word, rows, flag, raw in ((A_DESC, rows_of_a, TRANSPOSED_A, raw_a), (B_DESC, n, TRANSPOSED_B, raw_b)):
        desc = f.op(f"load i64, ptr {_at(f, area, word)}, align 4")
        arguments = f"i64 {desc}, i32 {rows}, i1 {_flag(f, form, flag)}, ptr {raw}, i32 %base, i32 {site}"
        fine = f.op(f"call i1 @wgmma_operand(ptr %ctx, {arguments})")
        f.return_if(f.xor(fine, "true", "i1"), "void")


def _multiply(f: Builder, form: str, a_kind: str, b_kind: str, n: str, k: str, is_half: str, planes: tuple) -> None:
    a, exponents_a, b, exponents_b, d = planes
    saturates = _flag(f, form, SATURATES)

    def of_kind(kind: str) -> None:
        if kind in ("s8", "u8", "b1"):
            name = "wgmma_bit_products" if kind == "b1" else "wgmma_products"
            f.do(f"call void @{name}(ptr {a}, ptr {b}, ptr {d}, i32 {n}, i1 {saturates})")
            return
        specials = []
        for plane, count, which, out in (
            (a, f.mul(k, WGMMA_M), a_kind, exponents_a), (b, f.mul(k, n), b_kind, exponents_b),
        ):  # fmt: skip
            specials.append(f.op(f"call i1 @wgmma_exponents(ptr {plane}, i32 {count}, i32 {which}, ptr {out})"))
        special = f.or_(specials[0], specials[1], "i1")
        arguments = f"ptr {a}, ptr {exponents_a}, ptr {b}, ptr {exponents_b}, ptr {d}, i32 {n}, i1 {special}"
        whole = warpgroup_sums.name_of(warpgroup_sums.sum_of(Wgmma(8, kind, kind, "f32")))
        if kind in ("bf16", "tf32"):
            f.do(f"call void @{whole}({arguments})")
            return
        half = warpgroup_sums.name_of(warpgroup_sums.sum_of(Wgmma(8, kind, kind, "f16")))
        f.do(f"call void {f.select(is_half, '@' + half, '@' + whole, 'ptr')}({arguments})")

    _switch(f, a_kind, list(OPERANDS), of_kind)
