"""What tensor cores compute: the sums of products of `mma` and `wgmma` for each architecture, bit for bit as measured.

A sum is made at once: every product is exact, all of them and the accumulator are aligned to the largest exponent and
truncated to some fraction bits, then added. Sources: Xie et al. 2025 (arXiv 2511.10909: Volta to Blackwell); Fasi,
Higham, Mikaitis, Pranesh 2021 (V100, T4, A100). What `mma` of 8-bit floats is on Hopper is read off the SASS of ptxas
13.0, which has no such instruction for sm_90: two HMMA of f16 and an addition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dsl.emulator.builder import Builder
from dsl.emulator.runtime.fragments import BITS, Mma

LANES = 8  # elements of a row of D, computed side by side
FLOAT, DOUBLE, INT, LONG = (f"<{LANES} x {kind}>" for kind in ("float", "double", "i32", "i64"))
_BIAS, _MOST, _LEAST = 127, 0xFF, -126
_INFINITY = "0x7FF0000000000000"
_EIGHT_BITS = ("e4m3", "e5m2")
_LEAST_EXPONENT = {"f16": -14, "e5m2": -14, "e4m3": -6, "bf16": _LEAST, "tf32": _LEAST}


@dataclass(frozen=True)
class Sum:
    """One sum: products of these k and, before them, what the sum before gave (for the first the accumulator)."""

    ks: tuple[int, ...]
    fraction_bits: int
    result: str  # f32 (truncated), f16 (to nearest even), e8m13 (truncated)
    begins_at_zero: bool = False

    @property
    def accumulator(self) -> str:
        """The type of the accumulator. A subnormal accumulator has the least exponent of this type."""
        return "f16" if self.result == "f16" else "f32"


@dataclass(frozen=True)
class TensorCore:
    """The numbers of one architecture's tensor cores. `fraction_bits`: those that aligned terms keep."""

    name: str
    fraction_bits: int
    splits: bool  # the widest shapes are two sums, one for each half of K
    fp8: str  # "f16": as two sums of f16 and an addition of the accumulator; "direct": 13 fraction bits

    def adds_at_the_end(self, form: Mma) -> bool:
        """Whether the accumulator is added to the finished sum, rounded to nearest."""
        return form.a in _EIGHT_BITS and self.fp8 == "f16"

    def operand(self, kind: str) -> str:
        """The type in which products are made."""
        return "f16" if kind in _EIGHT_BITS and self.fp8 == "f16" else kind

    def sums(self, form: Mma) -> list[Sum]:
        """The sums of a form, in order."""
        if self.adds_at_the_end(form):  # the low two of every four elements of a register, then the high two
            halves = [tuple(k for k in range(form.k) if k % 4 // 2 == half) for half in range(2)]
            return [Sum(ks, self.fraction_bits, form.c, ks is halves[0]) for ks in halves]
        fraction_bits, result = self.fraction_bits, form.c
        if form.a in _EIGHT_BITS:
            fraction_bits, result = 13, "e8m13" if form.c == "f32" else "f16"
        if self.splits and form.k * BITS[form.a] == 256:
            half = form.k // 2
            return [Sum(tuple(range(first, first + half)), fraction_bits, result) for first in (0, half)]
        return [Sum(tuple(range(form.k)), fraction_bits, result)]


TENSOR_CORES = {
    core.name: core
    for core in (
        TensorCore("ampere", 24, splits=True, fp8="direct"),
        TensorCore("ada", 24, splits=True, fp8="direct"),
        TensorCore("hopper", 25, splits=False, fp8="f16"),
    )
}

GPU_MODELS = {  # the name that a user gives -> whose tensor cores it has
    **dict.fromkeys(("a100", "a30", "a10", "a40", "rtx3090"), "ampere"),
    **dict.fromkeys(("l4", "l40", "l40s", "rtx4090"), "ada"),
    **dict.fromkeys(("h100", "h200", "h800", "gh200"), "hopper"),
}
DEFAULT_GPU_MODEL = "h100"


def of_gpu(name: str) -> TensorCore:
    """The tensor cores of a GPU model. Raises ValueError for one whose numbers nobody measured."""
    if name not in GPU_MODELS:
        raise ValueError(f"unknown GPU model {name}: the emulator has {', '.join(GPU_MODELS)}")
    return TENSOR_CORES[GPU_MODELS[name]]


def is_modelled(form: Mma) -> bool:
    """Whether the form is of floats that are not doubles: doubles are chains of fma, integers exact."""
    return form.c in ("f32", "f16")


def _splat(value: object, kind: str) -> str:
    return f"<{', '.join([f'{kind} {value}'] * LANES)}>"


class Accumulate:
    """Code that makes `d = a * b + d` for one form: `a` (m, k), `b` (k, 8) and `d` (m, 8) are arrays of floats."""

    def __init__(self, f: Builder, form: Mma, core: TensorCore, a: str, b: str, d: str):
        self.f, self.form, self.core, self.a, self.b, self.d = f, form, core, a, b, d

    def emit(self) -> None:
        f, form = self.f, self.form
        self.wide_b = f.alloca(f"[{form.k * LANES} x double]", 64)
        self.exponents_a = f.alloca(f"[{form.m * form.k} x i32]", 64)
        self.exponents_b = f.alloca(f"[{form.k * LANES} x i32]", 64)
        greatest = self._exponents(self.a, self.exponents_a, form.m * form.k, form.a)
        greatest = self._larger(greatest, self._exponents(self.b, self.exponents_b, form.k * LANES, form.b))
        greatest = self._larger(greatest, self._exponents(self.d, None, form.m * LANES, "f32"))
        with f.for_range(str(form.k)) as k:
            at = f.mul(k, LANES)
            row = f.get(self._element(self.b, "float", at), FLOAT)
            f.put(self._element(self.wide_b, "double", at), f.op(f"fpext {FLOAT} {row} to {DOUBLE}"), DOUBLE)
        reduced = f.op(f"call i32 @llvm.vector.reduce.smax.v{LANES}i32({INT} {greatest})")
        special = f.cmp("sgt", reduced, _BIAS)
        specials, finite, after = f.fresh("specials"), f.fresh("finite"), f.fresh("summed")
        f.do(f"br i1 {special}, label %{specials}, label %{finite}")
        for block, sum_of in ((specials, self._any_sum), (finite, self._finite_sum)):
            f.start(block)
            with f.for_range(str(form.m)) as row:
                self._row(row, sum_of)
            f.do(f"br label %{after}")
        f.start(after)

    def _element(self, array: str, kind: str, index: str) -> str:
        return self.f.op(f"getelementptr {kind}, ptr {array}, i32 {index}")

    def _larger(self, one: str, other: str) -> str:
        return self.f.op(f"call {INT} @llvm.smax.v{LANES}i32({INT} {one}, {INT} {other})")

    def _exponent(self, values: str, kind: str) -> str:
        """The exponents of floats: of a subnormal the least of its type, of a zero -126, of an infinity or NaN 128."""
        f = self.f
        bits = f.op(f"bitcast {FLOAT} {values} to {INT}")
        field = f.and_(f.lshr(bits, _splat(23, "i32"), INT), _splat(_MOST, "i32"), INT)
        exponent = self._larger(
            f.sub(field, _splat(_BIAS, "i32"), INT), _splat(_LEAST_EXPONENT.get(kind, _LEAST), "i32")
        )
        is_zero = f.cmp("eq", f.shl(bits, _splat(1, "i32"), INT), "zeroinitializer", INT)
        return f.op(f"select <{LANES} x i1> {is_zero}, {INT} {_splat(_LEAST, 'i32')}, {INT} {exponent}")

    def _exponents(self, array: str, place: str | None, count: int, kind: str) -> str:
        """The exponents of an array, at `place` too; the largest, lane by lane."""
        f = self.f
        greatest = f.alloca(INT, 64)
        f.put(greatest, _splat(_LEAST, "i32"), INT)
        with f.for_range(str(count // LANES)) as i:
            at = f.mul(i, LANES)
            exponent = self._exponent(f.get(self._element(array, "float", at), FLOAT), self.core.operand(kind))
            if place:
                f.put(self._element(place, "i32", at), exponent, INT)
            f.put(greatest, self._larger(f.get(greatest, INT), exponent), INT)
        return f.get(greatest, INT)

    def _all_lanes(self, value: str, kind: str) -> str:
        vector = f"<{LANES} x {kind}>"
        one = self.f.op(f"insertelement {vector} poison, {kind} {value}, i32 0")
        return self.f.op(f"shufflevector {vector} {one}, {vector} poison, <{LANES} x i32> zeroinitializer")

    def _of_a(self, row: str, k: int) -> str:
        f = self.f
        scalar = f.get(self._element(self.a, "float", f.add(f.mul(row, self.form.k), k)), "float")
        return self._all_lanes(f.op(f"fpext float {scalar} to double"), "double")

    def _product(self, row: str, k: int) -> str:
        """Products of element (row, k) of A and row k of B, as doubles: exact."""
        of_b = self.f.get(self._element(self.wide_b, "double", str(k * LANES)), DOUBLE)
        return self.f.op(f"fmul {DOUBLE} {self._of_a(row, k)}, {of_b}")

    def _product_exponent(self, row: str, k: int) -> str:
        f = self.f
        of_a = f.get(self._element(self.exponents_a, "i32", f.add(f.mul(row, self.form.k), k)), "i32")
        of_b = f.get(self._element(self.exponents_b, "i32", str(k * LANES)), INT)
        return f.add(self._all_lanes(of_a, "i32"), of_b, INT)

    # --- a row of D

    def _row(self, row: str, sum_of: Callable[[Sum, str, str], str]) -> None:
        f = self.f
        place = self._element(self.d, "float", f.mul(row, LANES))
        accumulator = total = f.get(place, FLOAT)
        for one in self.core.sums(self.form):
            total = sum_of(one, row, "zeroinitializer" if one.begins_at_zero else total)
        if self.core.adds_at_the_end(self.form):
            sides = [f.op(f"fpext {FLOAT} {side} to {DOUBLE}") for side in (accumulator, total)]
            added = f.op(f"fadd {DOUBLE} {sides[0]}, {sides[1]}")
            total = self._to_half(added) if self.form.c == "f16" else f.op(f"fadd {FLOAT} {accumulator}, {total}")
        f.put(place, total, FLOAT)

    def _finite_sum(self, one: Sum, row: str, start: str) -> str:
        """A sum whose operands are finite; `start` is what the sum before gave, which may have overflowed."""
        total = self._sum(one, row, start)
        if one.ks[0] == 0:
            return total
        overflowed = self.f.op(f"fcmp oeq {FLOAT} {self._size(start)}, {_splat(_INFINITY, 'float')}")
        return self.f.op(f"select <{LANES} x i1> {overflowed}, {FLOAT} {start}, {FLOAT} {total}")

    def _any_sum(self, one: Sum, row: str, start: str) -> str:
        """As IEEE 754 has it where an operand makes it infinite or NaN, and only there."""
        f = self.f
        exact = f.op(f"fpext {FLOAT} {start} to {DOUBLE}")
        for k in one.ks:
            exact = f.op(f"fadd {DOUBLE} {exact}, {self._product(row, k)}")
        is_special = f.op(f"fcmp ueq {DOUBLE} {self._size(exact, 'double')}, {_splat(_INFINITY, 'double')}")
        special = f.op(f"fptrunc {DOUBLE} {exact} to {FLOAT}")
        return f.op(f"select <{LANES} x i1> {is_special}, {FLOAT} {special}, {FLOAT} {self._sum(one, row, start)}")

    def _size(self, values: str, kind: str = "float") -> str:
        short = {"float": "f32", "double": "f64"}[kind]
        vector = f"<{LANES} x {kind}>"
        return self.f.op(f"call {vector} @llvm.fabs.v{LANES}{short}({vector} {values})")

    def _power(self, exponent: str) -> str:
        """2 ** exponent, as doubles."""
        f = self.f
        biased = f.op(f"zext {INT} {f.add(exponent, _splat(1023, 'i32'), INT)} to {LONG}")
        return f.op(f"bitcast {LONG} {f.shl(biased, _splat(52, 'i64'), LONG)} to {DOUBLE}")

    def _sum(self, one: Sum, row: str, start: str) -> str:
        f = self.f
        greatest = self._exponent(start, one.accumulator)
        for k in one.ks:
            greatest = self._larger(greatest, self._product_exponent(row, k))
        scale = self._power(f.sub(_splat(one.fraction_bits, "i32"), greatest, INT))
        total = "zeroinitializer"
        for k in one.ks:
            total = f.add(total, self._truncated(self._product(row, k), scale), INT)
        wide = f.op(f"fpext {FLOAT} {start} to {DOUBLE}")
        aligned = f.op(f"sitofp {INT} {self._truncated(wide, scale)} to {DOUBLE}")
        total = f.op(f"fadd {DOUBLE} {f.op(f'sitofp {INT} {total} to {DOUBLE}')}, {aligned}")
        value = f.op(f"fmul {DOUBLE} {total}, {self._power(f.sub(greatest, _splat(one.fraction_bits, 'i32'), INT))}")
        if one.result == "f16":
            return self._to_half(value)
        bits, _ = self._toward_zero(value)
        if one.result == "e8m13":
            bits = f.and_(bits, _splat(-1024, "i32"), INT)
        return self._without_sign_of_zero(bits)

    def _truncated(self, values: str, scale: str) -> str:
        """`values * scale` as whole numbers, towards zero: each is below 2 ** (fraction bits + 2)."""
        scaled = self.f.op(f"fmul {DOUBLE} {values}, {scale}")
        return self.f.op(f"fptosi {DOUBLE} {scaled} to {INT}")

    def _toward_zero(self, value: str) -> tuple[str, str]:
        """The bits of doubles truncated to floats, infinity from 2 ** 128 on; where bits were lost, as <8 x i1>."""
        f = self.f
        nearest = f.op(f"fptrunc {DOUBLE} {value} to {FLOAT}")
        back = f.op(f"fpext {FLOAT} {nearest} to {DOUBLE}")
        size = self._size(value, "double")
        too_large = f.op(f"fcmp ogt {DOUBLE} {self._size(back, 'double')}, {size}")
        in_range = f.op(f"fcmp olt {DOUBLE} {size}, {_splat('0x47F0000000000000', 'double')}")
        step = f.op(f"zext <{LANES} x i1> {f.and_(too_large, in_range, f'<{LANES} x i1>')} to {INT}")
        bits = f.sub(f.op(f"bitcast {FLOAT} {nearest} to {INT}"), step, INT)
        return bits, f.op(f"fcmp one {DOUBLE} {back}, {value}")

    def _to_half(self, value: str) -> str:
        """Doubles rounded once to f16, as floats: lost bits are kept as one sticky bit until then."""
        f = self.f
        bits, is_inexact = self._toward_zero(value)
        sticky = f.or_(bits, f.op(f"zext <{LANES} x i1> {is_inexact} to {INT}"), INT)
        half = f"<{LANES} x half>"
        rounded = f.op(f"fptrunc {FLOAT} {f.op(f'bitcast {INT} {sticky} to {FLOAT}')} to {half}")
        back = f.op(f"fpext {half} {rounded} to {FLOAT}")
        return self._without_sign_of_zero(f.op(f"bitcast {FLOAT} {back} to {INT}"))

    def _without_sign_of_zero(self, bits: str) -> str:
        f = self.f
        is_zero = f.cmp("eq", f.shl(bits, _splat(1, "i32"), INT), "zeroinitializer", INT)
        signed = f.op(f"select <{LANES} x i1> {is_zero}, {INT} zeroinitializer, {INT} {bits}")
        return f.op(f"bitcast {INT} {signed} to {FLOAT}")


DECLARATIONS = "\n".join(
    (
        f"declare {INT} @llvm.smax.v{LANES}i32({INT}, {INT})",
        f"declare i32 @llvm.vector.reduce.smax.v{LANES}i32({INT})",
        f"declare {FLOAT} @llvm.fabs.v{LANES}f32({FLOAT})",
        f"declare {DOUBLE} @llvm.fabs.v{LANES}f64({DOUBLE})",
    )
)
