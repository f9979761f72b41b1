"""A kernel of one block, or of a pair, that fills tensor memory, issues an operation, and reads tensor memory back."""

from __future__ import annotations

import numpy as np

from tests.emulator.conftest import HEADER_100, Machine

SMEM_BYTES = 96 * 1024
FIRST = 1024  # of the image in shared memory; before it are an mbarrier and the address in tensor memory
LANES = 128
MODELS = {"sm_100a": "b200", "sm_103a": "b300"}
_PARAMS = {"image": "u64", "cells": "u64", "da": "u64", "db": "u64", "idesc": "u32", "adds": "u32"}
_CLUSTER_BARRIER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
_MULTICAST = (
    "mov.b16 %both, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
)


def ptx(operation: str, columns: int, blocks: int = 1, header: str = HEADER_100) -> str:
    """`operation` is what thread 0 of the first block issues before its commit: %da, %db, %idesc, the predicate %adds,
    the address %d. %i, %c and %v0 to %v7 are free."""
    params = ", ".join(f".param .{kind} {name}" for name, kind in _PARAMS.items())
    loads = "\n".join(
        f"ld.param.{kind} %{name if name != 'adds' else 'n'}, [{name}];" for name, kind in _PARAMS.items()
    )
    words = "{" + ", ".join(f"%v{i}" for i in range(8)) + "}"
    halves = ("{%v0, %v1, %v2, %v3}", "{%v4, %v5, %v6, %v7}")
    group, barrier = f"cta_group::{blocks}", _CLUSTER_BARRIER if blocks == 2 else "bar.sync 0;"
    alone = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%s];"
    commit = f"{_MULTICAST} [%s], %both;" if blocks == 2 else alone
    return f"""{header}
.extern .shared .align 1024 .b8 smem[];
.visible .entry k({params}) {{
.reg .b64 %image, %cells, %da, %db, %g; .reg .b32 %idesc, %n, %t, %w, %i, %s, %d, %lane, %c, %v<8>, %rank;
.reg .pred %p, %adds, %first; .reg .b16 %both;
{loads}
setp.ne.u32 %adds, %n, 0; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; setp.eq.u32 %first, %w, 0; mov.u32 %s, smem;
mov.u32 %rank, %cluster_ctarank;
mul.wide.u32 %g, %rank, {SMEM_BYTES}; add.u64 %image, %image, %g;
mul.wide.u32 %g, %rank, {4 * LANES * columns}; add.u64 %cells, %cells, %g;
@!%first bra FILL;
tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [smem+8], {columns};
setp.ne.u32 %p, %t, 0; @%p bra FILL;
mbarrier.init.shared::cta.b64 [smem], 1; fence.mbarrier_init.release.cluster;
FILL: shl.b32 %i, %t, 2;
L: cvt.u64.u32 %g, %i; add.u64 %g, %image, %g; ld.global.b32 %v0, [%g]; add.u32 %c, %s, %i;
st.shared.b32 [%c+{FIRST}], %v0; add.u32 %i, %i, 512; setp.lt.u32 %p, %i, {SMEM_BYTES - FIRST}; @%p bra L;
fence.proxy.async.shared::cta; bar.sync 0;
ld.shared.b32 %d, [smem+8]; shl.b32 %lane, %w, 21; add.u32 %lane, %lane, %d;
mul.wide.u32 %g, %t, {4 * columns}; add.u64 %cells, %cells, %g; mov.u32 %c, 0;
S: mul.wide.u32 %g, %c, 4; add.u64 %g, %cells, %g; ld.global.v4.b32 {halves[0]}, [%g]; ld.global.v4.b32 {halves[1]}, [%g+16];
add.u32 %i, %lane, %c; tcgen05.st.sync.aligned.32x32b.x8.b32 [%i], {words};
add.u32 %c, %c, 8; setp.lt.u32 %p, %c, {columns}; @%p bra S;
tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; {barrier} tcgen05.fence::after_thread_sync;
or.b32 %i, %t, %rank; setp.ne.u32 %p, %i, 0; @%p bra WAIT;
{operation}
{commit}
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [smem], 0; @!%p bra WAIT;
tcgen05.fence::after_thread_sync; mov.u32 %c, 0;
R: add.u32 %i, %lane, %c; tcgen05.ld.sync.aligned.32x32b.x8.b32 {words}, [%i]; tcgen05.wait::ld.sync.aligned;
mul.wide.u32 %g, %c, 4; add.u64 %g, %cells, %g; st.global.v4.b32 [%g], {halves[0]}; st.global.v4.b32 [%g+16], {halves[1]};
add.u32 %c, %c, 8; setp.lt.u32 %p, %c, {columns}; @%p bra R;
tcgen05.fence::before_thread_sync; {barrier} @!%first bra END;
tcgen05.relinquish_alloc_permit.{group}.sync.aligned; tcgen05.dealloc.{group}.sync.aligned.b32 %d, {columns};
END: ret; }}
"""


def run(operation: str, cells: np.ndarray, image: bytes | list[bytes] = b"", a: int = 0, b: int = 0, idesc: int = 0,
        adds: bool = True, checks=(), seed: int = 0, text: str = "", target: str = "sm_100a") -> np.ndarray:  # fmt: skip
    """Tensor memory (128 lanes, columns) after an operation on `cells`; `image` is put into shared memory at FIRST.
    For a pair both have an entry for each block. `text`: another kernel with these parameters."""
    cells = np.ascontiguousarray(cells, np.uint32).copy()
    images = image if cells.ndim == 3 else [image]
    whole = np.zeros((len(images), SMEM_BYTES), np.uint8)
    for row, each in zip(whole, images, strict=True):
        row[: len(each)] = np.frombuffer(each, np.uint8)
    text = (text or ptx(operation, cells.shape[-1], len(images))).replace("sm_100a", target)
    Machine(MODELS[target]).run(text, grid=len(images), block=128,
                        cluster=(len(images), 1, 1), smem_bytes=SMEM_BYTES, image=whole, cells=cells, a=np.uint64(a),
                        b=np.uint64(b), idesc=np.uint32(idesc), adds=int(adds), checks=checks, seed=seed)  # fmt: skip
    return cells


def descriptor(start: int, leading: int, stride: int, swizzle: int = 0, base: int = 0) -> int:
    """The 64 bits of a matrix in shared memory: PTX ISA 9.0, table of the shared memory descriptor."""
    fields = (start >> 4, 0), (leading >> 4, 16), (stride >> 4, 32), (1, 46), (base, 49), (swizzle, 61)
    return sum(value << bit for value, bit in fields)


def instruction(m: int, n: int, d: int = 1, a: int = 0, b: int = 0, more: int = 0) -> int:
    """The 32 bits of an instruction descriptor; `more` are further bits."""
    return d << 4 | a << 7 | b << 10 | n // 8 << 17 | m // 16 << 24 | more
