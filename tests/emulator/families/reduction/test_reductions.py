"""cp.reduce.async.bulk, of bytes and of boxes: each operation and type against numpy.

Modules tested here: dsl/emulator/families/bulk/bulk_copies.cc, dsl/emulator/families/reduction/bulk_reductions.cc.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled

DTYPES = {"u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "b32": np.uint32, "b64": np.uint64,
          "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}  # fmt: skip
MAP_TYPES = {"u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
FORMS = [
    *(("add", kind) for kind in ("u32", "s32", "u64", "f16", "bf16", "f32", "f64")),
    *((op, kind) for op in ("min", "max") for kind in ("u32", "s32", "u64", "s64", "f16", "bf16")),
    ("inc", "u32"), ("dec", "u32"), *((op, kind) for op in ("and", "or", "xor") for kind in ("b32", "b64")),
]  # fmt: skip
BYTES = 128

_FILL = """
again:
  ld.global.b32 %v, [%i]; st.shared.b32 [%s], %v; add.u32 %s, %s, 4; add.u64 %i, %i, 4; add.u32 %n, %n, 4;
  setp.ne.u32 %p, %n, 128; @%p bra again;
  fence.proxy.async.shared::cta;
"""
_ENTRY = """
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 in)
{{
  .reg .b32 %s, %n, %v, %z; .reg .b64 %m, %o, %i; .reg .pred %p;
  mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %s, smem;
  mov.u32 %n, 0; mov.u32 %z, 0;
  {fill}
  mov.u32 %s, smem;
  {instruction}
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  ret;
}}
"""


def model(operation: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if operation == "inc":
        return np.where(old >= new, 0, old + 1).astype(old.dtype)
    if operation == "dec":
        return np.where((old == 0) | (old > new), new, old - 1).astype(old.dtype)
    function = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                "xor": np.bitwise_xor}[operation]  # fmt: skip
    return function(old, new)


def inputs(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng, dtype = np.random.default_rng(1), np.dtype(DTYPES[kind])
    count = BYTES // dtype.itemsize
    values = [rng.integers(0, 40, count).astype(dtype), rng.integers(0, 40, count).astype(dtype)]
    if kind[0] in "sf" or kind == "bf16":
        values = [each - np.array(20, dtype) for each in values]
    if kind[-2:] in ("16", "32", "64") and kind[0] in "fb" and kind[:2] != "b3" and kind[:2] != "b6":
        values = [each / np.array(3, dtype) for each in values]
    return values[0], values[1]


def run(instruction: str, target: np.ndarray, source: np.ndarray, form: bytes = bytes(128)) -> None:
    memory = emulator.Memory()
    for array in (target, source):
        memory.register(array.ctypes.data, array.nbytes, "array")
    params = [form, *(array.ctypes.data.to_bytes(8, "little") for array in (target, source))]
    program = emulator.load(_ENTRY.format(fill=_FILL, instruction=instruction))
    emulator.launch(program, "k", (1, 1, 1), (1, 1, 1), params, memory, smem_bytes=BYTES)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.view(np.uint8).tolist() == b.view(np.uint8).tolist()


@pytest.mark.parametrize("operation, kind", FORMS, ids=[".".join(form) for form in FORMS])
def test_bytes_in_global_memory(operation, kind):
    old, new = inputs(kind)
    expected = model(operation, old, new)
    noftz = "noftz." if operation == "add" and kind in ("f16", "bf16") else ""
    run(f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{noftz}{kind} [%o], [%s], {BYTES};", old, new)
    assert same(old, expected)


@pytest.mark.parametrize("operation, kind", FORMS, ids=[".".join(form) for form in FORMS])
def test_a_box_has_the_type_of_its_map(operation, kind):
    """Half of the box is outside the tensor: nothing is reduced there."""
    old, new = inputs(kind)
    half = len(old) // 2
    expected = np.concatenate([old[:half], model(operation, old[half:], new[:half])])
    number = MAP_TYPES[{"b32": "u32", "b64": "u64"}.get(kind, kind)]
    form = Tiled(number, old.ctypes.data, (len(old),), (), (len(old),), (1,)).encode()
    run(
        f"mov.u32 %z, {half}; cp.reduce.async.bulk.tensor.1d.global.shared::cta.{operation}.tile.bulk_group "
        "[%m, {%z}], [%s];",
        old, new, form,
    )  # fmt: skip
    assert same(old, expected)


def test_a_type_that_does_not_take_the_operation_is_refused():
    old, new = inputs("f32")
    with pytest.raises(emulator.Unsupported, match="`.f32` does not go with"):
        run(f"cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%o], [%s], {BYTES};", old, new)
    form = Tiled(7, old.ctypes.data, (32,), (), (32,), (1,)).encode()
    with pytest.raises(emulator.Fault) as raised:
        run("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile.bulk_group [%m, {%z}], [%s];", old, new, form)
    assert "there is no .min of the type of the tensor map's elements" in str(raised.value)
    assert "make the map with one of u32, b32, s32, u64, b64, s64, f16, bf16" in str(raised.value)


def test_words_of_another_block_are_signalled_there():
    """Shared memory to shared memory: the target's mbarrier counts the bytes."""
    text = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .shared .align 16 .b8 a[16]; .shared .align 16 .b8 b[16]; .shared .align 8 .b64 bar;
  .reg .b32 %a, %b, %m, %v; .reg .b64 %o, %w; .reg .pred %p;
  ld.param.u64 %o, [out]; mov.u32 %a, a; mov.u32 %b, b; mov.u32 %m, bar;
  st.shared.v4.b32 [%a], {1, 2, 3, 4}; st.shared.v4.b32 [%b], {10, 20, 30, 40};
  mbarrier.init.shared.b64 [%m], 1; mbarrier.arrive.expect_tx.shared.b64 %w, [%m], 16; fence.proxy.async.shared::cta;
  cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%b], [%a], 16, [%m];
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [%m], 0; @!%p bra wait;
  ld.shared.b32 %v, [%b+8]; st.global.b32 [%o], %v;
  ret;
}
"""
    out, memory = np.zeros(1, np.int32), emulator.Memory()
    memory.register(out.ctypes.data, 4, "out")
    params = [out.ctypes.data.to_bytes(8, "little")]
    emulator.launch(emulator.load(text), "k", (1, 1, 1), (1, 1, 1), params, memory)
    assert out[0] == 33
