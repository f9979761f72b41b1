"""wmma.load, wmma.mma, wmma.store against numpy and against mma. PTX ISA 9.7.14.4."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.matrix.test_emit import NUMPY, numbers

SHAPES = [(16, 16, 16), (8, 32, 16), (32, 8, 16)]
LAYOUTS = [*itertools.product(("row", "col"), repeat=2)]
FLOATS = [
    *((shape, "f16", d, c) for shape in SHAPES for d in ("f16", "f32") for c in ("f16", "f32")),
    *((shape, "bf16", "f32", "f32") for shape in SHAPES),
    ((16, 16, 8), "tf32", "f32", "f32"),
    ((8, 8, 4), "f64", "f64", "f64"),
]
WHOLE = [(shape, kind) for shape in SHAPES for kind in ("s8", "u8")]


def registers(shape: tuple[int, int, int], matrix: str, kind: str) -> int:
    """How many registers a fragment is, by the tables of 9.7.14.4.1."""
    m, n, k = shape
    if matrix in ("c", "d"):
        return m * n // 32 // (2 if kind == "f16" else 1)
    if kind == "f16":
        return 8
    size = {"bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}[kind]
    return max((m if matrix == "a" else n) * k * size // 32 // max(32, size), 1)


def fragment(name: str, count: int) -> str:
    return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"


def ptx(
    shape, kind, d, c, layouts, types: str, store: str, strides: dict[str, int], space: str, start: str = ""
) -> str:
    m, n, k = shape
    size = f"m{m}n{n}k{k}"
    counts = {each: registers(shape, each, {"c": c, "d": d}.get(each, kind)) for each in "abcd"}
    wide = "b64" if kind == "f64" else "b32"
    declared = "".join(f".reg .{wide} %{each}<{count}>; " for each, count in counts.items())
    pointers = "".join(f"ld.param.u64 %p{each}, [{each}]; " for each in "abcd")
    loads = ""
    for each, layout, of in (("a", layouts[0], kind), ("b", layouts[1], kind), ("c", store, c)):
        tail = f", {strides[each]}" if each in strides else ""
        name = f"wmma.load.{each}.sync.aligned.{layout}.{size}{space}.{of}"
        loads += f"{name} {fragment(each, counts[each])}, [%p{each}]{tail};\n"
    tail = f", {strides['d']}" if "d" in strides else ""
    lists = ", ".join(fragment(each, counts[each]) for each in "dabc")
    return (
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n"
        f".reg .b64 %pa, %pb, %pc, %pd; {declared}\n{pointers}\n{loads}"
        f"wmma.mma{start}.sync.aligned.{layouts[0]}.{layouts[1]}.{size}.{types} {lists};\n"
        f"wmma.store.d.sync.aligned.{store}.{size}{space}.{d} [%pd], {fragment('d', counts['d'])}{tail};\nret;\n}}\n"
    )


def stored(matrix: np.ndarray, layout: str, pad: int) -> np.ndarray:
    """As it is in memory, with `pad` more elements in each line."""
    lines = matrix if layout == "row" else matrix.T
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, pad))))


def product(machine, shape, kind, d, c, matrices, layouts=("row", "col"), store="row", pad=0, types="", start="",
            space=".global", bits: int = 0):  # fmt: skip
    """D. `bits`: of the elements of A and B, which are packed already, where they are smaller than a byte."""
    m, n, _ = shape
    a, b, start_values = matrices
    given = dict(a=a, b=b) if bits else dict(a=stored(a, layouts[0], pad), b=stored(b, layouts[1], pad))
    given["c"] = stored(start_values, store, pad)
    given["d"] = stored(np.zeros((m, n), NUMPY[d]), store, pad)
    if pad:
        given["d"][:, -pad:] = 7
    strides = {name: each.shape[1] for name, each in given.items()} if pad else {}
    text = types or (f"{d}.{c}" if kind == "f16" else f"{d}.{kind}.{kind}.{c}")
    machine.run(ptx(shape, kind, d, c, layouts, text, store, strides, space, start), block=32, **given)
    if pad:
        assert (given["d"][:, -pad:] == 7).all()
    lines = given["d"][:, : -pad or None]
    return lines if store == "row" else lines.T


def floats(kind: str, shape: tuple[int, int], rng: np.random.Generator, whole: bool) -> np.ndarray:
    values = (rng.integers(-4, 5, shape) if whole else rng.standard_normal(shape)).astype(np.float32)
    return (values.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else values.astype(NUMPY[kind])


@pytest.mark.parametrize("shape, kind, d, c", FLOATS)
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_a_product_of_whole_numbers_is_exact(machine, shape, kind, d, c, layouts):
    m, n, k = shape
    rng = np.random.default_rng(m + n)
    matrices = [floats(each, size, rng, True) for each, size in ((kind, (m, k)), (kind, (k, n)), (c, (m, n)))]
    expected = numbers(matrices[0], kind) @ numbers(matrices[1], kind) + numbers(matrices[2], c)
    for store, pad, space in (("row", 0, ""), ("col", 16, ".global")):
        got = product(machine, shape, kind, d, c, matrices, layouts, store, pad, space=space)
        np.testing.assert_array_equal(got.astype(np.float64), expected)


@pytest.mark.parametrize("shape, kind, d, c", FLOATS)
def test_a_product_of_random_numbers(machine, shape, kind, d, c):
    m, n, k = shape
    rng = np.random.default_rng(n)
    matrices = [floats(each, size, rng, False) for each, size in ((kind, (m, k)), (kind, (k, n)), (c, (m, n)))]
    a, b, start = (numbers(each, name) for each, name in zip(matrices, (kind, kind, c)))
    got = product(machine, shape, kind, d, c, matrices).astype(np.float64)
    bound = {"f16": 2e-3, "f32": 2e-6, "f64": 1e-14}[d if "f16" not in (d, c) else "f16"]
    assert (np.abs(got - (a @ b + start)) <= bound * (np.abs(a) @ np.abs(b) + np.abs(start))).all()


@pytest.mark.parametrize("shape, kind", WHOLE)
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_integers(machine, shape, kind, layouts):
    m, n, k = shape
    rng = np.random.default_rng(k + n)
    info = np.iinfo(NUMPY[kind])
    a, b = (rng.integers(info.min, info.max, size, endpoint=True).astype(NUMPY[kind]) for size in ((m, k), (k, n)))
    c = rng.integers(-(2**20), 2**20, (m, n)).astype(np.int32)
    got = product(machine, shape, kind, "s32", "s32", (a, b, c), layouts, "col", 32)
    np.testing.assert_array_equal(got, a.astype(np.int64) @ b.astype(np.int64) + c)


def test_integer_sums_saturate(machine):
    a, b = np.full((16, 16), 127, np.int8), np.full((16, 16), 127, np.int8)
    c = np.full((16, 16), 2**31 - 5, np.int32)
    types = "s32.s8.s8.s32.satfinite"
    assert (product(machine, (16, 16, 16), "s8", "s32", "s32", (a, b, c), types=types) == 2**31 - 1).all()


@pytest.mark.parametrize("kind", ["s4", "u4"])
def test_four_bits(machine, kind):
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 16, (8, 32)), rng.integers(0, 16, (32, 8))
    c = rng.integers(-1000, 1000, (8, 8)).astype(np.int32)
    packed = [np.ascontiguousarray(each[:, ::2] | each[:, 1::2] << 4, np.uint8) for each in (a, b.T)]
    got = product(machine, (8, 8, 32), kind, "s32", "s32", (*packed, c), bits=4)
    if kind == "s4":
        a, b = (np.where(each > 7, each - 16, each) for each in (a, b))
    np.testing.assert_array_equal(got, a @ b + c)


@pytest.mark.parametrize("operation", ["xor", "and"])
def test_one_bit(machine, operation):
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2, (8, 128)), rng.integers(0, 2, (128, 8))
    c = rng.integers(-1000, 1000, (8, 8)).astype(np.int32)
    halves = (np.packbits(each.astype(np.uint8), axis=1, bitorder="little") for each in (a, b.T))
    packed = [*map(np.ascontiguousarray, halves)]
    start = f".{operation}.popc"
    got = product(machine, (8, 8, 128), "b1", "s32", "s32", (*packed, c), bits=1, start=start)
    pairs = a[:, :, None] ^ b if operation == "xor" else a[:, :, None] & b
    np.testing.assert_array_equal(got, pairs.sum(1) + c)


CHANGED = """
.visible .entry k(.param .u64 a, .param .u64 d)
{
  .reg .b64 %p, %q; .reg .b32 %s, %c<8>; .shared .align 32 .b8 tile[1024];
  ld.param.u64 %p, [a]; ld.param.u64 %q, [d];
  wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [%p], 16;
  STORE
  bar.warp.sync -1;
  wmma.load.c.sync.aligned.col.m16n16k16.shared.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [tile];
  wmma.store.d.sync.aligned.row.m16n16k16.f32 [%q], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, 16;
  ret;
}
"""
STORE = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};"


def test_a_store_to_shared_memory_and_a_load_by_columns_transpose(machine):
    a, d = np.arange(256, dtype=np.float32).reshape(16, 16), np.zeros((16, 16), np.float32)
    machine.run(CHANGED.replace("STORE", STORE), block=32, a=a, d=d, checks=("race", "undefined"))
    np.testing.assert_array_equal(d, a.T)


def test_memory_that_nobody_wrote_is_a_finding(machine):
    a, d = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    with pytest.raises(Exception, match="UNDEFINED|undefined"):
        machine.run(CHANGED.replace("STORE", ""), block=32, a=a, d=d, checks=("undefined",))


def test_a_race_between_a_store_and_a_load_is_a_finding(machine):
    a, d = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    text = CHANGED.replace("STORE", STORE).replace("  bar.warp.sync -1;\n", "")
    with pytest.raises(Exception, match="(?i)race"):
        machine.run(text, block=32, a=a, d=d, checks=("race",))


def test_a_matrix_past_the_end_of_memory_is_a_fault(machine):
    a, d = np.zeros((15, 16), np.float32), np.zeros((16, 16), np.float32)
    with pytest.raises(Exception, match="(?i)out.of.bounds|outside|past"):
        machine.run(CHANGED.replace("STORE", STORE), block=32, a=a, d=d)


@pytest.mark.parametrize("text, message", [
    ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%c0, %c1, %c2, %c3}, [%p];", "8 registers in braces"),
    ("wmma.load.a.sync.aligned.row.m16n16k16.s4 {%c0}, [%p];", "the emulator does not support|no such form"),
    ("wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64 {%c0, %c1}, {%c2}, {%c3}, {%c0, %c1};", "wmma.mma"),
])  # fmt: skip
def test_other_forms_are_refused(machine, text, message):
    kernel = CHANGED.replace("STORE", text)
    a = np.zeros((16, 16), np.float32)
    with pytest.raises((emulator.PtxError, emulator.Unsupported), match=message):
        machine.run(kernel, block=32, a=a, d=a.copy())
