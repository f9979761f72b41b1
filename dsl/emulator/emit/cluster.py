"""What blocks of a cluster do together, for clusters of one block. PTX ISA 9.7.13.3 (barrier.cluster), 9.7.9.23 (mapa).

A launch of larger clusters refuses kernels that have these: `uses` names "cluster".
"""

from __future__ import annotations

from dsl.emulator import context


def barrier(body, instr):
    """barrier.cluster.arrive and .wait: the threads of the block meet."""
    body.uses.add("cluster")
    linear = body.threads["linear"]
    site = body.site(instr)
    if "arrive" in instr.mods:
        body.do(f"call void @emu_arrive_cluster(ptr %ctx, i32 {linear})")
        return
    if "wait" not in instr.mods:
        raise body.refuse(instr, "expected .arrive or .wait")
    waits = body.op(f"call i1 @emu_wait_cluster(ptr %ctx, i32 {linear}, i32 {site})")
    wait, after = body.fresh("wait"), body.fresh("met")
    body.do(f"br i1 {waits}, label %{wait}, label %{after}")
    body.start(wait, keep=True)
    body.suspend()
    body.branch(after)
    body.start(after)


def map_address(body, instr):
    """mapa: an address in the shared memory of block `rank` of the cluster; here block 0 is the only one."""
    body.uses.add("cluster")
    destination, address, rank = instr.operands
    number = body.read(rank, 32)
    bad, fine = body.fresh("rank"), body.fresh("own")
    body.do(f"br i1 {body.cmp('eq', number, 0)}, label %{fine}, label %{bad}, !prof !1")
    body.start(bad, keep=True)
    where = f"i32 {context.ILLEGAL}, i32 {body.site(instr)}, i32 {body.threads['linear']}"
    body.do(
        f"call void @emu_fault(ptr %ctx, {where}, i64 {body.resize(number, 32, 64)}, i64 0, i64 {context.BAD_RANK})"
    )
    body.branch("stop")
    body.start(fine, keep=True)
    bits = 64 if "u64" in instr.mods else 32
    body.write(destination, body.read(address, bits), bits)
