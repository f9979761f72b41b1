"""Forms of clusters: two blocks that meet and use one another's shared memory. PTX ISA 9.7.9, 9.7.13."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dsl.forms.form import BLOCK, Form
from dsl.forms.kinds.block import BAR
from dsl.forms.operands import COUNT, WORD, operands, width

BLOCKS = 2
THREADS = BLOCKS * BLOCK
BOX = f".shared .align 16 .b8 box[{16 * BLOCK}];\n.reg .b32 %r, %s, %e;"
MEET = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
_OWN = "mov.u32 %u, box;\nmad.lo.u32 %s, %w, 16, %u;\nmov.u32 %r, %cluster_ctarank;\nxor.b32 %r, %r, 1;"
_OTHER = f"{_OWN}\nmapa.shared::cluster.u32 %t, %s, %r;"
_WAIT = "again:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%e], 0;\n@!%p bra again;"


def _form(name: str, text: str, arrays, results: tuple[str, ...] = ("u4",), more: str = "") -> Form:
    return Form(name, text, tuple(arrays), results, THREADS, declarations=f"{BOX}\n{more}",
                cluster=BLOCKS)  # fmt: skip


def meetings() -> Iterator[Form]:
    """9.7.13.3: a word of the thread of the other block."""
    for arrive, wait in (
        ("arrive", "wait"), ("arrive.aligned", "wait.aligned"), ("arrive.release", "wait.acquire"),
        ("arrive.release.aligned", "wait.acquire.aligned"),
    ):  # fmt: skip
        text = (
            f"{_OTHER}\nst.shared.b32 [%s], %a0;\nbarrier.cluster.{arrive};\nbarrier.cluster.{wait};\n"
            f"ld.shared::cluster.b32 %d0, [%t];\n{MEET}"
        )
        yield _form(f"barrier.cluster.{arrive}", text, operands("b32", 1))
    text = (
        f"{_OTHER}\nst.shared.b32 [%s], %a0;\nfence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed.aligned;\n"
        f"barrier.cluster.wait.aligned;\nld.shared::cluster.b32 %d0, [%t];\n{MEET}"
    )
    yield _form("barrier.cluster.arrive.relaxed.aligned", text, operands("b32", 1))


def accesses() -> Iterator[Form]:
    """9.7.9.8, 9.7.9.11, 9.7.9.23, 9.7.9.24: addresses in the cluster, loads, stores and atomics by them."""
    store = f"{_OTHER}\nst.shared.b32 [%s], %a0;\n{MEET}\n"
    for name, text in (
        ("mapa.u64", "cvt.u64.u32 %v, %s;\ncvta.shared.u64 %v, %v;\nmapa.u64 %v, %v, %r;\nld.b32 %d0, [%v];"),
        ("mapa.shared::cluster.u64",
         "cvt.u64.u32 %v, %s;\nmapa.shared::cluster.u64 %v, %v, %r;\nld.shared::cluster.b32 %d0, [%v];"),
        ("mapa.shared::cluster.u32", "ld.shared::cluster.b32 %d0, [%t];"),
        ("cvta.shared::cluster.u64", "cvt.u64.u32 %v, %t;\ncvta.shared::cluster.u64 %v, %v;\nld.b32 %d0, [%v];"),
        ("ld.relaxed.cluster.shared::cluster.b32", "ld.relaxed.cluster.shared::cluster.b32 %d0, [%t];"),
        ("ld.acquire.cluster.shared::cluster.b32", "ld.acquire.cluster.shared::cluster.b32 %d0, [%t];"),
        ("ld.volatile.shared::cluster.b32", "ld.volatile.shared::cluster.b32 %d0, [%t];"),
    ):  # fmt: skip
        yield _form(name, f"{store}{text}\n{MEET}", operands("b32", 1))
    ask = "getctarank.shared::cluster.u32 %d0, %t;\ngetctarank.shared::cluster.u32 %d1, %s;"
    yield _form("getctarank.shared::cluster.u32", f"{_OTHER}\n{ask}", operands("b32", 1), ("u4", "u4"))
    ask = "cvt.u64.u32 %v, %t;\ncvta.shared::cluster.u64 %v, %v;\ngetctarank.u64 %d0, %v;"
    yield _form("getctarank.u64", f"{_OTHER}\n{ask}", operands("b32", 1))
    for name, kind in (("st.shared::cluster.b32", "b32"), ("st.release.cluster.shared::cluster.b64", "b64"),
                       ("st.relaxed.cluster.shared::cluster.u32", "u32")):  # fmt: skip
        text = f"{_OTHER}\n{MEET}\n{name} [%t], %a0;\n{MEET}\nld.shared.b{width(kind)} %d0, [%s];"
        yield _form(name, text, operands(kind, 1), (WORD[width(kind)],))
    text = f"{_OTHER}\n{MEET}\nst.shared::cluster.v4.b32 [%t], {{%a0, %a1, %a2, %a3}};\n{MEET}\n"
    text += "ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%s];"
    yield _form("st.shared::cluster.v4.b32", text, operands("b32", 4), ("u4",) * 4)
    for opcode in ("atom", "red"):
        for operation, kind in (("add", "u32"), ("add", "f32"), ("max", "s64"), ("xor", "b32"), ("inc", "u32")):
            yield _remote(opcode, operation, kind)
    yield _remote("atom", "exch", "b64")
    yield _remote("atom", "add", "u32", ".acq_rel.cluster")
    yield _remote("red", "add", "u32", ".release.cluster")


def _remote(opcode: str, operation: str, kind: str, order: str = "") -> Form:
    name, size = f"{opcode}{order}.shared::cluster.{operation}.{kind}", width(kind)
    gives = "%d1, " if opcode == "atom" else ""
    begin = f"{_OTHER}\nst.shared.b{size} [%s], %a0;\n{MEET}\n"
    text = f"{begin}{name} {gives}[%t], %a1;\n{MEET}\nld.shared.b{size} %d0, [%s];"
    return _form(name, text, operands(kind, 2), (WORD[size],) * (1 + (opcode == "atom")))


_BEGIN = (
    f"{_OTHER}\nmov.u32 %e, bar;\nsetp.eq.u32 %q, %w, 0;\n@%q mbarrier.init.shared.b64 [%e], 1;\n"
    f"@%q fence.mbarrier_init.release.cluster;\n{MEET}\nmapa.shared::cluster.u32 %n, %e, %r;\n"
)


def arrivals() -> Iterator[Form]:
    """9.7.13.15: an mbarrier of the other block; st.async and red.async, whose bytes it counts. 9.7.9.12, 9.7.13.7."""
    for name in ("mbarrier.arrive.release.cluster.shared::cluster.b64", "mbarrier.arrive.shared::cluster.b64"):
        text = (
            f"{_BEGIN}st.shared::cluster.b32 [%t], %a0;\nbar.sync 0;\n@%q fence.acq_rel.cluster;\n@%q {name} _, [%n];\n"
            f"{_WAIT}\nld.shared.b32 %d0, [%s];\n{MEET}"
        )
        yield _form(name, text, operands("b32", 1), more=BAR)
    text = (
        f"{_BEGIN}st.shared::cluster.b32 [%t], %a0;\nbar.sync 0;\n@%q fence.acq_rel.cluster;\n"
        "@%q mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%n], 32;\n"
        "@%q mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%n], 32;\n"
        f"@%q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%n];\n{_WAIT}\nld.shared.b32 %d0, [%s];\n{MEET}"
    )
    yield _form("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64", text, operands("b32", 1), more=BAR)
    for count, kinds in ((1, "b32 u32 s32 f32 b64 u64 s64 f64"), (2, "b32 b64"), (4, "b32 f32")):
        for kind in kinds.split():
            yield _stored(kind, count)
    for operation, kinds in (("add", "u32 s32 u64"), ("min", "u32 s32"), ("max", "u32 s32"), ("and", "b32"),
                             ("or", "b32"), ("xor", "b32"), ("inc", "u32"), ("dec", "u32")):  # fmt: skip
        for kind in kinds.split():
            yield _reduced(operation, kind)


def _expect(nbytes: int) -> str:
    return f"@%q mbarrier.arrive.expect_tx.shared::cta.b64 %v, [%e], {nbytes * BLOCK};\n"


def _stored(kind: str, count: int) -> Form:
    vector = f".v{count}" if count > 1 else ""
    name, size = f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vector}.{kind}", width(kind)
    values, results = ([f"%{letter}{index}" for index in range(count)] for letter in "ad")
    braces = "{{{}}}" if count > 1 else "{}"
    load = f"ld.shared{vector}.b{size} {braces.format(', '.join(results))}, [%s];"
    text = (
        f"{_BEGIN}{_expect(count * size // 8)}{name} [%t], {braces.format(', '.join(values))}, [%n];\n{_WAIT}\n{load}"
    )
    return _form(name, f"{text}\n{MEET}", operands(f"b{size}", count), (WORD[size],) * count, BAR)


def _reduced(operation: str, kind: str) -> Form:
    name = f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation}.{kind}"
    size = width(kind)
    text = (
        f"{_BEGIN}st.shared.b{size} [%s], %a0;\n{MEET}\n{_expect(size // 8)}{name} [%t], %a1, [%n];\n{_WAIT}\n"
        f"ld.shared.b{size} %d0, [%s];\n{MEET}"
    )
    return _form(name, text, operands(kind, 2), (WORD[size],), BAR)


def bulk() -> Iterator[Form]:
    """9.7.9.25.4.1, 9.7.9.25.4.2: bytes that go to one other block, or to both."""
    fill = "st.shared.v4.b32 [%s], {%a0, %a1, %a2, %a3};\nfence.proxy.async;\nbar.sync 0;\n"
    take = "ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%s];"
    name = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
    second = f".shared .align 16 .b8 copy[{16 * BLOCK}];\n{BAR}"
    place = "mov.u32 %u, copy;\nmov.u32 %t, box;\nmapa.shared::cluster.u32 %u, %u, %r;\n"
    read = "mov.u32 %u, copy;\nmad.lo.u32 %s, %w, 16, %u;\n"
    text = (
        f"{_BEGIN}{fill}{_expect(16)}{place}@%q {name} [%u], [%t], {16 * BLOCK}, [%n];\n{_WAIT}\n{read}{take}\n{MEET}"
    )
    yield _form(name, text, operands("b32", 4), ("u4",) * 4, second)
    for operation, kinds in (("add", "u32 s32 u64"), ("min", "u32 s32"), ("max", "u32 s32"), ("and", "b32"),
                             ("or", "b32"), ("xor", "b32"), ("inc", "u32"), ("dec", "u32")):  # fmt: skip
        for kind in kinds.split():
            form = f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation}.{kind}"
            begin = "mov.u32 %u, copy;\nmad.lo.u32 %t, %w, 16, %u;\nst.shared.v4.b32 [%t], {%a4, %a5, %a6, %a7};\n"
            text = f"{_BEGIN}{begin}{fill}{MEET}\n{_expect(16)}{place}@%q {form} [%u], [%t], {16 * BLOCK}, [%n];\n"
            yield _form(form, f"{text}{_WAIT}\n{read}{take}\n{MEET}", operands("b32", 8), ("u4",) * 4, second)
    name = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
    source = "and.b32 %t, %i, 0xFFFFFF80;\nmul.wide.u32 %off, %t, 4;\nld.param.u64 %base, [p_a0];\n"
    source += "add.u64 %base, %base, %off;\nmov.b16 %h, 3;\nsetp.eq.and.u32 %p, %r, 0, %q;\n"
    text = (  # block 1 copies its own words to both
        f"{_BEGIN}{_expect(4)}{source}mov.u32 %u, box;\n@%p {name} [%u], [%base], {4 * BLOCK}, [%e], %h;\n{_WAIT}\n"
        f"mad.lo.u32 %s, %w, 4, %u;\nld.shared.b32 %d0, [%s];\n{MEET}"
    )
    yield _form(name, text, (np.arange(COUNT, dtype=np.uint32) * 7919,), more=BAR)


def forms() -> Iterator[Form]:
    for family in (meetings, accesses, arrivals, bulk):
        yield from family()
