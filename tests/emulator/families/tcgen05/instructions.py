"""Every tcgen05 instruction of sm_100a with operands, by the syntax of PTX ISA 9.0, section 9.7.16; not by our rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from dsl.forms.form import Form

DECLARATIONS = ".reg .b32 %r<129>; .reg .b64 %d<2>; .reg .pred %e; .reg .b16 %m; .shared .b64 room;"
SHAPES = {"32x32b": (1, 8), "16x64b": (1, 8), "16x128b": (2, 7), "16x256b": (4, 6), "16x32bx2": (1, 8)}
COPIES = ("128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4")
NARROW = ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64")
HINTS = ("", *(f".collector::a::{each}" for each in ("fill", "use", "lastuse", "discard")))
SCALED = {
    "mxf8f6f4": ("", ".scale_vec::1X", ".block32"),
    "mxf4": ("", ".scale_vec::2X", ".block32"),
    "mxf4nvf4": (".scale_vec::2X", ".scale_vec::4X", ".block16", ".block32"),
}
BUFFERS = [f".collector::b{i}::{each}" for i in range(4) for each in ("fill", "use", "lastuse", "discard")]


def words(count: int) -> str:
    return "{" + ", ".join(f"%r{i}" for i in range(count)) + "}"


def allocation(group: int) -> Iterator[str]:
    of = f"cta_group::{group}.sync.aligned"
    yield f"alloc.{of}.b32 [%d0], 32"
    yield f"alloc.{of}.shared::cta.b32 [room], 32"
    yield f"dealloc.{of}.b32 %r0, 32"
    yield f"relinquish_alloc_permit.{of}"


def accesses() -> Iterator[str]:
    for shape, (registers, counts) in SHAPES.items():
        for log, packs in itertools.product(range(counts), (False, True)):
            of, vector = f"sync.aligned.{shape}.x{1 << log}", words(registers << log)
            half = ", 2" if shape == "16x32bx2" else ""
            yield f"ld.{of}{'.pack::16b' * packs}.b32 {vector}, [%r0]{half}"
            yield f"st.{of}{'.unpack::16b' * packs}.b32 [%r0]{half}, {vector}"
    yield from ("wait::ld.sync.aligned", "wait::st.sync.aligned")
    yield from ("fence::before_thread_sync", "fence::after_thread_sync")


def reductions() -> Iterator[str]:
    """tcgen05.ld.red of sm_103a."""
    floats = [f"{each}{more}.f32" for each in ("min", "max") for more in ("", ".abs", ".NaN", ".abs.NaN")]
    integers = [f"{each}.{kind}" for each in ("min", "max") for kind in ("u32", "s32")]
    for (shape, half), log, operation in itertools.product(
        (("32x32b", ""), ("16x32bx2", ", 2")), range(1, 8), floats + integers
    ):
        yield f"tcgen05.ld.red.sync.aligned.{shape}.x{1 << log}.{operation} {words(1 << log)}, %r128, [%r0]{half};"


def queue(group: int) -> Iterator[str]:
    """Instructions that make no product."""
    for shape, narrow in itertools.product(COPIES, NARROW):
        yield f"cp.cta_group::{group}.{shape}{narrow} [%r0], %d0"
    for space in ("", ".shared::cluster"):
        of = f"commit.cta_group::{group}.mbarrier::arrive::one{space}"
        yield f"{of}.b64 [%d0]"
        yield f"{of}.multicast::cluster.b64 [%d0], %m"
    yield f"shift.cta_group::{group}.down [%r0]"


def products(group: int, sparse: bool) -> Iterator[str]:
    metadata, mask = ", [%r1]" * sparse, f", {words(4 * group)}"
    for kind, a, lanes in itertools.product(("f16", "tf32", "f8f6f4", "i8"), ("%d0", "[%r2]"), ("", mask)):
        shifts = [*HINTS, *(f".ashift{hint}" for hint in (HINTS[0], *HINTS[3:]) if a == "[%r2]")]
        for hint, scale in itertools.product(shifts, ("", ", 3") if kind in ("f16", "tf32") else ("",)):
            name = f"mma{'.sp' * sparse}.cta_group::{group}.kind::{kind}{hint}"
            yield f"{name} [%r0], {a}, %d1{metadata}, %r3{lanes}, %e{scale}"


def scaled_products(group: int, sparse: bool) -> Iterator[str]:
    metadata = ", [%r1]" * sparse
    for kind, vectors in SCALED.items():
        for vector, hint, a in itertools.product(vectors, HINTS, ("%d0", "[%r2]")):
            name = f"mma{'.sp' * sparse}.cta_group::{group}.kind::{kind}.block_scale{vector}{hint}"
            yield f"{name} [%r0], {a}, %d1{metadata}, %r3, [%r4], [%r5], %e"


def stationary_products(sparse: bool) -> Iterator[str]:
    metadata = ", [%r1]" * sparse
    for kind, a, hint in itertools.product(("f16", "tf32", "f8f6f4", "i8"), ("%d0", "[%r2]"), ("", *BUFFERS)):
        for zeros in ("", ", %d0"):
            yield (f"mma.ws{'.sp' * sparse}.cta_group::1.kind::{kind}{hint} [%r0], {a}, %d1{metadata}, %r3, %e{zeros}")


def instructions(group: int) -> list[str]:
    """All that may be in one kernel: with one cta_group."""
    found = [*allocation(group), *accesses(), *queue(group)]
    for sparse in (False, True):
        found += [*products(group, sparse), *scaled_products(group, sparse)]
        found += stationary_products(sparse) if group == 1 else ()
    return [f"tcgen05.{each};" for each in found]


def form(instruction: str) -> Form:
    return Form(instruction.split()[0].rstrip(";"), instruction, (), (), declarations=DECLARATIONS, least="100a:8.6")
