"""mma of 4-bit and 1-bit integers, mma.sp: against numpy. PTX ISA 9.7.14.5, 9.7.14.6.

Fragments and metadata are written here as the ISA's figures have them. Operands are whole numbers that are exact in
every type, so that the order of sums does not count.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.tensor_core.fragments import BITS, SHAPES, SPARSE_SHAPES

SMALL = [(*shape, *types) for shape, rows in SHAPES.items() for types in rows if types[0] in ("s4", "u4", "b1")]
SPARSE = [(*shape, *types) for shape, rows in SPARSE_SHAPES.items() for types in rows]
LIMITS = {"s4": (-8, 7), "u4": (0, 15), "s8": (-128, 127), "u8": (0, 255), "b1": (0, 1), "s32": (-(2**20), 2**20)}
EIGHT_BITS = {"e4m3": 3, "e5m2": 2}  # fraction bits


def whole(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    low, high = LIMITS.get(kind, (-4, 4))
    return rng.integers(low, high, shape, endpoint=True)


def encoded(value: int, kind: str) -> int:
    """The bits of a whole number of at most 4 where the type is a float."""
    if kind in ("s4", "u4", "s8", "u8", "b1", "s32"):
        return int(value) & (1 << BITS[kind]) - 1
    if kind in EIGHT_BITS:
        fraction = EIGHT_BITS[kind]
        half = int(np.float16(value).view(np.uint16))
        if fraction == 2:
            return half >> 8
        size = half & 0x7FFF
        return half >> 15 << 7 | (size >> 7) - (8 << 3 if size else 0)
    if kind == "f16":
        return int(np.float16(value).view(np.uint16))
    single = int(np.float32(value).view(np.uint32))
    return single >> 16 if kind == "bf16" else single


def registers(matrix: np.ndarray, kind: str, place, count: int) -> np.ndarray:
    """(32, words): `count` elements a lane, the first in the lowest bits."""
    bits, pack = BITS[kind], 32 // BITS[kind]
    words = np.zeros((32, count // pack), np.uint32)
    for lane in range(32):
        for i in range(count):
            words[lane, i // pack] |= np.uint32(encoded(matrix[place(lane, i)], kind) << bits * (i % pack))
    return words


def a_of(m: int, pack: int, lane: int, i: int) -> tuple[int, int]:
    """(row, column) of element i of A: eights of rows first, then the next columns."""
    group, thread, register = lane // 4, lane % 4, i // pack
    if m == 8:
        return group, thread * pack + i
    return group + 8 * (register % 2), thread * pack + i % pack + 4 * pack * (register // 2)


def b_of(pack: int, lane: int, i: int) -> tuple[int, int]:
    return (lane % 4) * pack + i % pack + 4 * pack * (i // pack), lane // 4


def c_of(lane: int, i: int) -> tuple[int, int]:
    return lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2


def run(machine, name: str, groups: list[np.ndarray], results: int, tail: str = "") -> np.ndarray:
    """(32, results) words: `name` on the registers of each group."""
    lines, lists = [], []
    for number, words in enumerate(groups):
        count = words.shape[1]
        lines.append(f"ld.param.u64 %p, [g{number}]; mul.wide.u32 %o, %lane, {4 * count}; add.u64 %p, %p, %o;")
        lines += [f"ld.global.b32 %g{number}_{i}, [%p+{4 * i}];" for i in range(count)]
        each = ", ".join(f"%g{number}_{i}" for i in range(count))
        lists.append(f"{{{each}}}" if number < 3 else each)
    declared = " ".join(
        f".reg .b32 %g{number}_{i};" for number, words in enumerate(groups) for i in range(words.shape[1])
    )
    d = ", ".join(f"%d{i}" for i in range(results))
    parameters = "".join(f", .param .u64 g{number}" for number in range(len(groups)))
    out = np.zeros((32, results), np.uint32)
    machine.run(
        f".visible .entry k(.param .u64 out{parameters})\n{{\n.reg .b32 %lane, %d<{results}>; .reg .b64 %o, %p;\n"
        f"{declared}\nmov.u32 %lane, %tid.x;\n" + "\n".join(lines) + f"\n{name} {{{d}}}, {', '.join(lists)}{tail};\n"
        f"ld.param.u64 %p, [out]; mul.wide.u32 %o, %lane, {4 * results}; add.u64 %p, %p, %o;\n"
        + "\n".join(f"st.global.b32 [%p+{4 * i}], %d{i};" for i in range(results))
        + "\nret;\n}\n",
        block=32, out=out, **{f"g{number}": np.ascontiguousarray(words) for number, words in enumerate(groups)},
    )  # fmt: skip
    return out


def product(machine, form: tuple, matrices, extra: str = "", ending: str = "", sparse: tuple | None = None):
    """D as the machine gives it; `sparse`: the variant, the metadata a lane, and the selector."""
    m, n, k, of_a, of_b, of_c = form
    a, b, c = matrices
    pack = 32 // BITS[of_a]
    halves = 2 if of_c == "f16" else 1
    groups = [
        registers(a, of_a, lambda lane, i: a_of(m, pack, lane, i), m * a.shape[1] // 32),
        registers(b, of_b, lambda lane, i: b_of(pack, lane, i), k * n // 32),
        registers(c, of_c, c_of, m * n // 32),
    ]
    variant, tail = "", ""
    if sparse:
        variant, metadata, selector = sparse
        groups.append(metadata.reshape(32, 1))
        tail = f", {selector}"
    name = f"mma{variant}.sync.aligned.m{m}n{n}k{k}.row.col{extra}.{of_c}.{of_a}.{of_b}.{of_c}{ending}"
    words = run(machine, name, groups, m * n // 32 // halves, tail)
    values = words.view({"f16": np.float16, "f32": np.float32, "s32": np.int32}[of_c])
    d = np.zeros((m, n))
    for lane in range(32):
        for i in range(m * n // 32):
            d[c_of(lane, i)] = values[lane, i]
    return d


@pytest.mark.parametrize("form", SMALL, ids=lambda form: "m{}n{}k{}-{}-{}".format(*form))
def test_small_integers(machine, form):
    m, n, k, of_a, of_b, _ = form
    rng = np.random.default_rng(k + len(of_b))
    a, b, c = whole(of_a, (m, k), rng), whole(of_b, (k, n), rng), whole("s32", (m, n), rng)
    if of_a != "b1":
        np.testing.assert_array_equal(product(machine, form, (a, b, c)), a @ b + c)
        return
    for operation, bits in (("xor", a[:, :, None] ^ b), ("and", a[:, :, None] & b)):
        got = product(machine, form, (a, b, c), ending=f".{operation}.popc")
        np.testing.assert_array_equal(got, bits.sum(1) + c)


@pytest.mark.parametrize("saturates", [False, True])
def test_sums_of_small_integers_wrap_or_saturate(machine, saturates):
    form = (16, 8, 64, "s4", "s4", "s32")
    a, b = np.full((16, 64), -8), np.full((64, 8), -8)
    c = np.full((16, 8), 2**31 - 7)
    got = product(machine, form, (a, b, c), ".satfinite" * saturates)
    assert (got == (2**31 - 1 if saturates else -(2**31) + 64 * 64 - 7)).all()


def chosen_places(of_a: str, rows: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """(rows, chunks, 2 or 1): the places that are not zero in each chunk, in order. 4-bit ones are places of pairs."""
    if of_a == "tf32":
        return rng.integers(0, 2, (rows, columns // 2, 1))
    chunks = columns // (8 if of_a in ("s4", "u4") else 4)
    return np.array([[sorted(rng.permutation(4)[:2]) for _ in range(chunks)] for _ in range(rows)])


def compressed(a: np.ndarray, places: np.ndarray, of_a: str) -> tuple[np.ndarray, np.ndarray]:
    """A with zeros elsewhere, and the elements that are left of it."""
    run_of = 2 if of_a in ("s4", "u4") else 1
    chunk = a.shape[1] // places.shape[1]
    keep = np.zeros(a.shape, bool)
    for row, chunks in enumerate(places):
        for number, each in enumerate(chunks):
            for place in each:
                start = number * chunk + place * run_of
                keep[row, start : start + run_of] = True
    return np.where(keep, a, 0), a[keep].reshape(a.shape[0], -1)


def metadata_of(places: np.ndarray, of_a: str, selector: int, rng: np.random.Generator) -> np.ndarray:
    """A word a lane. The words of lanes that the selector does not name are noise. Figures of PTX ISA 9.7.14.6.2."""
    words = rng.integers(0, 2**32, 32, dtype=np.uint32)
    rows = []
    for chunks in places:
        bits = [0b0100 + 0b1010 * int(each[0]) if of_a == "tf32" else int(each[0] | each[1] << 2) for each in chunks]
        rows.append(sum(each << 4 * number for number, each in enumerate(bits)))
    size = 16 if BITS[of_a] >= 16 else 32  # of a row's part in a word
    parts = 4 * places.shape[1] // size
    for group in range(8):
        low, high = rows[group], rows[group + 8]
        for part in range(parts):
            first, second = (each >> size * part & (1 << size) - 1 for each in (low, high))
            if size == 16:
                words[4 * group + parts * selector + part] = first | second << 16
            else:
                lane = 4 * group + 2 * parts * selector + 2 * part
                words[lane], words[lane + 1] = first, second
    return words


@pytest.mark.parametrize("variant", [".sp", ".sp::ordered_metadata"])
@pytest.mark.parametrize("form", SPARSE, ids=lambda form: "m{}n{}k{}-{}-{}-{}".format(*form))
def test_sparse_products(machine, form, variant):
    m, n, k, of_a, of_b, of_c = form
    count = {"f16": 16, "bf16": 16, "tf32": 8, "s8": 32, "u8": 32, "e4m3": 32, "e5m2": 32, "s4": 64, "u4": 64}[of_a]
    lanes = k // count if BITS[of_a] >= 16 else 2 * k // count
    for selector in range(4 // lanes):
        rng = np.random.default_rng(selector + k)
        places = chosen_places(of_a, m, k, rng)
        a, left = compressed(whole(of_a, (m, k), rng), places, of_a)
        b, c = whole(of_b, (k, n), rng), whole(of_c, (m, n), rng)
        sparse = variant, metadata_of(places, of_a, selector, rng), selector
        np.testing.assert_array_equal(product(machine, form, (left, b, c), sparse=sparse), a @ b + c)


def test_sparse_sums_saturate(machine):
    form = (16, 8, 64, "s8", "s8", "s32")
    rng = np.random.default_rng(1)
    places = chosen_places("s8", 16, 64, rng)
    _, left = compressed(np.full((16, 64), 127), places, "s8")
    sparse = ".sp", metadata_of(places, "s8", 0, rng), 0
    matrices = left, np.full((64, 8), 127), np.full((16, 8), 2**31 - 9)
    assert (product(machine, form, matrices, ".satfinite", sparse=sparse) == 2**31 - 1).all()


def test_a_selector_that_the_shape_does_not_have_is_refused(machine):
    form = (16, 8, 32, "f16", "f16", "f32")
    matrices = np.ones((16, 16), int), np.ones((32, 8), int), np.ones((16, 8), int)
    with pytest.raises(emulator.PtxError, match="operand 6 must be 0 or 1, got 2"):
        product(machine, form, matrices, sparse=(".sp", np.zeros(32, np.uint32), 2))
