"""Joint operations of the blocks of a cluster: their barrier, and addresses in each other's shared memory.
PTX ISA 9.7.13.3 (barrier.cluster), 9.7.9.22 to 9.7.9.24 (isspacep, mapa, getctarank), 5.1.8 (shared::cluster).

The encoding of an address in shared::cluster is in families/cluster/clusters.cc.
"""

from __future__ import annotations

from dsl.emulator.families.barrier import numbers
from dsl.emulator.machine import context
from dsl.emulator.machine.context import NOBODY, RANK_SHIFT

OFFSET_MASK = (1 << RANK_SHIFT) - 1


def barrier(body, instr):
    """barrier.cluster.arrive and .wait: the threads of the cluster meet."""
    body.uses.add("cluster")
    linear = body.threads["linear"]
    site = body.site(instr)
    if "arrive" in instr.mods:
        body.ordered(context.ORDER_CLUSTER_ARRIVE, str(int("relaxed" in instr.mods)))
        body.stop_unless(body.op(f"call i32 @emu_arrive_cluster(ptr %ctx, i32 {linear}, i32 {site})"))
        return
    answer = body.op(f"call i32 @emu_wait_cluster(ptr %ctx, i32 {linear}, i32 {site})")
    body.stop_unless(answer)
    wait, after = body.fresh("wait"), body.fresh("met")
    body.do(f"br i1 {body.cmp('eq', answer, numbers.barrier.WAITS)}, label %{wait}, label %{after}")
    body.start(wait, keep=True)
    body.suspend()
    body.branch(after)
    body.start(after)
    body.ordered(context.ORDER_CLUSTER_WAIT)


def map_address(body, instr):
    """mapa: the address in shared memory of block `rank` that is at the same place as an address in any block; with
    .shared::cluster both are addresses of that space, else generic ones.

    A rank that no block has is found where the address is used: compilers map addresses before they must.
    """
    destination, address, rank = instr.operands
    number = body.read(rank, 32)
    number = body.select(body.cmp("ult", number, NOBODY), number, NOBODY)
    bits = 64 if "u64" in instr.mods else 32
    offset = body.and_(body.read_address(address), OFFSET_MASK, "i64")
    high = body.shl(body.resize(body.add(number, 1), 32, 64), RANK_SHIFT, "i64")
    mapped = body.or_(high, offset, "i64")
    if "shared::cluster" not in instr.mods:
        mapped = body.add(mapped, body.load("cluster_base", constant=True), "i64")
    body.write(destination, body.resize(mapped, 64, bits), bits)


def rank_of(body, instr):
    """getctarank: the rank of the block whose shared memory an address is in."""
    body.uses.add("cluster")
    destination, address = instr.operands
    value = body.read_address(address)
    if "shared::cluster" in instr.mods:
        rank = body.cast("trunc", body.lshr(value, RANK_SHIFT, "i64"), "i64", "i32")
    else:
        rank = body.op(f"call i32 @emu_cluster_rank(ptr %ctx, i64 {value})")
    own = body.load("cluster_rank", constant=True)
    body.write(destination, body.select(body.cmp("eq", rank, 0), own, body.sub(rank, 1)), 32)


def in_cluster(body, address: str) -> str:
    """Whether a generic address is in the shared memory of a block of the cluster."""
    body.uses.add("cluster")
    return body.cmp("ne", body.op(f"call i32 @emu_cluster_rank(ptr %ctx, i64 {address})"), 0)


def generic(body, address: str) -> str:
    """The generic address of one in shared::cluster."""
    own = body.cmp("ult", address, 1 << RANK_SHIFT, "i64")
    base = body.select(own, body.load("smem", constant=True), body.load("cluster_base", constant=True), "i64")
    return body.add(base, address, "i64")


def of_generic(body, address: str) -> str:
    """The address in shared::cluster of a generic one; of the block's own memory, the offset in it."""
    offset = body.sub(address, body.load("smem", constant=True), "i64")
    far = body.sub(address, body.load("cluster_base", constant=True), "i64")
    return body.select(body.cmp("ult", offset, 1 << RANK_SHIFT, "i64"), offset, far, "i64")


def checked(body, address: str, size_bytes: int, site: int) -> str:
    """The pointer for an access of `size_bytes` (a power of two) at an address in shared::cluster.

    A fault where it is misaligned or outside, or where no block of the cluster has the rank any more.
    """
    body.uses.add("cluster")
    shift = size_bytes.bit_length() - 1
    offset = body.and_(address, OFFSET_MASK, "i64")
    turned = offset if shift == 0 else body.op(f"call i64 @llvm.fshl.i64(i64 {offset}, i64 {offset}, i64 {64 - shift})")
    inside = body.cmp("ult", turned, body.lshr(body.load("smem_bytes", constant=True), shift, "i64"), "i64")
    rank = body.lshr(address, RANK_SHIFT, "i64")
    limited = body.select(body.cmp("ult", rank, 63, "i64"), rank, 63, "i64")
    absent = body.and_(body.lshr(body.load("absent"), limited, "i64"), 1, "i64")
    fine = body.and_(inside, body.cmp("eq", absent, 0, "i64"), "i1")
    bad, after = body.fresh("bad"), body.fresh("in")
    body.do(f"br i1 {fine}, label %{after}, label %{bad}, !prof !1")
    body.start(bad, keep=True)
    crooked = body.cast("trunc", body.and_(offset, size_bytes - 1, "i64"), "i64", "i32")
    where = f"i32 {site}, i32 {body.threads['linear']}, i64 {address}, i64 {size_bytes}, i32 {crooked}"
    body.do(f"call void @emu_cluster_bad(ptr %ctx, {where})")
    body.branch("stop")
    body.start(after, keep=True)
    return body.cast("inttoptr", generic(body, address), "i64", "ptr")
