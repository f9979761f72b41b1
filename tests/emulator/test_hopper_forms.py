"""Every form of Hopper's instructions for clusters, TMA, mbarriers and wgmma: ptxas takes it, and the emulator has code for
it. The meaning of the forms is tested with their emitters. PTX ISA 9.7.9.22 to 9.7.9.28, 9.7.13, 9.7.15."""

from __future__ import annotations

from itertools import product

import pytest

from dsl import emulator

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k() {
.reg .b16 %h<16>; .reg .b32 %r<300>; .reg .b64 %d<40>; .reg .f32 %f<300>; .reg .f64 %e<8>; .reg .pred %p<8>;
.shared .align 1024 .b8 smem[4096]; .shared .align 8 .b64 bar[8];
"""
SPACES = ("", ".shared", ".shared::cta")
SCOPES = (".cta", ".cluster", ".gpu", ".sys")
HINTS = (("", ""), (".L2::cache_hint", ", %d3"))
REGISTERS = {"b16": "%h", "f16": "%h", "f32": "%f", "f64": "%e", "b64": "%d", "u64": "%d", "s64": "%d"}


def register(kind: str, number: int = 1) -> str:
    return f"{REGISTERS.get(kind, '%r')}{number}"


def vector(prefix: str, count: int, first: int = 0) -> str:
    return "{" + ", ".join(f"{prefix}{first + i}" for i in range(count)) + "}"


def clusters():
    for name in (
        ".const",
        ".global",
        ".local",
        ".shared",
        ".shared::cta",
        ".shared::cluster",
        ".param",
        ".param::entry",
    ):
        yield f"isspacep{name} %p1, %d1"
    for space, kind in product(("", ".shared::cluster"), ("u32", "u64")):
        yield f"mapa{space}.{kind} {register(kind)}, {register(kind, 2)}, %r3"
        yield f"getctarank{space}.{kind} %r1, {register(kind, 2)}"
    for aligned in ("", ".aligned"):
        yield from (f"barrier.cluster.arrive{order}{aligned}" for order in ("", ".release", ".relaxed"))
        yield from (f"barrier.cluster.wait{order}{aligned}" for order in ("", ".acquire"))
    for kind, space in product(
        ("b8", "u16", "b32", "s32", "f32", "b64", "f64"), ("", ".shared::cluster", ".shared::cta")
    ):
        value = register("b16" if kind in ("b8", "u16") else kind)
        for order in ("", ".weak", ".volatile", ".relaxed.cluster"):
            yield f"ld{order}{space}.{kind} {value}, [%d1]"
            yield f"st{order}{space}.{kind} [%d1], {value}"
        yield from (
            f"ld.acquire.cluster{space}.{kind} {value}, [%d1]",
            f"st.release.cluster{space}.{kind} [%d1], {value}",
        )
        if kind != "f64" and kind != "b64":
            parts = vector(value[:2], 4)
            yield from (f"ld{space}.v4.{kind} {parts}, [%d1]", f"st{space}.v4.{kind} [%d1], {parts}")
    for scope, kind in product(("", ".relaxed.cluster", ".acq_rel.cluster"), ("u32", "s32", "u64")):
        for operation in ("add", "min", "max"):
            yield f"atom{scope}.shared::cluster.{operation}.{kind} {register(kind)}, [%d1], {register(kind, 2)}"
    for kind in ("b32", "b64"):
        value, other = register(kind), register(kind, 2)
        yield from (
            f"red.release.cluster.shared::cluster.{each}.{kind} [%d1], {other}" for each in ("and", "or", "xor")
        )
        yield f"atom.shared::cluster.cas.{kind} {value}, [%d1], {other}, {value}"
        yield f"atom.shared::cluster.exch.{kind} {value}, [%d1], {other}"


def asynchronous_stores():
    done = ".shared::cluster.mbarrier::complete_tx::bytes"
    for weak, kind in product(("", ".weak"), ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")):
        yield f"st.async{weak}{done}.{kind} [%d1], {register(kind)}, [%d2]"
        yield f"st.async{weak}{done}.v2.{kind} [%d1], {vector(register(kind)[:2], 2)}, [%d2]"
        if kind in ("b32", "u32", "s32", "f32"):
            yield f"st.async{weak}{done}.v4.{kind} [%d1], {vector(register(kind)[:2], 4)}, [%d2]"
    table = {"add": "u32 s32 u64", "min": "u32 s32", "max": "u32 s32", "inc": "u32", "dec": "u32", "and": "b32", "or": "b32",
             "xor": "b32"}  # fmt: skip
    for operation, kinds in table.items():
        for kind in kinds.split():
            yield f"red.async.relaxed.cluster{done}.{operation}.{kind} [%d1], {register(kind)}, [%d2]"
            yield f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation}.{kind} " \
                  "[%d1], [%d2], %r3, [%d4]"  # fmt: skip


def mbarriers():
    for space in SPACES:
        yield from (
            f"mbarrier.init{space}.b64 [bar], 5",
            f"mbarrier.init{space}.b64 [%d1], %r1",
            f"mbarrier.inval{space}.b64 [bar]",
        )
        orders = ("", ".release.cta", ".release.cluster", ".relaxed.cta", ".relaxed.cluster")
        for name, order in product(("arrive", "arrive_drop"), orders):
            for operands in ("%d1, [%d2]", "%d1, [%d2], %r1", "_, [%d2], 2", "_, [bar+8]"):
                yield f"mbarrier.{name}{order}{space}.b64 {operands}"
            yield f"mbarrier.{name}.expect_tx{order}{space}.b64 %d1, [%d2], %r1"
            yield f"mbarrier.{name}.expect_tx{order}{space}.b64 _, [%d2], 16"
        for name in ("arrive", "arrive_drop"):
            yield f"mbarrier.{name}.noComplete{space}.b64 %d1, [%d2], %r1"
        for name, order in product(
            ("test_wait", "try_wait"), ("", ".acquire.cta", ".acquire.cluster", ".relaxed.cluster")
        ):
            ticks = (", %r1", ", 1000") if name == "try_wait" else ()
            for tail in ("", *ticks):
                yield f"mbarrier.{name}{order}{space}.b64 %p1, [%d1], %d2{tail}"
                yield f"mbarrier.{name}.parity{order}{space}.b64 %p1, [%d1], %r2{tail}"
        yield from (f"cp.async.mbarrier.arrive{each}{space}.b64 [%d1]" for each in ("", ".noinc"))
    for space, order in product((*SPACES, ".shared::cluster"), ("", ".relaxed.cta", ".relaxed.cluster")):
        yield from (
            f"mbarrier.expect_tx{order}{space}.b64 [%d1], %r1",
            f"mbarrier.complete_tx{order}{space}.b64 [%d1], 16",
        )
    for name, order in product(("arrive", "arrive_drop"), ("", ".release.cluster", ".relaxed.cluster")):
        for operands in ("_, [%d1]", "_, [%d1], %r2"):
            yield f"mbarrier.{name}{order}.shared::cluster.b64 {operands}"
        yield f"mbarrier.{name}.expect_tx{order}.shared::cluster.b64 _, [%d1], %r2"
    yield "mbarrier.pending_count.b64 %r1, %d1"


def bulk_copies():
    done = "mbarrier::complete_tx::bytes"
    yield f"cp.async.bulk.shared::cluster.shared::cta.{done} [%d1], [%d2], %r3, [%d4]"
    yield from ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group 0", "cp.async.bulk.wait_group.read 3")
    for hint, policy in HINTS:
        for target in ("shared::cluster", "shared::cta"):
            yield f"cp.async.bulk.{target}.global.{done}{hint} [%d1], [%d2], %r2, [%d4]{policy}"
        yield f"cp.async.bulk.shared::cluster.global.{done}.multicast::cluster{hint} [%d1], [%d2], %r2, [%d4], %h1{policy}"
        yield f"cp.async.bulk.global.shared::cta.bulk_group{hint} [%d1], [%d2], %r2{policy}"
        yield f"cp.async.bulk.prefetch.L2.global{hint} [%d1], %r1{policy}"
        kinds = {"add": "u32 s32 u64 f32 f64 f16 bf16", "min": "u32 s32 u64 s64 f16 bf16", "max": "u32 s32 u64 s64 f16 bf16",
                 "inc": "u32", "dec": "u32", "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64"}  # fmt: skip
        for operation, kind in ((o, k) for o, each in kinds.items() for k in each.split()):
            noftz = ".noftz" if kind in ("f16", "bf16") and operation == "add" else ""
            yield f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}.{operation}{noftz}.{kind} [%d1], [%d2], %r2{policy}"
        for rank in range(1, 6):
            place, name = f"[%d5, {vector('%r', rank, 10)}]", f"cp.async.bulk.tensor.{rank}d"
            modes = [(mode, "") for mode in ("", ".tile")]
            if rank > 2:
                modes.append((".im2col", f", {vector('%h', rank - 2, 4)}"))
            for mode, offsets in modes:
                for target in ("shared::cluster", "shared::cta"):
                    yield f"{name}.{target}.global{mode}.{done}{hint} [%d1], {place}, [%d4]{offsets}{policy}"
                yield (f"{name}.shared::cluster.global{mode}.{done}.multicast::cluster{hint} "
                       f"[%d1], {place}, [%d4]{offsets}, %h1{policy}")  # fmt: skip
                yield f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global{mode}{hint} {place}{offsets}{policy}"
                outwards = mode.replace(".im2col", ".im2col_no_offs")
                yield f"{name}.global.shared::cta{outwards}.bulk_group{hint} {place}, [%d1]{policy}"
                for operation in kinds:
                    yield (f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}{outwards}.bulk_group{hint} "
                           f"{place}, [%d1]{policy}")  # fmt: skip


def tensor_maps():
    fields = {"global_address": "%d2", "rank": "%r2", "box_dim": "0, %r2", "global_dim": "4, %r2", "global_stride": "3, %d2",
              "element_stride": "1, %r2", "elemtype": "6", "interleave_layout": "1", "swizzle_mode": "3", "fill_mode": "1"}  # fmt: skip
    for space, (field, value) in product(("", ".global", ".shared::cta"), fields.items()):
        yield f"tensormap.replace.tile.{field}{space}.b1024.{'b64' if '%d' in value else 'b32'} [%d1], {value}"
    for scope in SCOPES:
        yield f"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release{scope}.sync.aligned [%d1], [%d2], 128"
        yield f"fence.proxy.tensormap::generic.acquire{scope} [%d1], 128"
        yield f"fence.proxy.tensormap::generic.release{scope}"
    for name in (
        "tensormap",
        "param.tensormap",
        "const.tensormap",
        "L1",
        "global.L2",
        "global.L2::evict_last",
        "local.L1",
    ):
        yield f"prefetch.{name} [%d1]"
    for name in ("fractional.L2::evict_last.b64 %d1, 1.0", "fractional.L2::evict_first.L2::evict_unchanged.b64 %d1, 0.5",
                 "range.global.L2::evict_normal.b64 %d1, [%d2], %r1, %r2", "cvt.L2.b64 %d1, 0x12f0000000000000"):  # fmt: skip
        yield f"createpolicy.{name}"


def orders():
    proxies = ("alias", "async", "async.global", "async.shared::cta")
    yield from (f"fence.proxy.{each}" for each in proxies)
    yield "fence.mbarrier_init.release.cluster"
    yield from (
        f"fence{order}{scope}" for order, scope in product(("", ".sc", ".acq_rel", ".acquire", ".release"), SCOPES)
    )
    yield "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"
    yield "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"
    yield "fence.acquire.sync_restrict::shared::cluster.cluster"
    yield "fence.release.sync_restrict::shared::cta.cluster"
    yield from ("griddepcontrol.wait", "griddepcontrol.launch_dependents", "elect.sync %r1|%p1, %r2", "elect.sync _|%p1, -1",
                "setmaxnreg.inc.sync.aligned.u32 232", "setmaxnreg.dec.sync.aligned.u32 40", "wgmma.fence.sync.aligned",
                "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned 2")  # fmt: skip
    for name, number in product(("bar", "bar.cta", "barrier", "barrier.cta"), ("0", "%r1")):
        for aligned in ("", ".aligned") if name.startswith("barrier") else ("",):
            yield from (f"{name}.sync{aligned} {number}{count}" for count in ("", ", 64", ", %r2"))
            yield f"{name}.arrive{aligned} {number}, 64"
            yield f"{name}.red.popc{aligned}.u32 %r3, {number}, %p1"
            yield from (f"{name}.red.{each}{aligned}.pred %p2, {number}, 64, !%p1" for each in ("and", "or"))


FLOATS = [(d, a, a, 16) for d in ("f32", "f16") for a in ("f16",)] + [
    ("f32", "bf16", "bf16", 16),
    ("f32", "tf32", "tf32", 8),
]
FLOATS += [(d, a, b, 32) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
INTEGERS = [("s32", a, b, 32) for a in ("s8", "u8") for b in ("s8", "u8")] + [("s32", "b1", "b1", 256)]


def products(n: int):
    for d, a, b, k in FLOATS + (INTEGERS if n in (8, 24) or n % 16 == 0 else []):
        result = vector("%f" if d == "f32" else "%r", n // (4 if d == "f16" else 2))
        name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}"
        for operand in ("%d1", vector("%r", 4, 200)):
            if d != "s32":
                transposes = (", 1, 0" if operand == "%d1" else ", 1") if k == 16 else ""
                yield f"{name} {result}, {operand}, %d2, %p1, 1, -1{transposes}"
            else:
                tails = (".and.popc",) if a == "b1" else ("", ".satfinite")
                yield from (f"{name}{tail} {result}, {operand}, %d2, %p1" for tail in tails)


FAMILIES = [clusters, asynchronous_stores, mbarriers, bulk_copies, tensor_maps, orders]


def text(forms) -> str:
    return HEAD + ";\n".join(forms) + ";\nret; }\n"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.__name__)
def test_every_form_has_code_here_and_is_one_of_ptxas(family, ptxas):
    forms = list(family())
    assert len(forms) == len(set(forms))
    emulator.load(text(forms)).llvm_ir("k")
    ptxas(text(forms))


@pytest.mark.parametrize("n", [8, 16, 24, 96, 200, 256])
def test_every_product(n, ptxas):
    emulator.load(text(products(n))).llvm_ir("k")
    ptxas(text(products(n)))


@pytest.mark.parametrize("n", [*range(32, 256, 8)])
def test_products_of_every_size_are_read(n):
    emulator.load(text(products(n)))
