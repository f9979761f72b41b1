"""mma, ldmatrix, stmatrix, movmatrix against numpy. PTX ISA 9.7.14.5.

The fragments are written here case by case, as the ISA's figures have them; the emulator has one rule for all.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dsl import emulator
from dsl.emulator.tensor_core.fragments import SHAPES

# numpy has no bf16, e4m3 and e5m2: they are their bits
NUMPY = {
    "f16": np.float16,
    "bf16": np.uint16,
    "tf32": np.float32,
    "f32": np.float32,
    "f64": np.float64,
    "s32": np.int32,
    "s8": np.int8,
    "u8": np.uint8,
    "e4m3": np.uint8,
    "e5m2": np.uint8,
}
FORMS = [(*shape, *types) for shape, rows in SHAPES.items() for types in rows if types[0] in NUMPY]


def a_of(m: int, k: int, bits: int, lane: int, i: int) -> tuple[int, int]:
    """(row, column) of element i of A. PTX ISA, the figures of each shape."""
    group, thread = lane >> 2, lane % 4
    if bits == 64:
        if m == 8:
            return group, thread
        return group + 8 * (i % 2), {4: thread, 8: thread + 4 * (i // 2), 16: thread + 4 * (i // 2)}[k]
    if bits == 32:
        row = group if i in (0, 2) else group + 8
        return row, thread if i < 2 else thread + 4
    if bits == 16:
        if k == 8:
            return (group if i < 2 else group + 8), thread * 2 + (i & 1)
        row = group if i < 2 or 4 <= i < 6 else group + 8
        return row, thread * 2 + (i & 1) + (0 if i < 4 else 8)
    if m == 8:
        return group, thread * 4 + (i & 3)
    if k == 16:
        return (group if i < 4 else group + 8), thread * 4 + (i & 3)
    row = group if i < 4 or 8 <= i < 12 else group + 8
    return row, thread * 4 + (i & 3) + (0 if i < 8 else 16)


def b_of(k: int, bits: int, lane: int, i: int) -> tuple[int, int]:
    """(row, column) of element i of B."""
    group, thread = lane >> 2, lane % 4
    if bits in (64, 32):
        return thread + 4 * i, group
    if bits == 16:
        return thread * 2 + (i & 1) + (0 if i < 2 else 8), group
    return thread * 4 + (i & 3) + (0 if i < 4 else 16), group


def c_of(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (0 if i < 2 else 8), (lane % 4) * 2 + (i & 1)


def words(matrix: np.ndarray, place, count: int) -> np.ndarray:
    """(32, words) of the registers that hold `count` elements a lane."""
    values = np.array([[matrix[place(lane, i)] for i in range(count)] for lane in range(32)], matrix.dtype)
    return np.ascontiguousarray(values).view(np.uint32)


def ptx(form: tuple, counts: tuple[int, int, int], extra: str = "") -> str:
    """Loads words, multiplies, stores words; `counts` in words."""
    m, n, k, a, b, c = form
    wide = c == "f64"
    size, kind = (8, "b64") if wide else (4, "b32")
    names = ["a", "b", "c"]
    registers = [c_ // (2 if wide else 1) for c_ in counts]
    load = []
    for name, count in zip(names, registers):
        load.append(f"mul.wide.u32 %o, %lane, {count * size}; ld.param.u64 %p, [{name}]; add.s64 %p, %p, %o;")
        load += [f"ld.global.{kind} %{name}{i}, [%p+{i * size}];" for i in range(count)]
    lists = ["{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}" for name, count in zip(names, registers)]
    d = "{" + ", ".join(f"%d{i}" for i in range(registers[2])) + "}"
    store = [f"st.global.{kind} [%p+{i * size}], %d{i};" for i in range(registers[2])]
    declared = " ".join(
        f".reg .{kind} %{name}<{count}>;" for name, count in zip([*names, "d"], [*registers, registers[2]])
    )
    return (
        ".visible .entry k(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
        f".reg .b32 %lane; .reg .b64 %o, %p; {declared}\nmov.u32 %lane, %tid.x;\n"
        + "\n".join(load)
        + f"\nmma.sync.aligned.m{m}n{n}k{k}.row.col{extra}.{c}.{a}.{b}.{c} {d}, {', '.join(lists)};\n"
        f"mul.wide.u32 %o, %lane, {registers[2] * size}; ld.param.u64 %p, [d]; add.s64 %p, %p, %o;\n"
        + "\n".join(store)
        + "\nret;\n}\n"
    )


def multiply(machine, form: tuple, a: np.ndarray, b: np.ndarray, c: np.ndarray, extra: str = "") -> np.ndarray:
    m, n, k, ab, _, acc = form
    bits = a.dtype.itemsize * 8
    per_lane = m * k // 32, k * n // 32, m * n // 32
    given_words = (
        words(a, lambda lane, i: a_of(m, k, bits, lane, i), per_lane[0]),
        words(b, lambda lane, i: b_of(k, bits, lane, i), per_lane[1]),
        words(c, c_of, per_lane[2]),
    )
    out = np.zeros_like(given_words[2])
    machine.run(
        ptx(form, tuple(w.shape[1] for w in given_words), extra), block=32, d=out, **dict(zip("abc", given_words))
    )
    values = out.view(c.dtype)
    d = np.zeros_like(c)
    for lane in range(32):
        for i in range(per_lane[2]):
            d[c_of(lane, i)] = values[lane, i]
    return d


def operands(form: tuple, seed: int) -> list[np.ndarray]:
    m, n, k, a, b, c = form
    rng = np.random.default_rng(seed)
    found = []
    for shape, kind in (((m, k), a), ((k, n), b), ((m, n), c)):
        dtype = NUMPY[kind]
        if kind in ("s8", "u8", "s32"):
            bounds = np.iinfo(dtype) if kind != "s32" else np.iinfo(np.int16)
            found.append(rng.integers(bounds.min, bounds.max, shape, endpoint=True).astype(dtype))
        elif dtype is np.uint8:
            found.append(rng.integers(0, 256, shape, dtype=np.uint8) & 0xBF)  # no infinities, no NaN
        elif kind == "bf16":
            found.append((rng.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
        else:
            found.append(rng.standard_normal(shape).astype(dtype))
    return found


def numbers(x: np.ndarray, kind: str) -> np.ndarray:
    """As float64; tf32 without the lowest 13 bits."""
    if kind == "tf32":
        x = (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    elif kind == "bf16":
        x = (x.astype(np.uint32) << 16).view(np.float32)
    elif kind == "e5m2":
        x = (x.astype(np.uint16) << 8).view(np.float16)
    elif kind == "e4m3":
        exponent, fraction = (x >> 3 & 15).astype(np.float64), (x & 7) / 8
        size = np.where(exponent == 0, 2.0**-6 * fraction, 2.0 ** (exponent - 7) * (1 + fraction))
        x = np.where(x & 0x7F == 0x7F, np.nan, np.where(x & 0x80, -size, size))
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def exact(form: tuple, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return numbers(a, form[3]) @ numbers(b, form[4]) + numbers(c, form[5])


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "m{}n{}k{}-{}-{}-{}".format(*form))
def test_mma_is_a_product(machine, form):
    a, b, c = operands(form, hash(form[:3]) & 0xFFFF)
    got, expected = multiply(machine, form, a, b, c), exact(form, a, b, c)
    if form[5] == "s32":
        assert np.array_equal(got, expected.astype(np.int64))
    else:
        bound = {"f16": 2e-3, "f32": 2e-6, "f64": 1e-14}[form[5]]
        scale = np.abs(numbers(a, form[3])) @ np.abs(numbers(b, form[4])) + np.abs(numbers(c, form[5]))
        assert (np.abs(got.astype(np.float64) - expected) <= bound * scale).all()


@pytest.mark.parametrize("saturates", [False, True])
def test_integer_sums_wrap_or_saturate(machine, saturates):
    form = (16, 8, 16, "s8", "s8", "s32")
    a, b = np.full((16, 16), 127, np.int8), np.full((16, 8), 127, np.int8)
    c = np.full((16, 8), 2**31 - 5, np.int32)
    c[8:] = -(2**31)
    got = multiply(machine, form, a, b, c, ".satfinite" * saturates)
    total = c.astype(np.int64) + 16 * 127 * 127
    expected = np.clip(total, -(2**31), 2**31 - 1) if saturates else (total + 2**31) % 2**32 - 2**31
    assert np.array_equal(got, expected)


HALVES = st.one_of(
    st.sampled_from([0x7C00, 0xFC00, 0x7E01, 0xFE00, 0, 0x8000, 1, 0x8001, 0x3FF, 0x7BFF, 0xFBFF, 0x3C00]),
    st.integers(0, 0xFFFF),
)
FLOAT_FORMS = [form for form in FORMS if form[:3] == (16, 8, 16) and form[3] in ("f16", "bf16")]


@settings(max_examples=20, deadline=None)
@given(
    row=st.lists(HALVES, min_size=16, max_size=16),
    column=st.lists(HALVES, min_size=16, max_size=16),
    start=HALVES,
    form=st.sampled_from(FLOAT_FORMS),
)
def test_nan_infinity_and_subnormals(row, column, start, form):
    """One row times one column: a NaN, infinity minus infinity and 0 * infinity give the canonical NaN."""
    from tests.emulator.conftest import Machine

    dtype, accumulator = NUMPY[form[3]], NUMPY[form[5]]
    a, b, c = np.zeros((16, 16), dtype), np.zeros((16, 8), dtype), np.zeros((16, 8), accumulator)
    a[3], b[:, 5] = np.array(row, np.uint16).view(dtype), np.array(column, np.uint16).view(dtype)
    c[3, 5] = np.array(start, np.uint16).view(np.float16).astype(accumulator)
    got, expected = multiply(Machine(), form, a, b, c)[3, 5], exact(form, a, b, c)[3, 5]
    with np.errstate(invalid="ignore"):
        scale = np.abs(numbers(a[3], form[3]) * numbers(b[:, 5], form[4])).sum() + abs(float(c[3, 5]))
    if scale >= 3e38 and np.isfinite(scale):  # partial sums may pass the greatest float
        return
    if np.isnan(expected):
        bits = got.view(np.uint16 if form[5] == "f16" else np.uint32)
        assert bits == (0x7FFF if form[5] == "f16" else 0x7FFFFFFF)
    elif np.isinf(expected):
        assert got == expected
    else:
        with np.errstate(over="ignore"):
            bounds = [np.float64(accumulator(expected + sign * (2e-6 * scale + 1e-44))) for sign in (-1, 1)]
        assert bounds[0] <= float(got) <= bounds[1]


# ** ldmatrix, stmatrix, movmatrix


def rows_kernel(instruction: str, count: int, load: bool) -> str:
    """Every lane names the row whose byte offset `offsets` has for it; 512 bytes of shared memory from `data`."""
    registers = "{" + ", ".join(f"%r{i}" for i in range(count)) + "}"
    operand = f"{registers}, [%s]" if load else f"[%s], {registers}"
    words_in = "" if load else " ".join(f"ld.global.b32 %r{i}, [%q+{4 * i}];" for i in range(count))
    words_out = " ".join(f"st.global.b32 [%q+{4 * i}], %r{i};" for i in range(count)) if load else ""
    return f"""
.visible .entry k(.param .u64 data, .param .u64 offsets, .param .u64 values)
{{
  .shared .align 16 .b8 buffer[512];
  .reg .b32 %lane, %s, %t, %w, %r<4>; .reg .b64 %p, %q, %o;
  mov.u32 %lane, %tid.x;
  mul.wide.u32 %o, %lane, 16; ld.param.u64 %p, [data]; add.s64 %p, %p, %o;
  mov.u32 %t, buffer; shl.b32 %w, %lane, 4; add.u32 %w, %w, %t;
  {" ".join(f"ld.global.b32 %s, [%p+{4 * i}]; st.shared.b32 [%w+{4 * i}], %s;" for i in range(4))}
  bar.sync 0;
  mul.wide.u32 %o, %lane, 4; ld.param.u64 %q, [offsets]; add.s64 %q, %q, %o;
  ld.global.b32 %s, [%q]; add.u32 %s, %s, %t;
  mul.wide.u32 %o, %lane, {4 * count}; ld.param.u64 %q, [values]; add.s64 %q, %q, %o;
  {words_in}
  {instruction} {operand};
  {words_out}
  bar.sync 0;
  {" ".join(f"ld.shared.b32 %s, [%w+{4 * i}]; st.global.b32 [%p+{4 * i}], %s;" for i in range(4))}
  ret;
}}
"""


def element_of(lane: int, half: int, transpose: bool) -> tuple[int, int]:
    """(row, column) of what a lane has of a matrix."""
    place = lane // 4, 2 * (lane % 4) + half
    return place[::-1] if transpose else place


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("load", [True, False])
def test_matrices_of_rows(machine, count, transpose, load):
    rng = np.random.default_rng(count)
    data = rng.integers(0, 1 << 16, (32, 8), dtype=np.uint16)
    named = rng.permutation(32).astype(np.uint32)
    offsets = named * 16
    offsets[8 * count :] = 0xFFFFFF00  # no row: never looked at
    values = rng.integers(0, 1 << 16, (32, count, 2), dtype=np.uint16)
    given_values, before = values.copy(), data.copy()
    mnemonic = f"{'ld' if load else 'st'}matrix.sync.aligned.m8n8.x{count}{'.trans' * transpose}.shared.b16"
    machine.run(rows_kernel(mnemonic, count, load), block=32, data=data, offsets=offsets, values=values)
    for lane in range(32):
        for i in range(count):
            for half in range(2):
                row, column = element_of(lane, half, transpose)
                if load:
                    assert values[lane, i, half] == before[named[8 * i + row], column]
                else:
                    assert data[named[8 * i + row], column] == given_values[lane, i, half]
    assert load or np.array_equal(data[named[8 * count :]], before[named[8 * count :]])


def test_movmatrix_transposes(machine):
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8)
    kernel = """
.visible .entry k(.param .u64 out, .param .u64 x)
{
  .reg .b32 %lane, %a, %d; .reg .b64 %p, %o;
  mov.u32 %lane, %tid.x; mul.wide.u32 %o, %lane, 4;
  ld.param.u64 %p, [x]; add.s64 %p, %p, %o; ld.global.b32 %a, [%p];
  movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;
  ld.param.u64 %p, [out]; add.s64 %p, %p, %o; st.global.b32 [%p], %d;
  ret;
}
"""
    out = np.zeros((8, 8), np.uint16)
    machine.run(kernel, block=32, out=out, x=matrix)
    assert np.array_equal(out, matrix.T)


# ** what goes wrong

PRODUCT = """
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>, %lane; .reg .pred %p;
  mov.u32 %lane, %tid.x;
  BEFORE
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6}, {%r0, %r1, %r2, %r3};
  AFTER
  ret;
}
"""


def product_fault(machine, block: int, before: str = "", after: str = "") -> emulator.Fault:
    setting = " ".join(f"mov.b32 %r{i}, 0;" for i in range(7))
    text = PRODUCT.replace("BEFORE", setting + before).replace("AFTER", after)
    with pytest.raises(emulator.Fault) as caught:
        machine.run(text, block=block, out=np.zeros(1, np.uint32))
    return caught.value


def test_lanes_that_left(machine):
    fault = product_fault(machine, 32, "setp.gt.u32 %p, %lane, 27; @%p exit;")
    assert fault.kind == "illegal"
    assert "needs all 32 lanes of the warp, but lanes 28-31 have left, or are not in the block" in str(fault)
    assert "fix: launch whole warps, and let no thread return before it" in str(fault)


def test_a_block_of_half_a_warp(machine):
    assert "lanes 16-31 have left, or are not in the block" in str(product_fault(machine, 48))


def test_lanes_that_went_elsewhere(machine):
    fault = product_fault(machine, 32, "setp.lt.u32 %p, %lane, 4; @%p bra there;", "there: bar.sync 0;")
    assert fault.kind == "deadlock"
    assert "warp 0 lanes 4-31 wait at `mma.sync" in str(fault)


@pytest.mark.parametrize("count", [1, 4])
def test_rows_are_checked(machine, count):
    data, values = np.zeros((32, 8), np.uint16), np.zeros((32, count, 2), np.uint16)
    kernel = rows_kernel(f"ldmatrix.sync.aligned.m8n8.x{count}.shared.b16", count, True)
    for offset, kind in ((504, "misaligned"), (512, "out_of_bounds")):
        offsets = np.zeros(32, np.uint32)
        offsets[5] = offset
        with pytest.raises(emulator.Fault) as caught:
            machine.run(kernel, block=32, data=data, offsets=offsets, values=values)
        assert caught.value.kind == kind and caught.value.thread == (5, 0, 0)


@pytest.mark.parametrize(
    "instruction, why",
    [
        (
            "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f32 {%r0,%r1}, {%r4, %r5}, {%r6}, {%r0, %r1, %r2, %r3};",
            "does not support this form",
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.s8.s8.f32 {%r0,%r1,%r2,%r3}, {%r4, %r5}, {%r6}, {%r0, %r1, %r2, %r3};",
            "`.s8` does not go with",
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4}, {%r6}, {%r0, %r1, %r2, %r3};",
            "operand 2 must be 2 values of .f16x2 in braces, got 1",
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.satfinite.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4, %r5}, {%r6}, "
            "{%r0,%r1,%r2,%r3};",
            "`.satfinite` does not go with",
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r1];",
            "operand 1 must be 2 registers of .b32 in braces, got 1",
        ),
    ],
)
def test_other_forms_are_refused(machine, instruction, why):
    text = PRODUCT.replace("BEFORE", instruction).replace("AFTER", "")
    with pytest.raises((emulator.PtxError, emulator.Unsupported), match=why):
        machine.run(text, block=32, out=np.zeros(1, np.uint32))
