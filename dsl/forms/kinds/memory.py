"""Forms of loads, stores, moves and addresses, and those that change nothing that a kernel sees. PTX ISA 9.7.9."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dsl.forms.form import Form, element
from dsl.forms.kinds.warp import ROW, TILE
from dsl.forms.operands import COUNT, WORD, operands, width

TYPES = ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "f32", "f64")
_PRIORITIES = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
# words before the space, words after it
_ORDERS = [(f".{word}.{scope}", "") for word in ("relaxed", "acquire") for scope in ("cta", "gpu", "sys", "cluster")]
_FIRST = (("", ""), (".volatile", ""), (".weak", ""), (".mmio.relaxed.sys", ""))
LOADS = (
    *_FIRST, *_ORDERS, *(("", f".{each}") for each in ("ca", "cg", "cs", "lu", "cv", "nc", *_PRIORITIES)),
    ("", ".nc.L1::no_allocate"), *(("", f".L2::{size}B") for size in (64, 128, 256)),
)  # fmt: skip
STORES = (
    *_FIRST, *((before.replace("acquire", "release"), after) for before, after in _ORDERS),
    *(("", f".{each}") for each in ("wb", "cg", "cs", "wt", *_PRIORITIES)),
)  # fmt: skip
_SLOT = ".local .align 16 .b8 slot[16];"
_SPACES = {  # a space -> text that makes %t (or, of 64 bits, %base) the address of 16 bytes that are the thread's own
    "shared": (ROW, "%t", TILE),
    "shared::cta": (ROW, "%t", TILE),
    "local": ("mov.u64 %base, slot;", "%base", _SLOT),
}


def wide(size: int = 16) -> np.ndarray:
    """An element of `size` bytes for each thread, which the kernel loads itself."""
    columns = operands("b32", size // 4)
    return np.ascontiguousarray(np.stack(columns, axis=1).reshape(-1)).view(f"V{size}")


def loads() -> Iterator[Form]:
    """9.7.9.8: every type, with the bytes above it that a register gets; vectors; cache operators and orders."""
    for kind in TYPES:
        yield _load(f"ld.global.{kind}", kind)
    for before, after in LOADS[1:]:
        yield _load(f"ld{before}.global{after}.u32", "u32")
    yield _load("ld.u32", "u32")
    yield _load("ldu.global.u32", "u32")
    for count, kinds in ((2, "u8 s16 b32 f32 b64 f64"), (4, "b8 u16 s32 f32")):
        for kind in kinds.split():
            yield _load(f"ld.global.v{count}.{kind}", kind, count)
    yield _load("ld.global.v8.b32", "b32", 8)
    yield _load("ld.global.v4.b64", "b64", 4)
    text = f"{element('a0', 16)}\nld.global.b128 %x, [%base];\nmov.b128 {{%d0, %d1}}, %x;"
    yield Form("ld.global.b128", text, (wide(),), ("u8", "u8"), declarations=".reg .b128 %x;")
    table = ".const .align 4 .b32 table[8] = {1, 20, 300, 4000, 50000, 600000, 7000000, 80000000};"
    text = "and.b32 %t, %a0, 7;\nmul.wide.u32 %off, %t, 4;\nmov.u64 %base, table;\nadd.u64 %base, %base, %off;\n"
    yield Form("ld.const.u32", f"{text}ld.const.u32 %d0, [%base];", operands("u32", 1), ("u4",), module=table)
    text = "ld.param::entry.u64 %v, [p_a0];\nld.param.u64 %off, [p_a0];\nsub.u64 %d0, %v, %off;\nor.b64 %d0, %d0, %a0;"
    yield Form("ld.param::entry.u64", text, operands("u64", 1), ("u8",))


def _load(name: str, kind: str, count: int = 1) -> Form:
    size = 32 if count * width(kind) > 128 else 16
    registers = [f"%d{index}" for index in range(count)]
    names = registers[0] if count == 1 else "{" + ", ".join(registers) + "}"
    text = f"{element('a0', size)}\n{name} {names}, [%base];"
    return Form(name, text, (wide(size),), (WORD[max(32, width(kind))],) * count)


def stores() -> Iterator[Form]:
    """9.7.9.11: the memory after the value stays zero."""
    for kind in TYPES:
        yield _store(f"st.global.{kind}", kind)
    for before, after in STORES[1:]:
        yield _store(f"st{before}.global{after}.u32", "u32")
    yield _store("st.u32", "u32")
    for count, kinds in ((2, "u8 s16 b32 f32 b64 f64"), (4, "b8 u16 s32 f32")):
        for kind in kinds.split():
            yield _store(f"st.global.v{count}.{kind}", kind, count)
    yield _store("st.global.v8.b32", "b32", 8)
    text = f"mov.b128 %x, {{%a0, %a1}};\n{element('d0', 16)}\nst.global.b128 [%base], %x;"
    yield Form("st.global.b128", text, operands("u64", 2), ("V16",), declarations=".reg .b128 %x;")


def _store(name: str, kind: str, count: int = 1) -> Form:
    size = 32 if count * width(kind) > 128 else 16
    registers = [f"%a{index}" for index in range(count)]
    names = registers[0] if count == 1 else "{" + ", ".join(registers) + "}"
    arrays = tuple(each.astype(WORD[max(16, width(kind))]) for each in operands(f"b{width(kind)}", count))
    return Form(name, f"{element('d0', size)}\n{name} [%base], {names};", _whole(arrays), (f"V{size}",))


def _whole(arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """At most COUNT elements: every 16-bit value is not needed here."""
    return tuple(each[:COUNT] for each in arrays)


def spaces() -> Iterator[Form]:
    """Stores and loads of other spaces: a value goes there and back."""
    for space, (text, place, declarations) in _SPACES.items():
        for kind in ("u8", "s16", "b32", "f32", "b64"):
            arrays = _whole(tuple(e.astype(WORD[max(16, width(kind))]) for e in operands(f"b{width(kind)}", 1)))
            lines = f"{text}\nst.{space}.{kind} [{place}], %a0;\nld.{space}.{kind} %d0, [{place}];"
            yield Form(f"ld.{space}.{kind}", lines, arrays, (WORD[max(32, width(kind))],), declarations=declarations)
        lines = (
            f"{text}\nst.{space}.v4.b32 [{place}], {{%a0, %a1, %a2, %a3}};\n"
            f"ld.{space}.v4.b32 {{%d0, %d1, %d2, %d3}}, [{place}];"
        )
        yield Form(f"st.{space}.v4.b32", lines, operands("b32", 4), ("u4",) * 4, declarations=declarations)


def moves() -> Iterator[Form]:
    """9.7.9.3, 9.7.9.4: registers, and registers in parts."""
    for kind in ("b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        arrays = _whole(operands(f"b{width(kind)}", 1))
        yield Form(f"mov.{kind}", f"mov.{kind} %d0, %a0;", arrays, (WORD[width(kind)],))
    text = "setp.lt.u32 %q, %a0, %a1;\nmov.pred %p, %q;\nselp.u32 %d0, 1, 0, %p;"
    yield Form("mov.pred", text, operands("u32", 2), ("u4",))
    for name, text, kind, count, result in (
        ("mov.b32.pack", "mov.b32 %d0, {%a0, %a1};", "b16", 2, ("u4",)),
        ("mov.b32.unpack", "mov.b32 {%d0, %d1}, %a0;", "b32", 1, ("u2", "u2")),
        ("mov.b64.pack", "mov.b64 %d0, {%a0, %a1};", "b32", 2, ("u8",)),
        ("mov.b64.unpack", "mov.b64 {%d0, %d1}, %a0;", "b64", 1, ("u4", "u4")),
        ("mov.b64.4", "mov.b64 %d0, {%a0, %a1, %a2, %a3};", "b16", 4, ("u8",)),
    ):
        yield Form(name, text, _whole(operands(kind, count)), result)
    for opcode in ("and", "or", "xor"):
        text = (
            f"setp.lt.u32 %p, %a0, %a1;\nsetp.gt.s32 %q, %a0, %a1;\n{opcode}.pred %p, %p, %q;\nselp.u32 %d0, 1, 0, %p;"
        )
        yield Form(f"{opcode}.pred", text, operands("u32", 2), ("u4",))
    text = "setp.lt.u32 %p, %a0, %a1;\nnot.pred %p, %p;\nselp.u32 %d0, 1, 0, %p;"
    yield Form("not.pred", text, operands("u32", 2), ("u4",))


def addresses() -> Iterator[Form]:
    """9.7.9.17, 9.7.9.18: of which space generic addresses are, and that an address comes back."""
    local = "mov.u64 %off, slot;\ncvta.local.u64 %off, %off;\nmov.u64 %v, tile;\ncvta.shared.u64 %v, %v;"
    for space in ("global", "shared", "local", "shared::cta", "shared::cluster"):
        least = "90" if "::" in space else ":7.7"
        ask = [
            f"isspacep.{space} %p, %{name};\nselp.u32 %d{index}, 1, 0, %p;"
            for index, name in enumerate(("base", "off", "v"))
        ]
        text = "\n".join(["ld.param.u64 %base, [p_a0];", local, *ask])
        yield Form(
            f"isspacep.{space}", text, operands("u32", 1), ("u4",) * 3, declarations=f"{_SLOT}\n{TILE}", least=least
        )
    for space, place, declarations in (
        ("shared", "tile", TILE), ("local", "slot", _SLOT), ("const", "table", ""), ("global", "words", "")
    ):  # fmt: skip
        module = {"table": ".const .align 4 .b32 table[4];", "words": ".global .align 4 .b32 words[4];"}.get(place, "")
        text = (
            f"mov.u64 %base, {place};\ncvta.{space}.u64 %off, %base;\ncvta.to.{space}.u64 %v, %off;\n"
            "sub.u64 %d0, %v, %base;\nor.b64 %d0, %d0, %a0;"
        )
        yield Form(f"cvta.{space}.u64", text, operands("u64", 1), ("u8",), declarations=declarations, module=module)
    text = (
        "mov.u64 %base, slot;\ncvta.local.u64 %base, %base;\nst.b32 [%base], %a0;\nld.local.u32 %d0, [slot];\n"
        "mov.u64 %v, tile;\ncvta.shared.u64 %v, %v;\nmul.wide.u32 %off, %w, 4;\nadd.u64 %v, %v, %off;\n"
        "st.b32 [%v], %a0;\nld.b32 %d1, [%v];"
    )
    yield Form("st.b32", text, operands("b32", 1), ("u4", "u4"), declarations=f"{_SLOT}\n{TILE}")


_FENCES = (
    *(f"fence.{order}.{scope}" for order in ("sc", "acq_rel") for scope in ("cta", "gpu", "sys")), "fence.sc.cluster",
    "fence.acq_rel.cluster", "membar.cta", "membar.gl", "membar.sys", "fence.proxy.alias", "fence.proxy.async",
    "fence.proxy.async.global", "fence.proxy.async.shared::cta", "fence.mbarrier_init.release.cluster",
    "fence.proxy.tensormap::generic.release.gpu", "fence.acquire.gpu", "fence.release.cta",
)  # fmt: skip
_HINTS = (
    "prefetch.global.L1 [%base]", "prefetch.global.L2 [%base]", "prefetch.L1 [%base]", "prefetch.L2 [%base]",
    "prefetchu.L1 [%base]", "prefetch.global.L2::evict_last [%base]", "nanosleep.u32 100",
    "prefetch.global.L2::evict_normal [%base]", "pmevent 3", "pmevent.mask 8",
    "applypriority.global.L2::evict_normal [%base], 128", "griddepcontrol.launch_dependents", "griddepcontrol.wait",
)  # fmt: skip


def hints() -> Iterator[Form]:
    """9.7.9.15, 9.7.9.16, 9.7.13.4, 9.7.13.13, 9.7.19: that they run, and that values stay as they are."""
    for text in (*_FENCES, *_HINTS):
        name = text.partition(" ")[0]
        least = "90:8.6" if name in ("fence.acquire.gpu", "fence.release.cta") else ""
        yield Form(name, f"ld.param.u64 %base, [p_a0];\n{text};\nmov.b32 %d0, %a0;", operands("b32", 1), ("u4",),
                   least=least)  # fmt: skip
    text = (
        f"and.b32 %t, %w, 31;\nsetp.eq.u32 %p, %t, 0;\n{element('d0', 4)}\n@%p discard.global.L2 [%base], 128;\n"
        "bar.warp.sync -1;\nmov.b32 %d0, %a0;"
    )
    yield Form("discard.global.L2", text, operands("b32", 1), ("u4",), threads=32)


_POLICIES = (
    "createpolicy.fractional.L2::evict_first.b64 %v, 0.5", "createpolicy.fractional.L2::evict_last.b64 %v",
    "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %v, 0.25",
    "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %v, [%base], 4096, 8192",
)  # fmt: skip


def policies() -> Iterator[Form]:
    """9.7.9.19: a policy is the chip's own; a load by it gives what another load gives."""
    for text in _POLICIES:
        lines = f"{element('a0', 16)}\n{text};\nld.global.L2::cache_hint.u32 %d0, [%base], %v;"
        yield Form(text.partition(" ")[0], lines, (wide(),), ("u4",))
    for opcode, text in (("st", "st.global.L2::cache_hint.u32 [%base], %a0, %v;"),
                         ("red", "red.global.L2::cache_hint.add.u32 [%base], %a0, %v;"),
                         ("atom", "atom.global.L2::cache_hint.add.u32 %t, [%base], %a0, %v;")):  # fmt: skip
        lines = f"{element('d0', 16)}\n{_POLICIES[0]};\n{text}"
        yield Form(f"{opcode}.global.L2::cache_hint.u32", lines, operands("u32", 1), ("V16",))


def forms() -> Iterator[Form]:
    for family in (loads, stores, spaces, moves, addresses, hints, policies):
        yield from family()
