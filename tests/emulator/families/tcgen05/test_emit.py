"""tcgen05.ld and tcgen05.st: which register of which lane is which cell of tensor memory.

The table of cells is written from the figures of PTX ISA 9.0, section 9.7.16.2.3. C++ tested here: tensor_memory.cc.

Modules tested here: dsl/emulator/families/tcgen05/kept.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.conftest import HEADER_100, Machine

COLUMNS, LANES, WARP = 512, 128, 32
# registers of a lane for .x1, and (row, column) of register r of lane l
SHAPES = {
    "32x32b": (1, lambda l, r, split: (l, r)),
    "16x64b": (1, lambda l, r, split: (l // 4 + l % 2 * 8, l // 2 % 2 + 2 * r)),
    "16x128b": (2, lambda l, r, split: (l // 4 + r % 2 * 8, l % 4 + r // 2 * 4)),
    "16x256b": (4, lambda l, r, split: (l // 4 + r // 2 % 2 * 8, l % 4 * 2 + r % 2 + r // 4 * 8)),
    "16x32bx2": (1, lambda l, r, split: (l % 16, r + l // 16 * split)),
}  # fmt: skip
SPLITS = (1, 3, 40, 128, 16, 32, 100, 128)  # columns from the first half to the second of 16x32bx2, for each count


def accesses(shape: str, packs: bool) -> list[tuple[int, int, int, int]]:
    """(registers, lane, column, split) of each access: every count, from both halves of a quarter, largest first."""
    each, found = SHAPES[shape][0], []
    for log in reversed(range(8)):
        registers = each << log
        splits = SPLITS[log] if shape == "16x32bx2" else 0
        columns = cells(shape, registers, splits, packs)[1].max() + 2
        for lane in (0,) if shape == "32x32b" else (0, 16):
            column = min(5 * log + lane // 2, COLUMNS - columns)
            if registers <= LANES:
                found.append((registers, lane, column, splits))
    return found


def cells(shape: str, registers: int, split: int, packs: bool) -> tuple[np.ndarray, np.ndarray]:
    """The row and the first column of each register, (lane, register)."""
    lane, register = np.mgrid[:WARP, :registers]
    row, column = SHAPES[shape][1](lane, register, split)
    return row, column * (2 if packs else 1)


def ptx(shape: str, packs: bool, stores: bool) -> str:
    """All accesses, one after another, by each of four warps; `words` has the registers of each, (register, thread)."""
    lines, offset = [], 0
    suffix = (".unpack::16b" if stores else ".pack::16b") * packs
    for registers, lane, column, split in accesses(shape, packs):
        vector = "{" + ", ".join(f"%r{i}" for i in range(registers)) + "}"
        count = registers // SHAPES[shape][0]
        name = f"tcgen05.{'st' if stores else 'ld'}.sync.aligned.{shape}.x{count}{suffix}.b32"
        half = f", {split}" if shape == "16x32bx2" else ""
        places = [f"[%words+{offset + 4 * LANES * i}]" for i in range(registers)]
        lines.append(f"add.u32 %a, %lane, {lane << 16 | column};")
        if stores:
            lines += [f"ld.global.b32 %r{i}, {place};" for i, place in enumerate(places)]
            lines += [f"{name} [%a]{half}, {vector};", "tcgen05.wait::st.sync.aligned;"]
        else:
            lines += [f"{name} {vector}, [%a]{half};", "tcgen05.wait::ld.sync.aligned;"]
            lines += [f"st.global.b32 {place}, %r{i};" for i, place in enumerate(places)]
        offset += 4 * LANES * registers
    return KERNEL.replace("ACCESSES", "\n".join(lines))


KERNEL = f"""{HEADER_100}
.visible .entry k(.param .u64 cells, .param .u64 words) {{
.shared .b32 address; .reg .b64 %cells, %words, %g; .reg .b32 %r<128>, %a, %lane, %t, %w, %c, %d; .reg .pred %p, %first;
ld.param.u64 %cells, [cells]; ld.param.u64 %words, [words];
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; setp.eq.u32 %first, %w, 0;
@!%first bra READY;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], {COLUMNS};
READY: bar.sync 0; ld.shared.b32 %d, [address]; shl.b32 %lane, %w, 21; add.u32 %lane, %lane, %d;
mul.wide.u32 %g, %t, 4; add.u64 %words, %words, %g; mul.wide.u32 %g, %t, {4 * COLUMNS}; add.u64 %cells, %cells, %g;
mov.u32 %c, 0;
S: mul.wide.u32 %g, %c, 4; add.u64 %g, %cells, %g; ld.global.b32 %r0, [%g]; add.u32 %a, %lane, %c;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%a], {{%r0}}; add.u32 %c, %c, 1; setp.lt.u32 %p, %c, {COLUMNS}; @%p bra S;
tcgen05.wait::st.sync.aligned;
ACCESSES
mov.u32 %c, 0;
R: add.u32 %a, %lane, %c; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r0}}, [%a]; tcgen05.wait::ld.sync.aligned;
mul.wide.u32 %g, %c, 4; add.u64 %g, %cells, %g; st.global.b32 [%g], %r0;
add.u32 %c, %c, 1; setp.lt.u32 %p, %c, {COLUMNS}; @%p bra R;
bar.sync 0; @!%first bra END; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, {COLUMNS};
END: ret; }}
"""


def run(shape: str, packs: bool, stores: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tensor memory before and after, and the words of all accesses (register, thread)."""
    stream = np.random.default_rng([len(shape), packs, stores])
    before = stream.integers(0, 1 << 32, (LANES, COLUMNS), np.uint32)
    count = sum(each[0] for each in accesses(shape, packs))
    words = stream.integers(0, 1 << 32, (count, LANES), np.uint32)
    after = before.copy()
    Machine("b200").run(ptx(shape, packs, stores), block=LANES, cells=after, words=words)
    return before, after, words


def places(shape: str, packs: bool):
    """(first register, the cells of its access (thread, register)) of each access, for all four warps."""
    start = 0
    for registers, lane, column, split in accesses(shape, packs):
        row, across = cells(shape, registers, split, packs)
        rows = np.concatenate([WARP * warp + lane + row for warp in range(4)])
        yield slice(start, start + registers), rows, column + np.concatenate([across] * 4)
        start += registers


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_loads(shape, packs):
    before, after, words = run(shape, packs, stores=False)
    assert np.array_equal(before, after)
    for registers, row, column in places(shape, packs):
        expected = before[row, column]
        if packs:
            expected = expected & 0xFFFF | before[row, column + 1] << 16
        assert np.array_equal(words[registers].T, expected), (shape, registers)


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_stores(shape, packs):
    expected, after, words = run(shape, packs, stores=True)
    for registers, row, column in places(shape, packs):
        values = words[registers].T
        expected[row, column] = values & 0xFFFF if packs else values
        if packs:
            expected[row, column + 1] = values >> 16
    assert np.array_equal(after, expected)


FLOATS = [f"{each}{more}.f32" for each in ("min", "max") for more in ("", ".abs", ".NaN", ".abs.NaN")]
INTEGERS = [f"{each}.{kind}" for each in ("min", "max") for kind in ("u32", "s32")]


def reductions(shape: str, operations: list[str]) -> tuple[str, list[tuple[int, str]]]:
    """A kernel with a reduction of each count and operation, and these; `words` has the results, a row each, and after
    them the sum of the registers."""
    forms = [(2 << log, operation) for log in range(7) for operation in operations]
    lines = ["add.u32 %a, %lane, 0;"]
    for i, (count, operation) in enumerate(forms):
        registers = [f"%r{j}" for j in range(count)]
        half = f", {count}" if shape == "16x32bx2" else ""
        lines += [
            f"tcgen05.ld.red.sync.aligned.{shape}.x{count}.{operation} {{{', '.join(registers)}}}, %t, [%a]{half};"
        ]
        lines += ["tcgen05.wait::ld.sync.aligned;", f"st.global.b32 [%words+{8 * LANES * i}], %t;"]
        lines += [f"xor.b32 %r0, %r0, {each};" for each in registers[1:]]
        lines += [f"st.global.b32 [%words+{8 * LANES * i + 4 * LANES}], %r0;"]
    return KERNEL.replace("ACCESSES", "\n".join(lines)).replace("sm_100a", "sm_103a"), forms


def special_floats(stream: np.random.Generator) -> np.ndarray:
    """Some lanes have a NaN among numbers, some nothing else, some zeros of both signs."""
    cells = stream.standard_normal((LANES, COLUMNS)).astype(np.float32)
    cells[::4, ::3] = np.nan
    cells[1::4] = np.nan
    cells[2::8] = stream.choice(np.array([0.0, -0.0], np.float32), (LANES // 8, COLUMNS))
    return cells.view(np.uint32)


def reduced(cells: np.ndarray, operation: str) -> np.ndarray:
    """The result of each lane's columns, as bits, by the definition of min and max in PTX ISA 9.7.3.11."""
    name, *more, kind = operation.split(".")
    if kind != "f32":
        return getattr(np, name)(cells.view(np.int32 if kind == "s32" else np.uint32), axis=1).view(np.uint32)
    bits = cells & 0x7FFFFFFF if "abs" in more else cells
    numbers = bits.view(np.float32)
    ordered = np.where(bits >> 31, ~bits, bits | 0x80000000)  # -0 is less than +0
    is_nan = np.isnan(numbers)
    ordered = np.where(is_nan, 0xFFFFFFFF if name == "min" else 0, ordered)
    found = getattr(np, name)(ordered, axis=1)
    found = np.where(found >> 31, found & 0x7FFFFFFF, ~found)
    nan = is_nan.any(1) if "NaN" in more else is_nan.all(1)
    return np.where(nan, 0x7FFFFFFF, found).astype(np.uint32)


@pytest.mark.parametrize("operations", [FLOATS[:4], FLOATS[4:], INTEGERS])
@pytest.mark.parametrize("shape", ["32x32b", "16x32bx2"])
def test_loads_with_a_reduction(shape, operations):
    stream = np.random.default_rng(len(shape))
    text, forms = reductions(shape, operations)
    cells = (
        special_floats(stream)
        if operations is not INTEGERS
        else stream.integers(0, 1 << 32, (LANES, COLUMNS), np.uint32)
    )
    words = np.zeros((len(forms), 2, LANES), np.uint32)
    Machine("b300").run(text, block=LANES, cells=cells.copy(), words=words)
    thread = np.arange(LANES)
    row, first = thread, 0 * thread
    if shape == "16x32bx2":
        row, first = thread // WARP * WARP + thread % 16, thread % WARP // 16
    for (count, operation), (found, together) in zip(forms, words, strict=True):
        loaded = cells[row[:, None], (first * count)[:, None] + np.arange(count)]
        assert np.array_equal(found, reduced(loaded, operation)), (count, operation)
        assert np.array_equal(together, np.bitwise_xor.reduce(loaded, axis=1)), (count, operation)


@pytest.mark.parametrize("stores", [False, True])
def test_ptxas_takes_the_program(ptxas, stores):
    for shape in SHAPES:
        for packs in (False, True):
            ptxas(ptx(shape, packs, stores), "sm_100a")
