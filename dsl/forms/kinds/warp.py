"""Forms in which a warp works together, and forms of memory. PTX ISA 9.7.9, 9.7.13, 9.7.14.5."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from dsl.forms.form import BLOCK, Form
from dsl.forms.operands import COUNT, WORD, operands

LANES = 32
ROW = (
    "and.b32 %t, %w, 31;\nshl.b32 %t, %t, 4;\nmov.u32 %u, tile;\nadd.u32 %t, %t, %u;\nshr.u32 %u, %w, 5;\n"
    "shl.b32 %u, %u, 9;\nadd.u32 %t, %t, %u;"
)  # the lane's 16 bytes of its warp's 512; fmt: skip
TILE = f".shared .align 128 .b8 tile[{BLOCK * 16}];"


def warp_form(name: str, text: str, arrays, results: tuple[str, ...], **more) -> Form:
    return Form(name, text, tuple(arrays), results, threads=LANES, **more)


def shuffles() -> Iterator[Form]:
    """9.7.9.6: the lane (or the delta) is a value of each thread's own, the segment one of four widths."""
    value = operands("b32", 2)[0]
    lane = np.random.PCG64(5).random_raw(COUNT).astype(np.uint32) & np.uint32(31)
    for mode, size in itertools.product(("idx", "up", "down", "bfly"), (32, 16, 8, 4)):
        clamp = (LANES - size) << 8 | (0 if mode == "up" else 31)
        text = f"shfl.sync.{mode}.b32 %d0|%p, %a0, %a1, {clamp}, -1;\nselp.u32 %d1, 1, 0, %p;"
        yield warp_form(f"shfl.sync.{mode}.b32.width{size}", text, (value, lane), ("u4", "u4"))


def votes() -> Iterator[Form]:
    """9.7.13.9, 9.7.13.10, 9.7.13.12. Some warps agree, some do not, some differ in one lane."""
    random = operands("b32", 1)[0]
    warps = np.arange(COUNT, dtype=np.uint32) // LANES
    same = np.where(warps % 4 == 0, random[warps * LANES], random)
    one = np.where((warps % 4 == 1) & (np.arange(COUNT) % LANES != 7), random[warps * LANES], same)
    flags = np.where(warps % 3 == 0, warps & 1, one & 1).astype(np.uint32)
    head = "setp.ne.u32 %p, %a0, 0;\n"
    for mode in ("all", "any", "uni"):
        text = f"{head}vote.sync.{mode}.pred %q, %p, -1;\nselp.u32 %d0, 1, 0, %q;"
        yield warp_form(f"vote.sync.{mode}.pred", text, (flags,), ("u4",))
    yield warp_form("vote.sync.ballot.b32", f"{head}vote.sync.ballot.b32 %d0, %p, -1;", (flags,), ("u4",))
    for size in (32, 64):
        values = (one & np.uint32(0x80000003)).astype(WORD[size])
        yield warp_form(f"match.any.sync.b{size}", f"match.any.sync.b{size} %d0, %a0, -1;", (values,), ("u4",))
        text = f"match.all.sync.b{size} %d0|%p, %a0, -1;\nselp.u32 %d1, 1, 0, %p;"
        yield warp_form(f"match.all.sync.b{size}", text, (values,), ("u4", "u4"))
    for opcode, kind in [
        *itertools.product(("add", "min", "max"), ("u32", "s32")),
        *((o, "b32") for o in ("and", "or", "xor")),
    ]:
        name = f"redux.sync.{opcode}.{kind}"
        yield warp_form(name, f"{name} %d0, %a0, -1;", (one,), ("u4",))
    for opcode, absolute, nan in itertools.product(("min", "max"), ("", ".abs"), ("", ".NaN")):
        name = f"redux.sync.{opcode}{absolute}{nan}.f32"
        yield warp_form(name, f"{name} %d0, %a0, -1;", operands("f32", 1), ("u4",))


def matrices() -> Iterator[Form]:
    """9.7.14.5.15 to 9.7.14.5.17: each lane writes 16 bytes of shared memory, a row, and names it."""
    words = operands("b32", 4)
    fill = f"{ROW}\nst.shared.v4.b32 [%t], {{%a0, %a1, %a2, %a3}};\nbar.warp.sync -1;"
    for count, trans in itertools.product((1, 2, 4), ("", ".trans")):
        registers = ", ".join(f"%d{index}" for index in range(count))
        name = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
        yield warp_form(name, f"{fill}\n{name} {{{registers}}}, [%t];", words, ("u4",) * count, declarations=TILE)
        name = f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
        sources = ", ".join(f"%a{index}" for index in range(count))
        text = f"{fill}\n{name} [%t], {{{sources}}};\nbar.warp.sync -1;\nld.shared.v4.b32 {{%d0, %d1, %d2, %d3}}, [%t];"
        yield warp_form(name, text, words, ("u4",) * 4, declarations=TILE)
    name = "movmatrix.sync.aligned.m8n8.trans.b16"
    yield warp_form(name, f"{name} %d0, %a0;", words[:1], ("u4",))


def copies() -> Iterator[Form]:
    """9.7.9.25: cp.async of 4, 8 and 16 bytes, with a source size that leaves zeros."""
    for cache, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        for partial in (False, True):
            source = "ld.param.u64 %base, [p_a0];\nmul.wide.u32 %off, %i, 16;\nadd.u64 %base, %base, %off;"
            less = f"and.b32 %n, %a1, {size - 1};\n" if partial else ""
            text = (
                f"{ROW}\nst.shared.v4.b32 [%t], {{-1, -1, -1, -1}};\n{source}\n{less}"
                f"cp.async.{cache}.shared.global [%t], [%base], {size}{', %n' * partial};\n"
                "cp.async.wait_all;\nld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%t];"
            )
            name = f"cp.async.{cache}.shared.global.{size}{'.zfill' * partial}"
            wide = np.ascontiguousarray(np.stack(operands("b32", 4), axis=1).reshape(-1)).view("V16")
            yield Form(name, text, (wide, operands("b32", 2)[1]), ("u4",) * 4, declarations=TILE)


def forms() -> Iterator[Form]:
    yield from shuffles()
    yield from votes()
    yield from matrices()
    yield from copies()
