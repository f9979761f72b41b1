"""tensormap.replace: a map whose fields are replaced one by one is the map that the driver would have made."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.emit import FIELDS
from dsl.emulator.families.tensor_map.tensor_map import Tiled

# CUtensorMapDataType and the number that elemtype has for it.
TYPES = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (10, 8), (8, 9), (9, 10), (11, 11), (12, 12)]

_CONSTANTS = (
    "elemtype",
    "interleave_layout",
    "swizzle_mode",
    "swizzle_atomicity",
    "fill_mode",
)  # fields that take no register


def replaced(start: bytes, target: Tiled, space: str, elemtype: int) -> bytes:
    """The bytes of a map at `start` after a kernel has replaced every field by the field of `target`."""
    rank = len(target.extents)
    lines = [("global_address", "b64", None, target.address), ("rank", "b32", None, rank - 1),
             ("elemtype", "b32", None, elemtype), ("interleave_layout", "b32", None, 0),
             ("fill_mode", "b32", None, target.fill)]  # fmt: skip
    for i in range(rank):
        lines += [("box_dim", "b32", i, target.box[i]), ("global_dim", "b32", i, target.extents[i]),
                  ("element_stride", "b32", i, target.steps[i])]  # fmt: skip
    lines += [("global_stride", "b64", i, stride) for i, stride in enumerate(target.strides)]
    if target.swizzle > 3:
        lines += [("swizzle_mode", "b32", None, 3), ("swizzle_atomicity", "b32", None, target.swizzle - 3)]
    else:
        lines += [("swizzle_mode", "b32", None, target.swizzle)]
    fields = {name for name, *_ in lines} | {"swizzle_atomicity"}
    assert fields >= set(FIELDS) - ({"global_stride"} if rank == 1 else set())
    address = "%s" if space == "shared::cta" else "%o"
    text = "\n".join(
        f"mov.{kind} %v{kind[1:]}, {value}; tensormap.replace.tile.{name}.{space}.b1024.{kind} [{address}], "
        f"{'' if dimension is None else f'{dimension}, '}{value if name in _CONSTANTS else f'%v{kind[1:]}'};"
        for name, kind, dimension, value in lines
    )
    kernel = _KERNEL.replace("REPLACES", text).replace("WHERE", space)
    program = emulator.load(kernel.replace("sm_90a", "sm_100a") if target.swizzle > 3 else kernel)
    raw = np.zeros(256, np.uint8)
    data = raw[-raw.ctypes.data % 128 :][:128]
    data[:] = np.frombuffer(start, np.uint8)
    memory = emulator.Memory()
    memory.register(data.ctypes.data, 128, "map")
    is_shared = (space == "shared::cta").to_bytes(4, "little")
    params = [data.ctypes.data.to_bytes(8, "little"), is_shared]
    emulator.launch(program, "k", (1, 1, 1), (32, 1, 1), params, memory)
    return data.tobytes()


_KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 map, .param .u32 shared)
{
  .shared .align 128 .b8 copy[128];
  .reg .b32 %s, %v32, %x, %i, %f, %t; .reg .b64 %o, %v64, %a; .reg .pred %p, %q;
  ld.param.u64 %o, [map]; ld.param.u32 %f, [shared]; mov.u32 %s, copy; setp.ne.u32 %q, %f, 0;
  mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0; @%p bra meet;
  mov.u32 %i, 0; mov.b64 %a, %o;
again:
  ld.global.b32 %v32, [%a]; mov.u32 %x, copy; add.u32 %x, %x, %i; st.shared.b32 [%x], %v32;
  add.u64 %a, %a, 4; add.u32 %i, %i, 4; setp.ne.u32 %p, %i, 128; @%p bra again;
  REPLACES
meet:
  bar.warp.sync 0xffffffff;
  @!%q bra done;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%o], [%s], 128;
done:
  fence.proxy.tensormap::generic.acquire.gpu [%o], 128;
  ret;
}
"""


@pytest.mark.parametrize("space", ["shared::cta", "global"])
@pytest.mark.parametrize("rank", range(1, 6))
def test_every_field(space, rank):
    start = Tiled(6, 1 << 20, (64,) * rank, (4096,) * (rank - 1), (8,) * rank, (1,) * rank)
    strides = tuple(0x30_0000_0000 + 64 * i for i in range(rank - 1))
    target = Tiled(7, 1 << 21, tuple(range(100, 100 + rank)), strides, (32, 3, 4, 5, 6)[:rank], (1, 2, 3, 4, 8)[:rank],
                   swizzle=3, fill=1)  # fmt: skip
    made, wanted = replaced(start.encode(), target, space, 7), bytearray(target.encode())
    wanted[8:12] = made[8:12] if (int.from_bytes(made[8:12], "little") ^ int.from_bytes(wanted[8:12], "little")) in (
        0, 1 << 21) else wanted[8:12]  # the flag of 128 KiB and more, no field of the instruction  # fmt: skip
    assert made.hex() == bytes(wanted).hex()


@pytest.mark.parametrize("space", ["shared::cta", "global"])
def test_a_map_made_of_zeros(space):
    target = Tiled(6, 1 << 21, (100, 7), (256,), (32, 3), (1, 1), swizzle=2)
    assert replaced(bytes(128), target, space, 6).hex() == target.encode().hex()


@pytest.mark.parametrize("dtype, elemtype", TYPES)
def test_every_type(dtype, elemtype):
    start = Tiled(0, 1 << 20, (64,), (), (16,), (1,))
    target = Tiled(dtype, 1 << 20, (64,), (), (16,), (1,))
    assert replaced(start.encode(), target, "global", elemtype).hex() == target.encode().hex()


@pytest.mark.parametrize("swizzle", [4, 5, 6])
def test_the_atom_of_a_swizzle(swizzle):
    """PTX ISA, tensormap.replace: 16 bytes 0, 32 bytes 1, 32 bytes with exchanged halves 2, 64 bytes 3."""
    start = Tiled(6, 1 << 20, (64, 64), (128,), (64, 8), (1, 1), swizzle=3)
    target = dataclasses.replace(start, swizzle=swizzle)
    assert replaced(start.encode(), target, "global", 6).hex() == target.encode((10, 0)).hex()


def test_a_field_of_another_device_is_refused():
    text = _KERNEL.replace("REPLACES", "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%o], 1;")
    with pytest.raises(emulator.Unsupported, match=r"it needs \.target sm_100a"):
        emulator.launch(emulator.load(text), "k", (1, 1, 1), (32, 1, 1), [bytes(8), bytes(4)], emulator.Memory())
