"""The calls of checkers for bulk copies, in checked code."""

from __future__ import annotations

from dsl.emulator.check.numbers import access, orders
from dsl.emulator.families.cluster import emit as cluster
from dsl.emulator.machine import context


def overwritten(
    body, instr, smem: str, size_bytes: str, barrier: str, mask: str = "0", source=None, is_atomic: bool = False
) -> None:
    """`instr` has begun a copy of `size_bytes` (i32) to `smem`, which will signal `barrier`: addresses (i64) in
    shared::cluster, of the blocks in `mask` (i32) where it is a multicast; `source` where it is one too."""
    if body.order_kinds & orders.BULK:
        kind = access.WRITE | access.ASYNC | access.STRONG * is_atomic
        where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {smem}, i32 {size_bytes}, i32 {kind}"
        origin = cluster.generic(body, source) if source else "0"
        where = f"{where}, i64 {barrier}, i32 {mask}, i64 {origin}"
        body.stop_unless(body.op(f"call i32 @emu_bulk_begins(ptr %ctx, {where})"))


def copied_out(body, instr, smem: str, size_bytes: str) -> None:
    """`instr` has begun a copy of `size_bytes` (i32) out of offset `smem` (i64) of shared memory."""
    if body.order_kinds & orders.BULK:
        address = cluster.generic(body, smem)  # mapa of the own rank is the own memory too
        where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {address}, i32 {size_bytes}"
        body.stop_unless(body.op(f"call i32 @emu_race(ptr %ctx, {where}, i32 {access.ASYNC})"))
        body.stop_unless(body.op(f"call i32 @emu_bulk_proxied(ptr %ctx, {where})"))
        body.ordered(context.ORDER_BULK_STORE, str(body.site(instr)))
