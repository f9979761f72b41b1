"""Native code of what a warp's lanes compute together: mma, ldmatrix, stmatrix, movmatrix. PTX ISA 9.7.14.

Each lane has an exchange area: 8 bytes with the function that computes, then words (i32) in and out. The lane that
completes the meeting calls `void f(ptr ctx, i32 base)`; field `a` of the warp's threads from `base` on has the areas.
Floats are summed as tensor_core.py says, doubles by fma in the order of k. NaN results are canonical.
"""

from __future__ import annotations

from dsl.emulator.builder import Builder
from dsl.emulator.runtime import fragments, tensor_core
from dsl.emulator.runtime.fragments import BITS, Mma

WORDS = 40  # i32 in an exchange area: 8 bytes of function, m16n8k16 of f64 has 32 words in
FIRST = 2  # the word where what a lane gives begins
LANES = 32
HEAD = "define internal void @{}(ptr %ctx, i32 %base) noinline"


class _Collective(Builder):
    """Code over the exchange areas of 32 lanes."""

    def __init__(self) -> None:
        super().__init__()
        self.areas = self.field("a", "%base")

    def area(self, lane: str) -> str:
        address = self.op(f"getelementptr i64, ptr {self.areas}, i32 {lane}")
        return self.cast("inttoptr", self.get(address, "i64"), "i64", "ptr")

    def word(self, area: str, index: int) -> str:
        """The place of word `index` that a lane gives or gets."""
        return self.op(f"getelementptr i32, ptr {area}, i32 {FIRST + index}")

    def element(self, array: str, kind: str, index: str) -> str:
        return self.op(f"getelementptr {kind}, ptr {array}, i32 {index}")

    def position(self, lane: str) -> tuple[str, str]:
        """(group, thread in the group) of a lane."""
        return self.lshr(lane, 2), self.and_(lane, 3)

    def finished(self, name: str) -> str:
        self.do("ret void")
        return self.function(HEAD.format(name))


# --- mma -------------------------------------------------------------------------------------------------------------


def mma(form: Mma, core: tensor_core.TensorCore) -> str:
    """The function of one form, its sums as that architecture's tensor cores make them."""
    f = _Collective()
    kind = {"s32": "i32", "f64": "double"}.get(form.c, "float")
    m, n, k = form.m, form.n, form.k
    a, b, d = (f.alloca(f"[{size} x {kind}]", 64) for size in (m * k, k * n, m * n))
    counts = form.registers
    with f.for_range(str(LANES)) as lane:
        area, (group, thread) = f.area(lane), f.position(lane)
        step = max(BITS[form.a] // 32, 1)
        for r in range(counts[0]):
            row, column = fragments.a_element(form, 0, r)
            at = f.add(f.mul(f.add(group, row), k), f.add(f.mul(thread, form.pack), column))
            for e, value in enumerate(_unpacked(f, f.word(area, r * step), form.a)):
                f.put(f.element(a, kind, f.add(at, e)), value, kind)
        for r in range(counts[1]):
            row, _ = fragments.b_element(form, 0, r)
            at = f.add(f.mul(f.add(f.mul(thread, form.pack), row), n), group)
            for e, value in enumerate(_unpacked(f, f.word(area, counts[0] * step + r * step), form.b)):
                f.put(f.element(b, kind, f.add(at, e * n)), value, kind)
        for i, value in enumerate(_accumulators(f, form, area, (counts[0] + counts[1]) * step)):
            f.put(_place(f, d, kind, form, group, thread, i), value, kind)
    if tensor_core.is_modelled(form):
        tensor_core.Accumulate(f, form, core, a, b, d).emit()
    else:
        _multiply(f, form, kind, a, b, d)
    with f.for_range(str(LANES)) as lane:
        area, (group, thread) = f.area(lane), f.position(lane)
        values = [f.get(_place(f, d, kind, form, group, thread, i), kind) for i in range(m * n // 32)]
        _give(f, form, area, values)
    return f.finished(form.name)


def _place(f: _Collective, d: str, kind: str, form: Mma, group: str, thread: str, index: int) -> str:
    row, column = fragments.c_element(0, index)
    at = f.add(f.mul(f.add(group, row), form.n), f.add(f.mul(thread, 2), column))
    return f.element(d, kind, at)


def _unpacked(f: _Collective, place: str, kind: str) -> list[str]:
    """The elements of a register, each as float, i32 or double."""
    if kind == "f64":
        return [f.op(f"load double, ptr {place}, align 4")]
    if kind == "tf32":
        return [f.op(f"bitcast i32 {f.and_(f.get(place), -8192)} to float")]
    word = f.get(place)
    count, bits = 32 // BITS[kind], BITS[kind]
    parts = [f.op(f"trunc i32 {f.lshr(word, bits * i)} to i{bits}") for i in range(count)]
    if kind in ("s8", "u8"):
        return [f.op(f"{'sext' if kind == 's8' else 'zext'} i8 {part} to i32") for part in parts]
    if kind == "f16":
        return [f.op(f"fpext half {f.op(f'bitcast i16 {part} to half')} to float") for part in parts]
    if kind == "bf16":
        return [f.op(f"bitcast i32 {f.shl(f.op(f'zext i16 {part} to i32'), 16)} to float") for part in parts]
    return [_eight_bit_float(f, part, kind) for part in parts]


def _eight_bit_float(f: _Collective, part: str, kind: str) -> str:
    """A value of e4m3 or e5m2: its bits where an f16 has them, scaled by the difference of the biases."""
    code = f.op(f"zext i8 {part} to i16")
    if kind == "e5m2":
        half = f.op(f"bitcast i16 {f.shl(code, 8, 'i16')} to half")
        return f.op(f"fpext half {half} to float")
    size = f.and_(code, 0x7F, "i16")
    half = f.op(
        f"bitcast i16 {f.or_(f.shl(size, 7, 'i16'), f.shl(f.and_(code, 0x80, 'i16'), 8, 'i16'), 'i16')} to half"
    )
    number = f.op(f"fmul float {f.op(f'fpext half {half} to float')}, 2.560000e+02")
    return f.op(f"select i1 {f.cmp('eq', size, 0x7F, 'i16')}, float 0x7FF8000000000000, float {number}")


def _accumulators(f: _Collective, form: Mma, area: str, first: int) -> list[str]:
    count = form.m * form.n // 32
    if form.c == "f16":
        return [value for r in range(count // 2) for value in _unpacked(f, f.word(area, first + r), "f16")]
    kind, step = {"s32": ("i32", 1), "f64": ("double", 2), "f32": ("float", 1)}[form.c]
    return [f.op(f"load {kind}, ptr {f.word(area, first + i * step)}, align 4") for i in range(count)]


def _multiply(f: _Collective, form: Mma, kind: str, a: str, b: str, d: str) -> None:
    """d += a * b, a row of d at a time as one vector."""
    vector = f"<{form.n} x {kind}>"
    with f.for_range(str(form.m)) as row:
        place = f.element(d, kind, f.mul(row, form.n))
        start = f.get(place, vector)
        total = start if kind != "i32" else "zeroinitializer"
        for k in range(form.k):
            scalar = f.get(f.element(a, kind, f.add(f.mul(row, form.k), k)), kind)
            one = f.op(f"insertelement {vector} poison, {kind} {scalar}, i32 0")
            many = f.op(f"shufflevector {vector} {one}, {vector} poison, <{form.n} x i32> zeroinitializer")
            column = f.get(f.element(b, kind, str(k * form.n)), vector)
            if kind == "i32":
                total = f.add(total, f.mul(many, column, vector), vector)
            else:
                total = f.op(
                    f"call {vector} @llvm.fma.v{form.n}f64({vector} {many}, {vector} {column}, {vector} {total})"
                )
        if form.saturates:
            total = f.op(f"call {vector} @llvm.sadd.sat.v{form.n}i32({vector} {start}, {vector} {total})")
        elif kind == "i32":
            total = f.add(start, total, vector)
        f.put(place, total, vector)


def _give(f: _Collective, form: Mma, area: str, values: list[str]) -> None:
    if form.c == "s32":
        for i, value in enumerate(values):
            f.put(f.word(area, i), value)
    elif form.c == "f64":
        for i, value in enumerate(values):
            f.do(f"store double {value}, ptr {f.word(area, 2 * i)}, align 4")
    elif form.c == "f32":
        for i, value in enumerate(values):
            nan = f.op(f"fcmp uno float {value}, 0.0")
            f.put(f.word(area, i), f.select(nan, 0x7FFFFFFF, f.op(f"bitcast float {value} to i32")))
    else:
        for r in range(len(values) // 2):
            low, high = (_half(f, value) for value in values[2 * r : 2 * r + 2])
            f.put(f.word(area, r), f.or_(f.shl(high, 16), low))


def _half(f: _Collective, value: str) -> str:
    """A float rounded to f16, as i32."""
    bits = f.op(f"bitcast half {f.op(f'fptrunc float {value} to half')} to i16")
    nan = f.op(f"fcmp uno float {value}, 0.0")
    return f.op(f"zext i16 {f.select(nan, 0x7FFF, bits, 'i16')} to i32")


# --- matrices of 8 rows of 16 bytes ----------------------------------------------------------------------------------


def _row(f: _Collective, lane: str) -> str:
    """The host address that lane `lane` names."""
    return f.cast("inttoptr", f.op(f"load i64, ptr {f.word(f.area(lane), 0)}, align 4"), "i64", "ptr")


def ldmatrix(count: int, transpose: bool) -> str:
    """Words: the address of a row; out from word 2 on."""
    f = _Collective()
    with f.for_range(str(LANES)) as lane:
        area, (group, thread) = f.area(lane), f.position(lane)
        for i in range(count):
            if transpose:
                first = f.add(f.mul(thread, 2), 8 * i)
                halves = [f.get(f.element(_row(f, each), "i16", group), "i16") for each in (first, f.add(first, 1))]
                low, high = (f.op(f"zext i16 {half} to i32") for half in halves)
                value = f.or_(f.shl(high, 16), low)
            else:
                value = f.get(f.element(_row(f, f.add(group, 8 * i)), "i32", thread))
            f.put(f.word(area, 2 + i), value)
    return f.finished(matrix_name("ldmatrix", count, transpose))


def stmatrix(count: int, transpose: bool) -> str:
    """Words: the address of a row, and from word 2 on what the lane has of the matrices."""
    f = _Collective()
    with f.for_range(str(LANES)) as lane:
        area, (group, thread) = f.area(lane), f.position(lane)
        for i in range(count):
            value = f.get(f.word(area, 2 + i))
            if transpose:
                first = f.add(f.mul(thread, 2), 8 * i)
                for e, row in enumerate((first, f.add(first, 1))):
                    part = f.op(f"trunc i32 {f.lshr(value, 16 * e)} to i16")
                    f.do(f"store i16 {part}, ptr {f.element(_row(f, row), 'i16', group)}")
            else:
                f.put(f.element(_row(f, f.add(group, 8 * i)), "i32", thread), value)
    return f.finished(matrix_name("stmatrix", count, transpose))


def movmatrix() -> str:
    """Word 0 in: a row's two elements; word 1 out: those of the transposed matrix."""
    f = _Collective()
    with f.for_range(str(LANES)) as lane:
        area, (group, thread) = f.area(lane), f.position(lane)
        shift = f.mul(f.and_(group, 1), 16)
        parts = []
        for e in range(2):
            holder = f.add(f.mul(f.add(f.mul(thread, 2), e), 4), f.lshr(group, 1))
            parts.append(f.and_(f.lshr(f.get(f.word(f.area(holder), 0)), shift), 0xFFFF))
        f.put(f.word(area, 1), f.or_(f.shl(parts[1], 16), parts[0]))
    return f.finished("movmatrix_trans")


def matrix_name(what: str, count: int, transpose: bool) -> str:
    return f"{what}_x{count}" + "_trans" * transpose


DECLARATIONS = "\n".join(
    (
        tensor_core.DECLARATIONS,
        "declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)",
        "declare <8 x i32> @llvm.sadd.sat.v8i32(<8 x i32>, <8 x i32>)",
    )
)
