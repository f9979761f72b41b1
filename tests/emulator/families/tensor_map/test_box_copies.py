"""Boxes of tensors copied by their maps: a numpy model of boxes, bounds, element strides and swizzles; what stops a
kernel. PTX ISA 5.5, 9.7.9.27.

Modules tested here: dsl/emulator/families/tensor_map/words.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled

DTYPES = {np.dtype(np.uint8): 0, np.dtype(np.uint16): 1, np.dtype(np.int32): 3, np.dtype(np.float16): 6,
          np.dtype(np.float32): 7, np.dtype(np.float64): 8}  # fmt: skip
SWIZZLES = {None: 0, 32: 1, 64: 2, 128: 3}

_TEMPLATE = """
.extern .shared .align 1024 .b8 smem[];
.visible .entry load(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 n, .param .u32 tx, \
.param .align 4 .b8 at[20])
{{
  .shared .align 8 .b64 bar; .reg .b32 %c<5>, %b, %s, %n, %v, %tx; .reg .b64 %m, %o, %w; .reg .pred %p;
  mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [out]; \
ld.param.u32 %n, [n]; ld.param.u32 %tx, [tx]; mov.u32 %b, bar; mov.u32 %s, smem;
  {coords}
  mbarrier.init.shared.b64 [%b], 1;
  mbarrier.arrive.expect_tx.shared.b64 %w, [%b], %tx;
  cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%m, {{{names}}}], [%b];
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;
again:
  ld.shared.b32 %v, [%s]; st.global.b32 [%o], %v; add.u32 %s, %s, 4; add.u64 %o, %o, 4; sub.u32 %n, %n, 4;
  setp.ne.u32 %p, %n, 0; @%p bra again;
  ret;
}}
.visible .entry store(.param .align 64 .b8 map[128], .param .u64 from, .param .u32 n, .param .u32 tx, \
.param .align 4 .b8 at[20])
{{
  .reg .b32 %c<5>, %s, %n, %v; .reg .b64 %m, %o; .reg .pred %p;
  mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [from]; ld.param.u32 %n, [n]; mov.u32 %s, smem;
  {coords}
again:
  ld.global.b32 %v, [%o]; st.shared.b32 [%s], %v; add.u32 %s, %s, 4; add.u64 %o, %o, 4; sub.u32 %n, %n, 4;
  setp.ne.u32 %p, %n, 0; @%p bra again;
  mov.u32 %s, smem; fence.proxy.async.shared::cta;
  cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%m, {{{names}}}], [%s];
  {waits}
  ret;
}}
"""


def ptx(rank: int, waits: str = "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;") -> str:
    """Kernels `load`, `store` and `reduce`, which adds."""
    loads = " ".join(f"ld.param.b32 %c{i}, [at+{4 * i}];" for i in range(rank))
    text = _TEMPLATE.format(rank=rank, coords=loads, names=", ".join(f"%c{i}" for i in range(rank)), waits=waits)
    store = text[text.index(".visible .entry store") :]
    for old, new in (
        (" store(", " reduce("),
        ("cp.async", "cp.reduce.async"),
        (".shared::cta.bulk", ".shared::cta.add.bulk"),
    ):
        store = store.replace(old, new, 1)
    return text + store


def map_of(tensor: np.ndarray, box, steps=None, swizzle=None, **more) -> Tiled:
    """The map of an array whose last axis is contiguous: dimension 0 is that axis."""
    steps = steps or (1,) * tensor.ndim
    return Tiled(DTYPES[tensor.dtype], tensor.ctypes.data, tensor.shape[::-1], tensor.strides[::-1][1:], tuple(box),
                 tuple(steps), swizzle=SWIZZLES[swizzle], **more)  # fmt: skip


def places(box, steps, at):
    """The tensor coordinates (dimension 0 first) of a box's elements, in the order they have in shared memory."""
    counts = [box[0], *(-(-b // s) for b, s in zip(box[1:], steps[1:]))]
    for index in itertools.product(*map(range, counts[::-1])):
        yield tuple(a + i * s for a, i, s in zip(at, index[::-1], (1, *steps[1:])))


def swizzled(raw: np.ndarray, swizzle) -> np.ndarray:
    """Bytes as a swizzle of 32, 64 or 128 bytes lays them in memory full of 0xFF, up to the next multiple of 128: chunk
    c of 16 bytes of the 128-byte line r is at chunk c ^ (r mod chunks of the swizzle)."""
    made, chunks = np.full(-(-len(raw) // 128) * 128, 255, np.uint8), (swizzle or 16) // 16
    for start in range(0, len(raw), 16):
        line, chunk = divmod(start // 16, 8)
        made[(line * 8 + (chunk ^ line % chunks)) * 16 :][:16] = raw[start : start + 16]
    return made


def box_bytes(tensor, box, steps) -> int:
    return int(np.prod([box[0], *(-(-b // s) for b, s in zip(box[1:], steps[1:]))])) * tensor.itemsize


def model_load(tensor: np.ndarray, box, steps, swizzle, at) -> np.ndarray:
    inside = [tensor[p[::-1]] if all(0 <= c < e for c, e in zip(p, tensor.shape[::-1])) else 0
              for p in places(box, steps, at)]  # fmt: skip
    return swizzled(np.array(inside, tensor.dtype).view(np.uint8), swizzle)


def words(numbers) -> bytes:
    return np.array([*numbers, 0, 0, 0, 0, 0][:5], np.int32).tobytes()


@st.composite
def boxes(draw, types=(np.uint8, np.float16, np.int32, np.float64)):
    """(tensor, box, steps, swizzle, coordinates), the box near or over the tensor's edges."""
    dtype = np.dtype(draw(st.sampled_from(types)))
    rank = draw(st.integers(1, 5))
    unit = 16 // dtype.itemsize
    swizzle = draw(st.sampled_from([None, 32, 64, 128]))
    row_chunks = draw(st.integers(1, (swizzle or 64) // 16))
    box = [unit * row_chunks, *(draw(st.integers(1, 4)) for _ in range(rank - 1))]
    steps = [1, *(draw(st.sampled_from([1, 1, 2, 3])) for _ in range(rank - 1))]
    shape = [draw(st.integers(1, 3)) * unit if rank > 1 else draw(st.integers(1, 3 * unit)),
             *(draw(st.integers(1, 6)) for _ in range(rank - 1))]  # fmt: skip
    at = [draw(st.integers(-3, 4)) * unit, *(draw(st.integers(-3, extent + 1)) for extent in shape[1:])]
    tensor = np.arange(np.prod(shape), dtype=np.int64).astype(dtype).reshape(shape[::-1])
    if dtype != np.uint8:
        tensor += dtype.type(1)
    return aligned(tensor), box, steps, swizzle, at


def aligned(tensor: np.ndarray) -> np.ndarray:
    space = np.zeros(tensor.nbytes + 64, np.uint8)
    start = -space.ctypes.data % 64
    made = space[start : start + tensor.nbytes].view(tensor.dtype).reshape(tensor.shape)
    made[...] = tensor
    return made


PROGRAMS: dict[int, emulator.Program] = {}


def launch(entry: str, tensor, described: Tiled, array, at, tx_bytes: int = 64, program=None) -> None:
    """Run the kernel that copies all of `array` from or to shared memory, whose box holds `tx_bytes`."""
    rank = len(described.extents)
    if program is None:
        head = ".version 8.0\n.target sm_90a\n.address_size 64\n"
        program = PROGRAMS.get(rank) or PROGRAMS.setdefault(rank, emulator.load(head + ptx(rank)))
    memory = emulator.Memory()
    memory.register(tensor.ctypes.data, tensor.nbytes, "tensor")
    memory.register(array.ctypes.data, array.nbytes, "array")
    params = [
        described.encode((10, 0)),
        array.ctypes.data.to_bytes(8, "little"),
        *(n.to_bytes(4, "little") for n in (array.nbytes, tx_bytes)),
        words(at),
    ]
    emulator.launch(program, entry, (1, 1, 1), (1, 1, 1), params, memory, -(-array.nbytes // 128) * 128)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(boxes())
def test_a_box_is_loaded(case):
    tensor, box, steps, swizzle, at = case
    expected = model_load(tensor, box, steps, swizzle, at)
    out = np.zeros(len(expected), np.uint8)
    launch("load", tensor, map_of(tensor, box, steps, swizzle), out, at, box_bytes(tensor, box, steps))
    np.testing.assert_array_equal(out, expected)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(boxes())
def test_a_box_is_stored(case):
    """A box that loads as x stores as x: elements inside the tensor are copied from shared memory, others stay."""
    tensor, box, steps, swizzle, at = case
    source = aligned(tensor)
    smem = model_load(source, box, steps, swizzle, at)
    target = aligned(np.full_like(tensor, 99))
    launch("store", target, map_of(target, box, steps, swizzle), smem, at)
    expected = np.full_like(tensor, 99)
    for place in places(box, steps, at):
        if all(0 <= c < e for c, e in zip(place, tensor.shape[::-1])):
            expected[place[::-1]] = tensor[place[::-1]]
    np.testing.assert_array_equal(target, expected)


def test_elements_outside_are_nan_where_asked():
    tensor = aligned(np.ones((2, 8), np.float16))
    out = np.zeros(64, np.uint8)
    launch("load", tensor, map_of(tensor, (16, 2), fill=1), out, (0, 1))
    row = out.view(np.float16).reshape(2, 16)
    assert (row[0, :8] == 1).all() and np.isnan(row[0, 8:]).all() and np.isnan(row[1]).all()
    assert (row[1].view(np.uint16) == 0x7FF7).all()


@pytest.mark.parametrize("kind", [6, 7, 8, 9, 10, 11, 12])
def test_the_filling_is_a_nan_of_every_type(kind):
    """0x7ff7 repeated, as an H100 was seen to fill; TF32 does not round it."""
    tensor = aligned(np.zeros((1, 16), np.uint8))
    size = {6: 2, 8: 8, 9: 2}.get(kind, 4)
    described = Tiled(kind, tensor.ctypes.data, (16 // size,), (), (32 // size,), (1,), fill=1)
    out = np.zeros(32, np.uint8)
    launch("load", tensor, described, out, (0,), 32)
    assert out[:16].tolist() == [0] * 16 and out[16:].view(np.uint16).tolist() == [0x7FF7] * 8


# An f32 as a map of TF32 loads it: nearest, ties away from zero; infinities stay, a NaN is the NaN of cvt.rna.
ROUNDED = [
    (0x3F800000, 0x3F800000), (0x3F800FFF, 0x3F800000), (0x3F801000, 0x3F802000), (0x3F803000, 0x3F804000),
    (0xBF801000, 0xBF802000), (0x3FFFFFFF, 0x40000000), (0x7F7FFFFF, 0x7F800000), (0x7F800000, 0x7F800000),
    (0xFF800000, 0xFF800000), (0x7F800001, 0x7FFFE000), (0xFFC00000, 0x7FFFE000), (0x00000FFF, 0), (0x80001000, 0x80002000),
]  # fmt: skip


@pytest.mark.parametrize("kind", [7, 10, 11, 12])
def test_floats_are_rounded_to_tf32_by_its_maps_alone(kind):
    bits = np.array([each for each, _ in ROUNDED], np.uint32)
    tensor, extent = aligned(bits), len(bits)
    out = np.zeros(64, np.uint8)
    launch("load", tensor, Tiled(kind, tensor.ctypes.data, (extent,), (), (16,), (1,)), out, (0,))
    expected = [after if kind >= 11 else before for before, after in ROUNDED] + [0] * (16 - extent)
    assert out.view(np.uint32).tolist() == expected
    target = aligned(np.zeros_like(bits))
    launch("store", target, Tiled(kind, target.ctypes.data, (extent,), (), (16,), (1,)), np.resize(bits, 16), (0,))
    assert target.tolist() == bits.tolist()  # on the way out nothing is rounded


@pytest.mark.parametrize("entry", ["load", "store"])
@pytest.mark.parametrize("x", [1, -4, 1001])
def test_a_box_begins_at_a_multiple_of_16_bytes(entry, x):
    tensor = aligned(np.zeros((4, 8), np.float16))
    with pytest.raises(emulator.Fault) as caught:
        launch(entry, tensor, map_of(tensor, (8, 4)), np.zeros(64, np.uint8), (x, 0))
    assert caught.value.kind == "illegal"
    assert f"the box begins {2 * x} bytes into a row of the tensor; it must begin at a multiple of 16" in str(
        caught.value
    )


def test_a_store_lands_when_the_thread_ends():
    """Without commit and wait, too: hardware reads shared memory before the block's is given away."""
    program = emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + ptx(2, waits=""))
    tensor, source = aligned(np.zeros((4, 8), np.float16)), np.arange(32, dtype=np.float16)
    launch("store", tensor, map_of(tensor, (8, 4)), source, (0, 0), program=program)
    np.testing.assert_array_equal(tensor.reshape(-1), source)


def test_a_kernel_that_expects_too_many_bytes_waits_for_ever():
    tensor = aligned(np.zeros((4, 8), np.float16))
    with pytest.raises(emulator.Fault) as caught:
        launch("load", tensor, map_of(tensor, (8, 4)), np.zeros(128, np.uint8), (0, 0), 128)
    assert caught.value.kind == "deadlock"
    assert "1 of 1 arrivals have come, and 64 bytes that were expected have not" in str(caught.value)


def test_a_missing_map_and_a_map_of_another_rank(tmp_path):
    tensor = aligned(np.zeros((4, 8), np.float16))
    described = map_of(tensor, (8, 4))

    class Blank:
        extents = described.extents

        def encode(self, capability):
            return bytes(128)

    with pytest.raises(emulator.Fault, match="there is no tensor map at this address"):
        launch("load", tensor, Blank(), np.zeros(64, np.uint8), (0, 0))
    program = emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + ptx(3))
    with pytest.raises(emulator.Fault, match="the tensor map is of 2 dimensions"):
        launch("load", tensor, described, np.zeros(64, np.uint8), (0, 0, 0), program=program)


def test_a_tensor_outside_its_allocation():
    tensor = aligned(np.zeros((4, 8), np.float16))
    described = Tiled(6, tensor.ctypes.data, (8, 400), (16,), (8, 4), (1, 1))
    launch("load", tensor, described, np.zeros(64, np.uint8), (0, 0))  # what it reads is inside
    with pytest.raises(emulator.Fault) as caught:
        launch("load", tensor, described, np.zeros(64, np.uint8), (0, 2))
    assert caught.value.kind == "out_of_bounds" and "`tensor` (64 bytes)" in str(caught.value)


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_ptxas_accepts_what_is_tested_here(ptxas, rank):
    ptxas(ptx(rank))


# The PTX ISA's figures of swizzling modes, 5.5.7: lines of 128 bytes of shared memory, as numbers of the 16-byte chunks
# in each line, counted within the line. The pattern repeats below.
SWIZZLE_FIGURES = {
    32: ["01234567", "10325476"],
    64: ["01234567", "10325476", "23016745", "32107654"],
    128: ["01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"],
}


@pytest.mark.parametrize("swizzle", SWIZZLE_FIGURES)
@pytest.mark.parametrize("entry", ["load", "store"])
def test_swizzles_agree_with_the_figures(swizzle, entry):
    """Each chunk of 16 bytes of the tensor holds its number; the box has 16 lines of 128 bytes."""
    row_chunks, lines = swizzle // 16, 16
    tensor = aligned(np.repeat(np.arange(8 * lines, dtype=np.uint8), 16).reshape(-1, swizzle))
    described = map_of(tensor, (swizzle, 8 * lines // row_chunks), swizzle=swizzle)
    figure = [8 * line + int(chunk) for line in range(lines)
              for chunk in SWIZZLE_FIGURES[swizzle][line % len(SWIZZLE_FIGURES[swizzle])]]  # fmt: skip
    if entry == "load":
        out = np.zeros(128 * lines, np.uint8)
        launch("load", tensor, described, out, (0, 0), out.nbytes)
        assert out[::16].tolist() == figure
    else:
        target = aligned(np.zeros_like(tensor))
        launch("store", target, map_of(target, described.box, swizzle=swizzle),
               np.repeat(np.array(figure, np.uint8), 16), (0, 0))  # fmt: skip
        assert target.tolist() == tensor.tolist()


def assert_bounds(entry: str, described: Tiled, touched: list[int], n_bytes: int, part: np.ndarray, at) -> None:
    """A copy between shared memory and a tensor of which `part` is allocated: a fault if an element of `touched` is
    after `part`, and no other."""
    smem = np.zeros(-(-n_bytes // 128) * 128, np.uint8)
    if max(touched, default=-1) < part.size:
        launch(entry, part, described, smem, at, n_bytes)
        return
    with pytest.raises(emulator.Fault) as caught:
        launch(entry, part, described, smem, at, n_bytes)
    assert caught.value.kind == "out_of_bounds"


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["load", "store", "reduce"]), boxes((np.float16, np.int32, np.float64)), st.integers(0, 100))
def test_a_tensor_of_which_only_a_part_is_allocated(entry, case, percent):
    tensor, box, steps, swizzle, at = case
    touched = [int(np.ravel_multi_index(p[::-1], tensor.shape)) for p in places(box, steps, at)
               if all(0 <= c < e for c, e in zip(p, tensor.shape[::-1]))]  # fmt: skip
    part = tensor.reshape(-1)[: tensor.size * percent // 100]
    assert_bounds(entry, map_of(tensor, box, steps, swizzle), touched, box_bytes(tensor, box, steps), part, at)


@pytest.mark.parametrize("entry", ["load", "store", "reduce"])
@pytest.mark.parametrize("step", [1, 2, 3, 8])
def test_a_box_touches_every_step_th_row(entry, step):
    """Each extent, box and coordinate near the edges; the rows before and after the allocation belong to nobody."""
    starts = (-9, *range(-3, 4), 2**31 - 1, -(2**31))
    for extent, box, start in itertools.product((1, 3), (1, 3, 9), starts):
        tensor = aligned(np.zeros((extent, 4), np.int32))
        rows = [row for row in range(start, start + box, step) if 0 <= row < extent]
        touched = [4 * row + column for row in rows for column in range(4)]
        for allocated in {0, rows[0] if rows else 0, rows[-1] if rows else 0, extent}:
            described = map_of(tensor, (4, box), (1, step))
            n_bytes = 16 * -(-box // step)
            part = tensor[:allocated].reshape(-1)
            assert_bounds(entry, described, touched, n_bytes, part, (0, start))


# ** narrow elements, and swizzles of larger atoms: cuda.h of CUDA 13.0, cuTensorMapEncodeTiled; PTX ISA 5.5.1, 5.5.7

NARROW = {13: (4, 16), 14: (4, 8), 15: (6, 12)}  # data type -> bits, and the bytes of data in 16 of shared memory
ROWS, COLUMNS = 6, 256


def bits_of(elements: np.ndarray, bits: int) -> np.ndarray:
    """The bytes of elements, the first in the lowest bits."""
    ones = elements[..., None] >> np.arange(bits) & 1
    return np.packbits(ones.reshape(*elements.shape[:-1], -1), axis=-1, bitorder="little")


def atoms(raw: np.ndarray, swizzle: int) -> np.ndarray:
    """Lines of 128 bytes as a swizzle mode lays them: its atoms of 16, 32 or 64 bytes are exchanged by the line's number,
    and in mode 5 the halves of 16 bytes in every second line."""
    lines = raw.reshape(-1, 128)
    size = {0: 128, 3: 16, 4: 32, 5: 32, 6: 64}[swizzle]
    made = np.empty_like(lines)
    for number, line in enumerate(lines):
        parts = line.reshape(-1, size)
        order = [each ^ number % len(parts) for each in range(len(parts))]
        made[number] = parts[order].reshape(-1)
        if swizzle == 5 and number % 2:
            made[number] = made[number].reshape(-1, 2, 8)[:, ::-1].reshape(-1)
    return made.reshape(-1)


@pytest.mark.parametrize("swizzle", [0, 3, 4])
@pytest.mark.parametrize("at", [(0, 0), (128, 1), (128, 4), (-128, 0), (256, 0)], ids=str)
@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_elements_are_loaded(dtype, at, swizzle):
    """The mbarrier hears of the bytes in global memory: as NVIDIA's `global_tx_bytes` counts them."""
    bits, data = NARROW[dtype]
    elements = np.random.default_rng(dtype).integers(0, 1 << bits, (ROWS, COLUMNS), dtype=np.uint8)
    tensor = aligned(bits_of(elements, bits))
    box = (256 if dtype == 13 else 128), 4
    described = Tiled(dtype, tensor.ctypes.data, (COLUMNS, ROWS), (tensor.strides[0],), box, (1, 1), swizzle=swizzle)
    inside = np.zeros((4, box[0]), np.uint8)
    for row, column in itertools.product(range(4), range(box[0])):
        if at[1] + row < ROWS and 0 <= at[0] + column < COLUMNS:
            inside[row, column] = elements[at[1] + row, at[0] + column]
    chunks = bits_of(inside.reshape(4, -1, 32 if dtype == 13 else 16), bits)
    assert chunks.shape[-1] == data
    expected = np.zeros((4, 8, 16), np.uint8)
    expected[..., :data] = chunks
    is_data = np.zeros((4, 8, 16), np.uint8)
    is_data[..., :data] = 1
    out = np.zeros(512, np.uint8)
    launch("load", tensor, described, out, at, 4 * 8 * data)
    where = atoms(is_data.reshape(-1), swizzle) == 1
    np.testing.assert_array_equal(out[where], atoms(expected.reshape(-1), swizzle)[where])


@pytest.mark.parametrize("swizzle", [3, 4, 5, 6])
def test_larger_atoms_of_a_swizzle(swizzle):
    tensor = aligned(np.arange(64 * 16, dtype=np.float16).reshape(16, 64))
    described = Tiled(6, tensor.ctypes.data, (64, 16), (128,), (64, 16), (1, 1), swizzle=swizzle)
    out = np.zeros(2048, np.uint8)
    launch("load", tensor, described, out, (0, 0), 2048)
    np.testing.assert_array_equal(out, atoms(tensor.view(np.uint8), swizzle))
    target = aligned(np.zeros_like(tensor))
    launch("store", target, Tiled(**{**vars(described), "address": target.ctypes.data}), out, (0, 0))
    np.testing.assert_array_equal(target, tensor)


@pytest.mark.parametrize("dtype, first, unit", [(13, 31, 16), (14, 64, 64), (15, 16, 96)])
def test_a_box_of_narrow_elements_begins_at_a_chunk(dtype, first, unit):
    tensor = aligned(np.zeros((ROWS, 256), np.uint8))
    described = Tiled(dtype, tensor.ctypes.data, (256, ROWS), (256,), (128, 1), (1, 1))
    with pytest.raises(emulator.Fault, match=f"it must begin at a multiple of {unit}"):
        launch("load", tensor, described, np.zeros(128, np.uint8), (first, 0), 64)
