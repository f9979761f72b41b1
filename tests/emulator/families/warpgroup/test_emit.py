"""wgmma against numpy: every shape, type and layout of its operands. PTX ISA 9.7.15.5.

The layouts in shared memory and the fragments are written here case by case, as the ISA's tables and figures have them.

Modules tested here: dsl/emulator/families/warpgroup/wgmma.cc.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import HEADER, Machine, use

BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1, "b1": 1}
STORED = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32, "s8": np.int8}  # the others are their bits: uint8
RESULT = {"f32": np.float32, "f16": np.float16, "s32": np.int32}
MODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
SMEM_BYTES = 64 * 1024


def descriptor(start: int, leading: int = 16, stride: int = 0, base: int = 0, mode: str = "none") -> int:
    """The 64 bits: PTX ISA, table of the matrix descriptor."""
    return (
        (start & 0x3FFFF) >> 4
        | (leading & 0x3FFFF) >> 4 << 16
        | (stride & 0x3FFFF) >> 4 << 32
        | base << 49
        | MODES[mode] << 62
    )


def words(registers: int) -> list[tuple[int, str, str]]:
    """(first, kind, registers) of the accesses for all registers of D, 16 bytes each where it goes."""
    if registers % 4:
        return [(i, ".b32", f"%d{i}") for i in range(registers)]
    return [(i, ".v4.b32", "{" + ", ".join(f"%d{i + j}" for j in range(4)) + "}") for i in range(0, registers, 4)]


def ptx(instruction: str, registers: int, a_registers: bool, d_desc: str = "", before: str = "") -> str:
    """A warpgroup that copies an image to shared memory, takes D (and A) from memory, and gives D back."""
    d = ", ".join(f"%d{i}" for i in range(registers))
    a = "{%a0, %a1, %a2, %a3}" if a_registers else "%da"
    lines = [".extern .shared .align 1024 .b8 smem[];", ".visible .entry k(.param .u64 image, .param .u64 d, .param .u64 a, .param .u64 da, .param .u64 db, ",
             ".param .u32 adds) {", f".reg .b32 %d<{registers}>, %a<4>, %t, %i, %s, %v, %n; .reg .pred %p, %q;",
             ".reg .b64 %image, %g, %w, %da, %db;",
             "ld.param.u64 %image, [image]; ld.param.u64 %da, [da]; ld.param.u64 %db, [db]; mov.u32 %t, %tid.x;",
             "ld.param.u32 %n, [adds]; setp.ne.u32 %q, %n, 0;",
             "shl.b32 %i, %t, 2; mov.u32 %s, smem;",
             "L: cvt.u64.u32 %w, %i; add.u64 %w, %image, %w; ld.global.b32 %v, [%w]; add.u32 %n, %s, %i;",
             f"st.shared.b32 [%n], %v; add.u32 %i, %i, 512; setp.lt.u32 %p, %i, {SMEM_BYTES}; @%p bra L;",
             "fence.proxy.async.shared::cta; bar.sync 0;",
             f"ld.param.u64 %g, [d]; mul.wide.u32 %w, %t, {4 * registers}; add.u64 %g, %g, %w;"]  # fmt: skip
    lines += [f"ld.global{kind} {names}, [%g+{4 * i}];" for i, kind, names in words(registers)]
    if a_registers:
        lines += ["ld.param.u64 %image, [a]; mul.wide.u32 %w, %t, 16; add.u64 %w, %image, %w;",
                  "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%w];"]  # fmt: skip
    lines += [before, "wgmma.fence.sync.aligned;", f"{instruction.format(d='{' + d + '}', a=a)};",
              "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"]  # fmt: skip
    lines += [f"st.global{kind} [%g+{4 * i}], {names};" for i, kind, names in words(registers)]
    return "\n".join([*lines, "ret; }"])


def instruction(form: tuple, extra: str = "") -> str:
    n, a, b, d = form
    k = {2: 16, 4: 8, 1: 32}[BYTES[a]] if a != "b1" else 256
    tail = ".and.popc" if a == "b1" else ""
    return f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{tail} {{d}}, {{a}}, %db, %q{extra}"


def result_place(n: int, thread: int, i: int) -> tuple[int, int]:
    """(row, column) of element i of D in a thread. PTX ISA, figure of the fragment of D."""
    warp, lane = thread // 32, thread % 32
    row = warp * 16 + lane // 4
    if (i // 2) % 2:
        row += 8
    return row, (i // 4) * 8 + (lane % 4) * 2 + (i & 1)


def a_place(nbytes: int, thread: int, i: int) -> tuple[int, int]:
    """(row, k) of element i of A in a thread's registers. PTX ISA, figures for k8, k16 and k32."""
    warp, lane = thread // 32, thread % 32
    row = warp * 16 + lane // 4
    if nbytes == 4:
        return row + 8 * (i % 2), lane % 4 + 4 * (i // 2)
    if nbytes == 2:
        return row + (8 if i in (2, 3, 6, 7) else 0), (lane % 4) * 2 + (i & 1) + (8 if i >= 4 else 0)
    return row + (8 if 4 <= i < 8 or i >= 12 else 0), (lane % 4) * 4 + (i & 3) + (16 if i >= 8 else 0)


def run(machine: Machine, form: tuple, image: np.ndarray, d: np.ndarray, descs: tuple[int, int], *, a=None, extra="",
        adds=1, before="") -> np.ndarray:  # fmt: skip
    """D (64, n) of one wgmma over an image of shared memory; `a` (64, K) where it is in registers."""
    n, kind = form[0], form[3]
    count = n // 2
    places = np.array([[result_place(n, t, i) for i in range(count)] for t in range(128)])
    rows, columns = places[..., 0], places[..., 1]
    registers = np.ascontiguousarray(d.astype(RESULT[kind])[rows, columns]).view(np.uint32)
    registers = registers.reshape(128, -1).copy()
    in_registers = np.zeros((128, 4), np.uint32)
    if a is not None:
        per = 16 // a.itemsize
        where = np.array([[a_place(a.itemsize, t, i) for i in range(per)] for t in range(128)])
        in_registers = np.ascontiguousarray(a[where[..., 0], where[..., 1]]).view(np.uint32).reshape(128, 4).copy()
    text = ptx(instruction(form, extra), registers.shape[1], a is not None, before=before)
    full = np.zeros(SMEM_BYTES, np.uint8)
    full[: image.size] = image
    machine.run(HEADER.replace("8.0", "8.4") + text, block=128, smem_bytes=SMEM_BYTES, image=full, d=registers,
                a=in_registers, da=np.uint64(descs[0]), db=np.uint64(descs[1]), adds=adds)  # fmt: skip
    result = np.zeros((64, n), RESULT[kind])
    result[rows, columns] = registers.view(RESULT[kind]).reshape(128, count)
    return result


def k_major(matrix: np.ndarray, start: int, image: np.ndarray, mode: str = "128B") -> tuple[int, int]:
    """Write (rows, K) with 32 bytes a row; returns (leading, stride). PTX ISA, canonical layouts, K-major."""
    width = {"none": 16, "32B": 32, "64B": 64, "128B": 128}[mode]
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(matrix.shape[0], 32)
    leading, stride = (128, 256) if mode == "none" else (16, 8 * width)
    for row in range(matrix.shape[0]):
        for byte in range(32):
            if mode == "none":
                at = start + row // 8 * stride + row % 8 * 16 + byte // 16 * leading + byte % 16
            else:
                at = start + row // 8 * stride + row % 8 * width + byte
                pattern = {"32B": 1, "64B": 3, "128B": 7}[mode]
                at ^= (at >> 7 & pattern) << 4
            image[at] = raw[row, byte]
    return leading, stride


def mn_major(matrix: np.ndarray, start: int, image: np.ndarray, mode: str) -> tuple[int, int]:
    """Write (rows, 16) of 2 bytes with rows fastest; returns (leading, stride). PTX ISA, canonical layouts, MN-major."""
    rows = matrix.shape[0]
    chunks = {"none": 1, "32B": 2, "64B": 4, "128B": 8}[mode]
    line = 16 * chunks
    atom = 8 * line  # 8 k of `chunks` times 8 rows
    atoms = -(-rows // (8 * chunks))
    leading, stride = (atom, 2 * atom) if mode == "none" else (2 * atom, atom)
    assert atoms * 2 * atom <= image.size - start
    for row in range(rows):
        chunk = row // 8
        for k in range(16):
            if mode == "none":
                at = start + chunk * stride + k // 8 * leading + k % 8 * 16 + row % 8 * 2
            else:
                at = (
                    start
                    + chunk // chunks * leading
                    + k // 8 * stride
                    + k % 8 * line
                    + chunk % chunks * 16
                    + row % 8 * 2
                )
                at ^= (at >> 7 & (chunks - 1)) << 4
            image[at : at + 2] = np.frombuffer(matrix[row, k].tobytes(), np.uint8)
    return leading, stride


def small(form: tuple, seed: int) -> tuple:
    """Operands of small whole numbers, as (values, stored) each: no sum of them is rounded."""
    n, a, b, d = form
    random = np.random.default_rng(seed)
    k = 256 if a == "b1" else 32 // BYTES[a]
    values = []
    for shape, kind in (((64, k), a), ((n, k), b)):
        low, high = {"b1": (0, 2), "u8": (0, 256), "s8": (-128, 128), "e5m2": (-3, 4)}.get(kind, (-6, 7))
        values.append(random.integers(low, high, shape))
    values.append(random.integers(-50, 50, (64, n)))
    return values, [stored(v, kind) for v, kind in zip(values, (a, b))]


def stored(values: np.ndarray, kind: str) -> np.ndarray:
    """Small whole numbers as a kind's bits."""
    if kind == "b1":
        return np.packbits(values.astype(np.uint8), axis=1, bitorder="little")
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "e5m2":
        return (values.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
    if kind == "e4m3":
        bits = np.abs(values / 256).astype(np.float16).view(np.uint16) >> 7
        return (bits | (values < 0) * 128).astype(np.uint8)
    return values.astype(STORED.get(kind, np.uint8))


def product(machine: Machine, form: tuple, a: np.ndarray, b: np.ndarray, d: np.ndarray) -> np.ndarray:
    """A (64, K) * B (K, N) + D of the form (m, n, k, A, B, D); arrays of bits if numpy lacks a type."""
    image = np.zeros(SMEM_BYTES, np.uint8)
    leading, stride = k_major(a, 0, image)
    k_major(np.ascontiguousarray(b.T), 16384, image)
    descs = tuple(descriptor(at, leading, stride, mode="128B") for at in (0, 16384))
    return run(machine, (form[1], *form[3:]), image, d, descs, extra=constants(form[3]))


SIZES = range(8, 257, 8)
TYPES = [("f16", "f16", "f16"), ("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
         *((a, b, d) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f16", "f32")),
         *((a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")), ("b1", "b1", "s32")]  # fmt: skip


def constants(kind: str, in_registers: bool = False) -> str:
    """The operands after scale-d of a form as it is."""
    if kind in ("s8", "u8", "b1"):
        return ""
    return ", 1, 1" + (", 0" * (2 - in_registers) if BYTES[kind] == 2 else "")


@pytest.mark.slow
@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_every_type_is_a_product(machine, types):
    """A from registers and from shared memory; N as the ISA has it, two of them for each type."""
    for seed, n in enumerate((8, 48)):
        form = (n, *types)
        (a, b, d), (of_a, of_b) = small(form, seed)
        image = np.zeros(SMEM_BYTES, np.uint8)
        leading, stride = k_major(of_a, 0, image)
        k_major(of_b, 16384, image)
        descs = tuple(descriptor(at, leading, stride, mode="128B") for at in (0, 16384))
        expected = (a @ b.T + d).astype(RESULT[types[2]])
        for in_registers in (None, of_a):
            extra = constants(types[0], in_registers is not None)
            given = run(machine, form, image, d, descs, a=in_registers, extra=extra)
            assert np.array_equal(given, expected), (form, in_registers is not None)


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_every_size_is_a_product(machine, n):
    form = (n, "bf16", "bf16", "f32")
    (a, b, d), (of_a, of_b) = small(form, n)
    given = product(machine, (64, n, 16, "bf16", "bf16", "f32"), of_a, np.ascontiguousarray(of_b.T), d)
    assert np.array_equal(given, a @ b.T + d)


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_an_accumulator_that_is_not_finite_stays(machine, value, kind):
    a, b = np.ones((64, 16), np.float16), np.full((16, 8), -1, np.float16)
    d = np.zeros((64, 8), RESULT[kind])
    d[5, 3] = value
    expected = np.full((64, 8), -16, RESULT[kind])
    expected[5, 3] = value
    assert np.array_equal(product(machine, (64, 8, 16, "f16", "f16", kind), a, b, d), expected, equal_nan=True)


INTEGER_SIZES = [n for n in SIZES if n in (8, 24) or n % 16 == 0]


@pytest.mark.parametrize("n", [24, 208, 256])
def test_integer_sizes(machine, n):
    for types in (("s8", "u8", "s32"), ("b1", "b1", "s32")):
        form = (n, *types)
        (a, b, d), (of_a, of_b) = small(form, n)
        given = product(machine, (64, n, 0, *types), of_a, np.ascontiguousarray(of_b.T), d)
        assert np.array_equal(given, a @ b.T + d)


@pytest.mark.parametrize("mode", MODES)
def test_every_swizzle(machine, mode):
    """K fastest of each width, and M and N fastest."""
    form = (72, "f16", "f16", "f32")
    (a, b, d), (of_a, of_b) = small(form, 5)
    expected = a @ b.T + d
    for transposed_a, transposed_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        image = np.zeros(SMEM_BYTES, np.uint8)
        descs = []
        for matrix, start, transposed in ((of_a, 0, transposed_a), (of_b, 32768, transposed_b)):
            place = mn_major if transposed else k_major
            descs.append(descriptor(start, *place(matrix, start, image, mode), mode=mode))
        extra = f", 1, 1, {transposed_a}, {transposed_b}"
        assert np.array_equal(run(machine, form, image, d, tuple(descs), extra=extra), expected)
    given = run(machine, form, image, d, tuple(descs), a=of_a, extra=", 1, 1, 1")
    assert np.array_equal(given, expected)


# The place of byte (row, byte of K) of a K-major operand, read off the ISA's figures of the swizzles: the first rows of
# the 16-byte chunks of each 128-byte line, numbered as they are in K; a row of the 32-byte swizzle is a quarter line.
FIGURES = {
    "128B": [(0, "01234567"), (1, "10325476"), (2, "23016745"), (3, "32107654"), (4, "45670123"), (7, "76543210")],
    "64B": [(0, "01234567"), (1, "10325476"), (2, "23016745"), (3, "32107654")],
    "32B": [(0, "01234567"), (1, "10325476")],
}


@pytest.mark.parametrize("mode", FIGURES)
def test_swizzles_agree_with_the_figures(machine, mode):
    """One chunk at a time is not zero: D names the row of B and the k that it is."""
    chunks = {"128B": 8, "64B": 4, "32B": 2}[mode]
    a = np.zeros((64, 16), np.float16)
    a[np.arange(16), np.arange(16)] = 1
    zero = np.zeros((64, 8), np.float32)
    for line, order in FIGURES[mode]:
        for position, number in enumerate(order):
            image = np.zeros(SMEM_BYTES, np.uint8)
            image[1024 + 128 * line + 16 * position :][:16] = np.arange(1, 9, dtype=np.float16).view(np.uint8)
            chunk = int(number)
            row, within = (8 * line + chunk) // chunks, (8 * line + chunk) % chunks
            start = 1024 + within // 2 * 32
            desc = descriptor(start, 16, 128 * chunks, mode=mode)
            d = run(machine, (8, "f16", "f16", "f32"), image, zero, (0, desc), a=a, extra=", 1, 1, 0")
            expected = np.zeros((64, 8))
            expected[np.arange(8) + 8 * (within % 2), row] = np.arange(1, 9)
            assert np.array_equal(d, expected), (line, position)


def address(desc: int, rows_fastest: bool, nbytes: int, row: int, k: int) -> int:
    """The place of an element, for any descriptor: the ISA's offsets, then the swizzle of the whole address."""
    start, leading, stride = ((desc >> bit & 0x3FFF) << 4 for bit in (0, 16, 32))
    base, mode = desc >> 49 & 7, desc >> 62
    chunks = {0: 1, 1: 8, 2: 4, 3: 2}[mode]
    if rows_fastest:
        chunk, in_chunk = divmod(row, 8)
        if mode == 0:
            offset = chunk * stride + k // 8 * leading + k % 8 * 16 + 2 * in_chunk
        else:
            offset = (
                chunk // chunks * leading + k // 8 * stride + k % 8 * 16 * chunks + chunk % chunks * 16 + 2 * in_chunk
            )
    else:
        chunk, in_chunk = divmod(k * nbytes, 16)
        offset = row // 8 * stride + row % 8 * 16 * chunks + chunk * (leading if mode == 0 else 16) + in_chunk
    at = start + offset
    if mode:
        at ^= ((at >> 7) - base & chunks - 1) << 4
    return at


@pytest.mark.parametrize("seed", range(12))
def test_random_descriptors(machine, seed):
    random = np.random.default_rng(seed)
    a_kind = ("f16", "tf32", "e4m3", "bf16")[seed % 4]
    d_kind = "f32"
    n = int(random.integers(1, 5)) * 8
    form = (n, a_kind, a_kind, d_kind)
    k, nbytes = 32 // BYTES[a_kind], BYTES[a_kind]
    values = random.integers(-6, 7, SMEM_BYTES // nbytes)
    image = np.ascontiguousarray(stored(values[None], a_kind)[0]).view(np.uint8).copy()
    descs, matrices, transposes = [], [], []
    for rows in (64, n):
        mode = str(random.choice(list(MODES)))
        transposed = nbytes == 2 and bool(random.integers(2))
        start, leading, stride = 16 * int(random.integers(256)), *(16 * int(random.integers(1, 128)) for _ in range(2))
        base = 0 if mode == "none" else int(random.integers(8))
        desc = descriptor(start, leading, stride, base, mode)
        places = [[address(desc, transposed, nbytes, row, each) for each in range(k)] for row in range(rows)]
        matrices.append(values[np.array(places) // nbytes])
        descs.append(desc)
        transposes.append(transposed)
    d = random.integers(-50, 50, (64, n))
    extra = ", 1, 1" + "".join(f", {int(t)}" for t in transposes) * (nbytes == 2)
    given = run(machine, form, image, d, tuple(descs), extra=extra)
    assert np.array_equal(given, matrices[0] @ matrices[1].T + d)


@pytest.mark.parametrize("seed", range(8))
def test_descriptors_out_of_shared_memory(machine, seed):
    """A fault if a chunk of an operand is after the end, and no other."""
    random = np.random.default_rng(seed)
    transposed, mode = bool(random.integers(2)), str(random.choice(list(MODES)))
    leading, stride = (16 * int(random.integers(1, 64)) for _ in range(2))
    shape = [
        [address(descriptor(0, leading, stride, 0, mode), transposed, 2, r, k) for k in (0, 8, 15)] for r in range(64)
    ]
    start = (SMEM_BYTES - max(map(max, shape))) // 1024 * 1024 + 1024 * int(random.integers(0, 2))
    desc = descriptor(start, leading, stride, 0, mode)
    last = max(address(desc, transposed, 2, row, k) & -16 for row in range(64) for k in range(16))
    d, image = np.zeros((64, 8), np.float32), np.zeros(SMEM_BYTES, np.uint8)
    arguments = machine, (8, "f16", "f16", "f32"), image, d, (desc, descriptor(0, 128, 256))
    extra = f", 1, 1, {int(transposed)}, 0"
    if last + 16 <= SMEM_BYTES:
        assert not run(*arguments, extra=extra).any()
    else:
        with pytest.raises(emulator.Fault) as caught:
            run(*arguments, extra=extra)
        assert caught.value.kind == "out_of_bounds"


@pytest.mark.parametrize("types", [t for t in TYPES if t[2] != "s32"], ids="-".join)
def test_negation_and_scale_d(machine, types):
    form = (16, *types)
    (a, b, d), (of_a, of_b) = small(form, 2)
    image = np.zeros(SMEM_BYTES, np.uint8)
    shape = k_major(of_a, 0, image)
    k_major(of_b, 16384, image)
    descs = tuple(descriptor(at, *shape, mode="128B") for at in (0, 16384))
    rest = constants(types[0])[6:]
    for extra, adds, expected in ((", -1, 1", 1, d - a @ b.T), (", 1, -1", 1, d - a @ b.T), (", -1, -1", 0, a @ b.T)):
        given = run(machine, form, image, d, descs, extra=extra + rest, adds=adds)
        assert np.array_equal(given, expected.astype(RESULT[types[2]])), extra


@pytest.mark.parametrize("tail, expected", [("", -(1 << 31) + 33), (".satfinite", (1 << 31) - 1)])
def test_integer_sums_wrap_or_saturate(machine, tail, expected):
    image = np.zeros(SMEM_BYTES, np.uint8)
    image[:32], image[16384 : 16384 + 32] = 1, 2
    descs = tuple(descriptor(at, 16, 1024, mode="128B") for at in (0, 16384))
    d = np.full((64, 8), (1 << 31) - 31, np.int64)
    form = (8, "u8", "s8", "s32")
    text = ptx(instruction(form).replace(".s32", tail + ".s32", 1), 4, False)
    registers = np.full((128, 4), (1 << 31) - 31, np.int32)
    machine.run(HEADER.replace("8.0", "8.4") + text, block=128, smem_bytes=SMEM_BYTES, image=image, d=registers,
                a=np.zeros(4, np.uint32), da=np.uint64(descs[0]), db=np.uint64(descs[1]), adds=1)  # fmt: skip
    assert registers[0, 0] == expected
    assert registers[0, 1] == d[0, 1] == (1 << 31) - 31


FORM = (8, "f16", "f16", "f32")


def fault(machine: Machine, descs=(0, 0), threads: int = 128, before: str = "") -> emulator.Fault:
    text = ptx(instruction(FORM, ", 1, 1, 0, 0"), 4, False, before=before)
    with pytest.raises(emulator.Fault) as caught:
        machine.run(text, block=threads, smem_bytes=SMEM_BYTES, image=np.zeros(SMEM_BYTES + 512, np.uint8),
                    d=np.zeros((256, 4), np.uint32), a=np.zeros(4, np.uint32), da=np.uint64(descs[0]),
                    db=np.uint64(descs[1]), adds=1)  # fmt: skip
    return caught.value


def test_operands_are_checked(machine):
    """The last rows of A lie past the end of shared memory."""
    report = fault(machine, (descriptor(SMEM_BYTES - 1024, 128, 256), 0))
    assert report.kind == "out_of_bounds" and report.thread == (0, 0, 0)
    assert "access of 16 bytes at smem+0x10000 is outside shared memory (65536 bytes, 0 static" in str(report)
    fault(machine, (0, descriptor(SMEM_BYTES - 128, 128, 256)))


def test_a_warpgroup_that_is_not_whole(machine):
    report = fault(machine, threads=96)
    assert report.kind == "illegal"
    assert "needs all 128 threads of the warpgroup, but 96 of them are in the block and have not left" in str(report)
    assert "fix: launch blocks of whole warpgroups, and let no thread return before it" in str(report)
    assert "but 127 of them" in str(fault(machine, before="setp.eq.u32 %p, %t, 77; @%p exit;"))


def test_a_warp_that_is_elsewhere(machine):
    report = fault(machine, before="setp.gt.u32 %p, %t, 95; @%p bar.sync 1, 128;")
    assert report.kind == "deadlock"
    assert re.search(
        r"warps 0-2 wait at `wgmma.mma_async.*`, PTX line \d+\n        for warp 3 \(at `@%p bar", str(report)
    )


@pytest.mark.parametrize("register, what", [("da", "the descriptor of A"), ("db", "the descriptor of B")])
def test_descriptors_are_the_same_for_all(machine, register, what):
    report = fault(machine, before=f"setp.eq.u32 %p, %t, 33; @%p add.u64 %{register}, %{register}, 1;")
    assert report.kind == "illegal" and report.thread == (33, 0, 0)
    assert f"{what} must be the same in all threads of the warpgroup, and differs from thread (0, 0, 0) here" in str(
        report
    )


def test_warpgroups_have_their_own_products(machine):
    """Two of them with other operands, at one instruction."""
    (a, b, d), (of_a, of_b) = small(FORM, 1)
    image = np.zeros(SMEM_BYTES, np.uint8)
    shape = k_major(of_a, 0, image)
    k_major(of_a[::-1], 8192, image)
    k_major(of_b, 32768, image)
    text = ptx(instruction(FORM, ", 1, 1, 0, 0"), 4, False, before="shr.u32 %n, %t, 7; cvt.u64.u32 %w, %n; "
               "mad.lo.u64 %da, %w, 512, %da;")  # fmt: skip
    registers = np.zeros((256, 4), np.float32)
    machine.run(text, block=256, smem_bytes=SMEM_BYTES, image=np.append(image, np.zeros(512, np.uint8)), d=registers,
                a=np.zeros(4, np.uint32), da=np.uint64(descriptor(0, *shape, mode="128B")),
                db=np.uint64(descriptor(32768, *shape, mode="128B")), adds=0)  # fmt: skip
    product_of = a @ b.T
    for thread in range(256):
        for i in range(4):
            row, column = result_place(8, thread % 128, i)
            assert registers[thread, i] == product_of[row if thread < 128 else 63 - row, column]


@pytest.mark.parametrize(
    "old, new, why",
    [
        ("m64n8k16", "m64n8k8", "`.m64n8k8` does not go with"),
        ("f32.f16.f16", "f32.f16.bf16", "`.bf16` does not go with"),
        ("f32.f16.f16", "satfinite.f32.f16.f16", "`.satfinite` does not go with"),
        ("m64n8k16", "m64n16k16", "operand 1 must be 8 registers of .f32 in braces, got 4"),
        (", 1, 1, 0, 0", ", 1, 1", "`wgmma` takes 7 or 8 operands, got 6"),
        (", 1, 1, 0, 0", ", 1, 2, 0, 0", "operand 6 must be 1 or -1, got 2"),
        (", 1, 1, 0, 0", ", 1, 1, 0, %t", "operand 8 must be an integer constant, got `%t`, a register of .b32"),
    ],
)
def test_other_forms_are_refused(old, new, why):
    text = ptx(instruction(FORM, ", 1, 1, 0, 0"), 4, False).replace(old, new)
    with pytest.raises((emulator.PtxError, emulator.Unsupported), match=why):
        use(HEADER + text)


def test_sparse_products_are_refused(ptxas):
    text = ptx(instruction(FORM, ", 1, 1, 0, 0"), 4, False).replace("mma_async.sync", "mma_async.sp.sync")
    text = text.replace("m64n8k16", "m64n8k32").replace(", %q, 1", ", %t, 0, %q, 1")
    ptxas(HEADER.replace("8.0", "8.2") + text)
    with pytest.raises(emulator.Unsupported, match="sparse wgmma is not emulated"):
        use(HEADER.replace("8.0", "8.2") + text)


def test_other_architectures_have_no_wgmma():
    text = ptx(instruction(FORM, ", 1, 1, 0, 0"), 4, False)
    with pytest.raises(emulator.Unsupported, match="wgmma needs Hopper: this GPU model is of ampere"):
        use(HEADER + text, gpu_model="a100")


@pytest.mark.slow
def test_nvidias_assembler_takes_the_same_forms(ptxas):
    """Each type once, A in shared memory and in registers."""
    for types in TYPES:
        for in_registers in (False, True):
            form = (48, *types)
            registers = 12 if types[2] == "f16" else 24
            text = ptx(instruction(form, constants(types[0], in_registers)), registers, in_registers)
            emulator.load(HEADER + text)
            ptxas(HEADER.replace("8.0", "8.4") + text)
