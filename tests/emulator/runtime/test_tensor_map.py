"""Boxes of tensors copied by their maps: a numpy model of boxes, bounds, element strides and swizzles; what a driver
refuses; what stops a kernel. PTX ISA 5.5, 9.7.9.27; CUDA driver API, cuTensorMapEncodeTiled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import emulator
from dsl.emulator.runtime.tensor_map import BadTensorMap, Tiled

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
    loads = " ".join(f"ld.param.b32 %c{i}, [at+{4 * i}];" for i in range(rank))
    return _TEMPLATE.format(rank=rank, coords=loads, names=", ".join(f"%c{i}" for i in range(rank)), waits=waits)


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
def boxes(draw):
    """(tensor, box, steps, swizzle, coordinates), the box near or over the tensor's edges."""
    dtype = np.dtype(draw(st.sampled_from([np.uint8, np.float16, np.int32, np.float64])))
    rank = draw(st.integers(1, 5))
    unit = 16 // dtype.itemsize
    swizzle = draw(st.sampled_from([None, 32, 64, 128]))
    row_chunks = draw(st.integers(1, (swizzle or 64) // 16))
    box = [unit * row_chunks, *(draw(st.integers(1, 4)) for _ in range(rank - 1))]
    steps = [1, *(draw(st.sampled_from([1, 1, 2, 3])) for _ in range(rank - 1))]
    shape = [draw(st.integers(1, 3)) * unit if rank > 1 else draw(st.integers(1, 3 * unit)),
             *(draw(st.integers(1, 6)) for _ in range(rank - 1))]  # fmt: skip
    at = [draw(st.integers(-3, extent + 1)) for extent in shape]
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
        described.encode(),
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
    """What loads as x stores as x: the elements inside the tensor become those of shared memory, the others stay."""
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


def test_a_store_lands_when_the_thread_ends():
    """Without commit and wait, too: hardware reads shared memory before the block's is given away."""
    program = emulator.load(".version 8.0\n.target sm_90a\n.address_size 64\n" + ptx(2, waits=""))
    tensor, source = aligned(np.zeros((4, 8), np.float16)), np.arange(32, dtype=np.float16)
    launch("store", tensor, map_of(tensor, (8, 4)), source, (0, 0), program=program)
    np.testing.assert_array_equal(tensor.reshape(-1), source)


GOOD = Tiled(6, 4096, (64, 64), (128,), (64, 8), (1, 1))
BAD = [
    ({"address": 4104}, "its address must be a multiple of 16 bytes, got 0x1008"),
    ({"strides": (130,)}, "the stride of dimension 1 is 130 bytes; it has to be a multiple of 16 below 2**40"),
    ({"box": (64, 257)}, "extent 1 of the box must be 1 to 256, got 257"),
    ({"box": (4, 8)}, "a row of the box has 8 bytes; it has to be a multiple of 16"),
    ({"box": (128, 8), "swizzle": 3}, "a row of the box has 256 bytes, but a swizzle of 128 bytes takes at most 128"),
    ({"steps": (1, 9)}, "element stride 1 must be 1 to 8, got 9"),
    ({"extents": (0, 64)}, "extent 0 must be 1 to 2**32, got 0"),
    ({"dtype": 13}, "a tensor map of data type 13 needs compute capability 10.0; this device has 9.0"),
    ({"interleave": 1}, "an interleaved tensor has 3 to 5 dimensions, got 2"),
    ({"swizzle": 4}, "a swizzle of mode 4 needs compute capability 10.0; this device has 9.0"),
    ({"dtype": 1, "fill": 1}, "only elements of a floating-point type are filled with NaN"),
]


@pytest.mark.parametrize("change, text", BAD, ids=[text[:30] for _, text in BAD])
def test_what_the_driver_refuses(change, text):
    with pytest.raises(BadTensorMap) as caught:
        Tiled(**{**vars_of(GOOD), **change}).encode()
    assert str(caught.value) == text


def vars_of(tiled: Tiled) -> dict:
    return {name: getattr(tiled, name) for name in tiled.__dataclass_fields__}


def test_a_kernel_that_expects_too_many_bytes_waits_for_ever():
    tensor = aligned(np.zeros((4, 8), np.float16))
    with pytest.raises(emulator.Fault) as caught:
        launch("load", tensor, map_of(tensor, (8, 4)), np.zeros(128, np.uint8), (0, 0), 128)
    assert caught.value.kind == "deadlock"
    assert "1 of 1 arrivals have come, and 64 bytes that were expected have not" in str(caught.value)


def test_what_is_no_tensor_map(tmp_path):
    tensor = aligned(np.zeros((4, 8), np.float16))
    described = map_of(tensor, (8, 4))

    class Blank:
        extents = described.extents

        def encode(self):
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


# (dtype, extents, strides, box, swizzle) and words 2 to 14 of what a host function by NVIDIA's compiler (4.8.1) wrote.
SEEN = [
    ((0, (512, 256), (512,), (32, 64), 0), "240012 20 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((1, (512, 256), (1024,), (32, 64), 0), "240092 40 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((2, (512, 256), (2048,), (32, 64), 0), "240112 80 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((4, (512, 256), (4096,), (32, 64), 0), "240212 100 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((6, (512, 256), (1024,), (32, 64), 0), "240312 40 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((7, (512, 256), (2048,), (32, 64), 0), "240392 80 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((8, (512, 256), (4096,), (32, 64), 0), "240492 100 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((9, (512, 256), (1024,), (32, 64), 0), "240512 40 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((11, (512, 256), (2048,), (32, 64), 0), "250392 80 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((6, (512, 256), (1024,), (16, 1), 1), "242312 40 0 0 0 0 1ff ff 0 0 0 f000000 0"),
    ((6, (512, 256), (1024,), (32, 1), 2), "244312 40 0 0 0 0 1ff ff 0 0 0 1f000000 0"),
    ((6, (512, 256), (1024,), (64, 64), 3), "246312 40 0 0 0 0 1ff ff 0 0 0 3f000000 3f"),
    ((6, (64, 96), (128,), (8, 16), 0), "40312 8 0 0 0 0 3f 5f 0 0 0 7000000 f"),
    ((6, (64,), (), (32,), 0), "40302 0 0 0 0 0 3f 0 0 0 0 1f000000 0"),
    ((6, (64, 16, 8), (128, 2048), (16, 4, 2), 0), "40322 8 80 0 0 0 3f f 7 0 0 f000000 103"),
    ((6, (64, 16, 8, 3), (128, 2048, 16384), (16, 4, 2, 1), 0), "40332 8 80 400 0 0 3f f 7 2 0 f000000 103"),
    ((6, (504, 250), (1008,), (256, 8), 0), "240312 3f 0 0 0 0 1f7 f9 0 0 0 ff000000 7"),
]


@pytest.mark.parametrize("described, words", SEEN, ids=range(len(SEEN)))
def test_a_map_is_what_nvidias_compiler_writes(described, words):
    dtype, extents, strides, box, swizzle = described
    made = Tiled(dtype, 0x7F0DB86E0040, extents, strides, box, (1,) * len(extents), swizzle=swizzle).encode()
    expected = [0xB86E0040, 0x7F0D, *(int(word, 16) for word in words.split()), 0]
    assert np.frombuffer(made, np.uint32)[:16].tolist() == expected and len(made) == 128
