"""The sums of wgmma, eight elements of a row of D at a time, with the bits that tensor_core.py says.

Where all exponents of a sum are moderate its products are exact as floats, and so is each of them once it is scaled to
a whole number: then no double is needed. Any other sum is made as `mma` makes it, in doubles.
"""

from __future__ import annotations

from dsl.emulator.builder import Builder
from dsl.emulator.runtime.fragments import WGMMA_M, Wgmma
from dsl.emulator.runtime.tensor_core import FLOAT, INT, LANES, Accumulate, Sum, _splat

# Greatest exponents of the terms of a sum that floats are enough for: 2 ** (25 + 90) and products of 2 ** 102 are
# floats, and a product below the least float vanishes in the alignment.
LEAST, MOST = -90, 100
HEAD = (
    "define internal void @{}(ptr %a, ptr %exponents_a, ptr %b, ptr %exponents_b, ptr %d, i32 %n, i1 %special) noinline"
)


def sum_of(form: Wgmma) -> Sum:
    """How an element of D is made: all of K at once, 25 fraction bits, of 8-bit floats 13."""
    is_narrow = form.a in ("e4m3", "e5m2")
    result = "e8m13" if is_narrow and form.d == "f32" else form.d
    return Sum(tuple(range(form.k)), 13 if is_narrow else 25, result)


def name_of(one: Sum) -> str:
    """The function that makes such sums."""
    return f"wgmma_sums_k{len(one.ks)}_{one.result}"


def sums() -> dict[str, Sum]:
    """Every kind of sum, by the name of its function."""
    forms = [Wgmma(8, a, a, d) for a, d in (
        ("f16", "f32"), ("f16", "f16"), ("tf32", "f32"), ("e4m3", "f32"), ("e4m3", "f16"))]  # fmt: skip
    return {name_of(one): one for one in map(sum_of, forms)}


def functions() -> list[str]:
    """The IR text: `d += a * b`; planes of floats are a (64, K), b (K, n), d (64, n), exponents i32 of a and b."""
    return [text for name, one in sums().items() for text in (_Row(one).function_text(name), _Block(one).text(name))]


class _Row(Accumulate):
    """Eight elements of D of a row: %a and %b point to that row and to those columns."""

    def __init__(self, one: Sum):
        self.f, self.one = Builder(), one

    def _load(self, array: str, kind: str, index: str) -> str:
        return self.f.get(self._element(array, "i32", index), kind)

    def _down(self, k: int) -> str:
        return self.f.mul("%n", k)

    def _product(self, row: str, k: int) -> str:
        f, double = self.f, f"<{LANES} x double>"
        of_a = f.op(f"fpext float {self._load('%a', 'float', str(k))} to double")
        of_b = f.op(f"fpext {FLOAT} {self._load('%b', FLOAT, self._down(k))} to {double}")
        return f.op(f"fmul {double} {self._all_lanes(of_a, 'double')}, {of_b}")

    def _product_exponent(self, row: str, k: int) -> str:
        of_a = self._all_lanes(self._load("%exponents_a", "i32", str(k)), "i32")
        return self.f.add(of_a, self._load("%exponents_b", INT, self._down(k)), INT)

    def function_text(self, name: str) -> str:
        """The sum in doubles; a NaN is the canonical one."""
        f = self.f
        start = f.get("%d", FLOAT)
        special, finite, after = f.fresh("special"), f.fresh("finite"), f.fresh("summed")
        place = f.alloca(FLOAT, 32)
        f.do(f"br i1 %special, label %{special}, label %{finite}")
        for block, make in ((special, self._any_sum), (finite, self._sum)):
            f.start(block)
            f.put(place, make(self.one, "0", start), FLOAT)
            f.do(f"br label %{after}")
        f.start(after)
        total = f.get(place, FLOAT)
        is_nan = f.op(f"fcmp uno {FLOAT} {total}, zeroinitializer")
        nan = _splat("0x7FFFFFFFE0000000", "float")
        f.put("%d", f.op(f"select <{LANES} x i1> {is_nan}, {FLOAT} {nan}, {FLOAT} {total}"), FLOAT)
        f.do("ret void")
        return f.function(HEAD.format(name + "_row"))


class _Block(_Row):
    """All of D, columns by eight and row by row."""

    def text(self, name: str) -> str:
        f = self.f
        k = len(self.one.ks)
        arrays = ("%a", "%exponents_a", "%b", "%exponents_b", "%d")
        with f.for_range(f.lshr("%n", 3)) as block, f.for_range(str(WGMMA_M)) as row:
            column = f.shl(block, 3)
            at_a, at_d = f.mul(row, k), f.add(f.mul(row, "%n"), column)
            places = dict(zip(arrays, (at_a, at_a, column, column, at_d)))
            self.at = {array: f.op(f"getelementptr float, ptr {array}, i32 {i}") for array, i in places.items()}
            self._eight(name)
        f.do("ret void")
        return f.function(HEAD.format(name))

    def _load(self, array: str, kind: str, index: str) -> str:
        return super()._load(self.at[array], kind, index)

    def _eight(self, name: str) -> None:
        f = self.f
        start = self._load("%d", FLOAT, "0")
        greatest = self._exponent(start, self.one.accumulator)
        for k in self.one.ks:
            greatest = self._larger(greatest, self._product_exponent("", k))
        outside = f.cmp("ugt", f.sub(greatest, _splat(LEAST, "i32"), INT), _splat(MOST - LEAST, "i32"), INT)
        blocks = (f.fresh(each) for each in ("outside", "doubles", "floats", "next"))
        unusual, doubles, floats, after = blocks
        f.do(f"br i1 %special, label %{doubles}, label %{(ordinary := f.fresh('ordinary'))}")
        f.start(ordinary)
        f.do(f"br i1 {self._any(outside)}, label %{unusual}, label %{floats}")
        f.start(unusual)
        terms = f.and_(outside, self._some_term(start), f"<{LANES} x i1>")
        f.do(f"br i1 {self._any(terms)}, label %{doubles}, label %{floats}")
        f.start(doubles)
        arguments = ", ".join(f"ptr {self.at[array]}" for array in self.at)
        f.do(f"call void @{name}_row({arguments}, i32 %n, i1 %special)")
        f.do(f"br label %{after}")
        f.start(floats)
        f.put(self.at["%d"], self._float_sum(start, greatest), FLOAT)
        f.do(f"br label %{after}")
        f.start(after)

    def _any(self, flags: str) -> str:
        return self.f.cmp("ne", self.f.op(f"bitcast <{LANES} x i1> {flags} to i{LANES}"), 0, f"i{LANES}")

    def _some_term(self, start: str) -> str:
        """Where a term of the sum is not zero."""
        f = self.f
        flags = f.op(f"fcmp one {FLOAT} {start}, zeroinitializer")
        for k in self.one.ks:
            of_a, of_b = self._load("%a", "float", str(k)), self._load("%b", FLOAT, self._down(k))
            is_a, is_b = (
                f.op(f"fcmp one {FLOAT} {each}, zeroinitializer") for each in (self._all_lanes(of_a, "float"), of_b)
            )
            flags = f.or_(flags, f.and_(is_a, is_b, f"<{LANES} x i1>"), f"<{LANES} x i1>")
        return flags

    def _float_power(self, exponent: str) -> str:
        """2 ** exponent as floats."""
        f = self.f
        return f.op(
            f"bitcast {INT} {f.shl(f.add(exponent, _splat(127, 'i32'), INT), _splat(23, 'i32'), INT)} to {FLOAT}"
        )

    def _float_sum(self, start: str, greatest: str) -> str:
        f, bits = self.f, _splat(self.one.fraction_bits, "i32")
        greatest = self._larger(greatest, _splat(LEAST, "i32"))
        scale = self._float_power(f.sub(bits, greatest, INT))
        total = "zeroinitializer"
        for k in self.one.ks:
            of_a, of_b = self._load("%a", "float", str(k)), self._load("%b", FLOAT, self._down(k))
            product = f.op(f"fmul {FLOAT} {self._all_lanes(of_a, 'float')}, {of_b}")
            total = f.add(total, self._whole(product, scale), INT)
        parts = [f.op(f"sitofp {INT} {each} to <{LANES} x double>") for each in (total, self._whole(start, scale))]
        whole = f.op(f"fadd <{LANES} x double> {parts[0]}, {parts[1]}")
        power = self._float_power(f.sub(greatest, bits, INT))
        if self.one.result == "f16":
            wide = f.op(f"fpext {FLOAT} {power} to <{LANES} x double>")
            return self._to_half(f.op(f"fmul <{LANES} x double> {whole}, {wide}"))
        kept, _ = self._toward_zero(whole)
        if self.one.result == "e8m13":
            kept = f.and_(kept, _splat(-1024, "i32"), INT)
        return f.op(f"fmul {FLOAT} {f.op(f'bitcast {INT} {kept} to {FLOAT}')}, {power}")

    def _whole(self, values: str, scale: str) -> str:
        scaled = self.f.op(f"fmul {FLOAT} {values}, {scale}")
        return self.f.op(f"fptosi {FLOAT} {scaled} to {INT}")
