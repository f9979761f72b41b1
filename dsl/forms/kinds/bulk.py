"""Forms of bulk copies: runs of bytes, boxes of a tensor and columns of pixels, reductions. PTX ISA 9.7.9.25, 9.7.9.27.

A block has 2048 bytes of each array, 16 a thread. A tensor's last dimension counts blocks, so that one block alone is
a case; boxes begin before the tensor and end after it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dsl.emulator.families.tensor_map.tensor_map import TYPES, Im2col, Tiled
from dsl.forms.form import BLOCK, Form, element
from dsl.forms.kinds.block import BAR
from dsl.forms.kinds.memory import wide
from dsl.forms.operands import COUNT, operands

BLOCKS = COUNT // BLOCK
CASE_BYTES = 16 * BLOCK
BOX = f".shared .align 1024 .b8 box[{CASE_BYTES}];\n{BAR}\n.reg .b32 %c, %s;"
U8, U16, U32, F16, F32, F64, BF16, TF32 = 0, 1, 2, 6, 7, 8, 9, 11
_NAMES = {U8: "u8", U16: "u16", U32: "u32", F16: "f16", F32: "f32", F64: "f64", BF16: "bf16", TF32: "tf32"}
# The part of the tensor that a block has, the box, and where it begins, by rank.
TENSORS = {
    1: ((512,), (128,), ()), 2: ((512,), (128,), (440,)), 3: ((32, 16), (16, 8), (24, -1)),
    4: ((16, 8, 4), (8, 4, 4), (12, 6, -1)), 5: ((16, 4, 4, 2), (16, 4, 2, 1), (-4, 2, 3, 1)),
}  # fmt: skip
_FILL = (
    "mov.u32 %u, box;\nmad.lo.u32 %s, %w, 16, %u;\nst.shared.v4.b32 [%s], {%a0, %a1, %a2, %a3};\n"
    "fence.proxy.async;\nbar.sync 0;\nmov.u32 %c, %ctaid.x;\nsetp.eq.u32 %q, %w, 0;\n"
)
_COMMIT = "@%q cp.async.bulk.commit_group;\n@%q cp.async.bulk.wait_group 0;"


def _begin(nbytes: int) -> str:
    return (
        "mov.u32 %n, bar;\nmov.u32 %u, box;\nmad.lo.u32 %s, %w, 16, %u;\nst.shared.v4.b32 [%s], {-1, -1, -1, -1};\n"
        "setp.eq.u32 %q, %w, 0;\nmov.u32 %c, %ctaid.x;\n@%q mbarrier.init.shared.b64 [%n], 1;\nfence.proxy.async;\n"
        f"bar.sync 0;\n@%q mbarrier.arrive.expect_tx.shared.b64 %v, [%n], {nbytes};\n"
    )


_TAKE = (
    "\nagain:\nmbarrier.try_wait.parity.shared.b64 %p, [%n], 0;\n@!%p bra again;\n"
    "ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%s];"
)


def _loads(name: str, copy: str, nbytes: int, maps: tuple = ()) -> Form:
    text = f"{_begin(nbytes)}{copy}{_TAKE}"
    return Form(name, text, (wide(),), ("u4",) * 4, BLOCK, declarations=BOX, maps=maps)


def _stores(name: str, copy: str, first: str = "", count: int = 4, maps: tuple = (), arrays=()) -> Form:
    text = f"{first}{_FILL}{copy}{_COMMIT}"
    arrays = tuple(arrays) or operands("b32", count)
    return Form(name, text, arrays, ("V16",), BLOCK, declarations=BOX, maps=maps)


def runs() -> Iterator[Form]:
    """9.7.9.25.4: runs of bytes, into and out of shared memory."""
    mine = "mul.wide.u32 %off, %c, 2048;\nadd.u64 %base, %base, %off;\n"
    source = f"ld.param.u64 %base, [p_a0];\n{mine}"
    for space in ("shared::cluster", "shared::cta"):
        name = f"cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes"
        copy = f"{source}@%q {name} [%u], [%base+32], 1024, [%n];\n@%q {name} [%u+1024], [%base+1040], 512, [%n];"
        yield _loads(name, copy, 1536)
    name = "cp.async.bulk.prefetch.L2.global"
    yield Form(name, f"{element('a0', 4)}\nsetp.eq.u32 %q, %w, 0;\n@%q {name} [%base], 512;\nmov.b32 %d0, %a0;",
               operands("b32", 1), ("u4",), BLOCK)  # fmt: skip
    target = f"ld.param.u64 %base, [p_d0];\n{mine}"
    name = "cp.async.bulk.global.shared::cta.bulk_group"
    yield _stores(name, f"{target}@%q {name} [%base+16], [%u], 1024;\n@%q {name} [%base+1536], [%u+1536], 256;\n")
    name = "cp.async.bulk.wait_group.read"
    wait = f"@%q cp.async.bulk.commit_group;\n@%q {name} 0;\n"
    yield _stores(name, f"{target}@%q cp.async.bulk.global.shared::cta.bulk_group [%base], [%u], 2048;\n{wait}")
    first = f"{element('d0', 16)}\nst.global.v4.b32 [%base], {{%a4, %a5, %a6, %a7}};\n"
    for operation, kinds in (
        ("add", "u32 s32 u64 f16 bf16 f32 f64"), ("min", "u32 s32 u64 s64 f16 bf16"),
        ("max", "u32 s32 u64 s64 f16 bf16"), ("inc", "u32"), ("dec", "u32"), ("and", "b32 b64"), ("or", "b32 b64"),
        ("xor", "b32 b64"),
    ):  # fmt: skip
        for kind in kinds.split():
            half = ".noftz" * (operation == "add" and kind in ("f16", "bf16"))
            name = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}{half}.{kind}"
            arrays = of_kind(kind)
            yield _stores(name, f"{target}@%q {name} [%base], [%u], 2048;\n", first, arrays=arrays)


def of_kind(kind: str) -> tuple[np.ndarray, ...]:
    """Two operands of a type as eight words of a thread: the four of each are 16 bytes of one array."""
    size = int(kind.lstrip("bfsu")) // 8
    columns = operands(kind, 2)
    out = []
    for column in columns:
        repeated = np.stack([np.roll(column, 97 * each) for each in range(16 // size)], axis=1)
        words = np.ascontiguousarray(repeated.astype(f"u{size}")).view("u4").reshape(COUNT, 4)
        out += [np.ascontiguousarray(words[:, each]) for each in range(4)]
    return tuple(out)


def tensor_map(rank: int, dtype: int = U32, **more) -> Tiled:
    """A map of the 2048 bytes that each block has; rank 1 runs through all blocks."""
    extents, box, _ = TENSORS[rank]
    size = TYPES[dtype][1] // 8
    extents, box = (extents[0] * 4 // size, *extents[1:]), (box[0] * 4 // size, *box[1:])
    if rank == 1:
        extents = (extents[0] * BLOCKS,)
    else:
        extents, box = (*extents, BLOCKS), (*box, 1)
    extents, box = more.pop("extents", extents), more.pop("box", box)
    strides = size * np.cumprod(extents)[:-1]
    steps = more.pop("steps", (1,) * rank)
    return Tiled(dtype, 0, tuple(extents), tuple(int(each) for each in strides), tuple(box), steps, **more)


def _place(rank: int, size: int = 4) -> str:
    """The coordinates of the box of a block."""
    first = TENSORS[rank][2]
    if rank == 1:
        return "{%c}"
    return "{" + ", ".join([str(first[0] * 4 // size), *map(str, first[1:]), "%c"]) + "}"


def _one_dimension(rank: int) -> str:
    return "shl.b32 %c, %c, 9;\n" if rank == 1 else ""


def _box_load(rank: int, suffix: str = "", place: str = "", nbytes: int = 512, **more) -> Form:
    described = tensor_map(rank, **more)
    name = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    copy = (
        f"{_one_dimension(rank)}@%q {name} [%u], [p_m0, {place or _place(rank, TYPES[described.dtype][1] // 8)}], [%n];"
    )
    return _loads(f"{name}{suffix}", _generic(copy), nbytes, maps=(("a0", described),))


def _generic(text: str) -> str:
    """A map in a parameter is named by its generic address."""
    return "mov.b64 %base, p_m0;\ncvta.param.u64 %base, %base;\n" + text.replace("[p_m0", "[%base")


def boxes() -> Iterator[Form]:
    """9.7.9.27: boxes of tensors of each rank; swizzles, types, element strides and the filling outside."""
    for rank in TENSORS:
        yield _box_load(rank)
    for dtype in (U8, U16, F16, F32, F64, BF16, TF32):
        yield _box_load(3, f".{_NAMES[dtype]}", dtype=dtype)
    for swizzle, box in ((1, (8, 16, 1)), (2, (16, 8, 1)), (3, (32, 4, 1))):
        yield _box_load(3, f".swizzle{16 << swizzle}", "{0, 3, %c}", box=box, swizzle=swizzle)
    yield _box_load(3, ".element_stride2", "{16, 1, %c}", box=(16, 16, 1), steps=(1, 2, 1))
    for dtype in (F16, F32):
        yield _box_load(3, f".{_NAMES[dtype]}.nan", dtype=dtype, fill=1)
    for rank in TENSORS:
        name = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
        copy = _generic(f"{_one_dimension(rank)}@%q {name} [p_m0, {_place(rank)}], [%u];\n")
        yield _stores(name, copy, maps=(("d0", tensor_map(rank)),))
        name = f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile"
        copy = _generic(f"{_one_dimension(rank)}@%q {name} [p_m0, {_place(rank)}];\n@%q prefetch.tensormap [p_m0];\n")
        text = f"mov.u32 %c, %ctaid.x;\nsetp.eq.u32 %q, %w, 0;\n{copy}mov.b32 %d0, %a1;"
        yield Form(name, text, (wide(), operands("b32", 1)[0]), ("u4",), BLOCK, declarations=BOX,
                   maps=(("a0", tensor_map(rank)),))  # fmt: skip
    first = f"{element('d0', 16)}\nst.global.v4.b32 [%base], {{%a4, %a5, %a6, %a7}};\n"
    for rank, operation, dtype in (
        *((3, each, U32) for each in ("add", "min", "max", "inc", "dec", "and", "or", "xor")),
        *((rank, "add", U32) for rank in (1, 2, 4, 5)), (3, "add", F32), (3, "add", F16), (3, "max", BF16),
    ):  # fmt: skip
        name = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile.bulk_group"
        place = _place(rank, TYPES[dtype][1] // 8)
        copy = _generic(f"{_one_dimension(rank)}@%q {name} [p_m0, {place}], [%u];\n")
        yield _stores(f"{name}.{_NAMES[dtype]}", copy, first, maps=(("d0", tensor_map(rank, dtype)),),
                      arrays=of_kind(_NAMES[dtype].replace("u32", "b32")))  # fmt: skip


# extents of a block, corners, where the column begins, offsets; 8 channels
_COLUMNS = {
    3: ((8, 64), (-1,), (1,), "{0, -1, %c}", "{1}"), 4: ((8, 8, 8), (-1, -1), (-1, -1), "{0, 2, -1, %c}", "{2, 1}"),
    5: ((8, 4, 4, 4), (-1, 0, -1), (0, 1, -1), "{0, 1, 2, -1, %c}", "{0, 1, 1}"),
}  # fmt: skip


def pixels() -> Iterator[Form]:
    """9.7.9.27.1.2, im2col: columns of 16 pixels over the edges of the tensor."""
    for rank, (extents, lower, upper, place, offsets) in _COLUMNS.items():
        extents = (*extents, BLOCKS)
        strides = tuple(int(each) for each in 4 * np.cumprod(extents)[:-1])
        described = Im2col(U32, 0, extents, strides, lower, upper, 8, 16, (1,) * rank)
        name = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        copy = _generic(f"@%q {name} [%u], [p_m0, {place}], [%n], {offsets};")
        yield _loads(name, copy, 512, maps=(("a0", described),))
        name = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.im2col_no_offs.bulk_group"
        copy = _generic(f"@%q {name} [p_m0, {place}], [%u];\n")
        yield _stores(name, copy, maps=(("d0", described),))


def forms() -> Iterator[Form]:
    for family in (runs, boxes, pixels):
        yield from family()
