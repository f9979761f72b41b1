"""Texts about errors between blocks of a cluster."""

from __future__ import annotations

from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import ARRIVE, BARRIER

KEEP_ALIVE = (
    "let no block end before the others have made their last access to its shared memory: barrier.cluster.arrive "
    "and .wait at the end of the kernel (cute.arch.cluster_arrive and cluster_wait)"
)


MEET = (
    "let the blocks meet between: barrier.cluster.arrive and .wait (cute.arch.cluster_arrive and cluster_wait); or "
    "let the block that is done arrive at an mbarrier of the other (mapa, mbarrier.arrive.release.cluster), which "
    "waits for it"
)
MAKE_VISIBLE_HERE = (
    "put a barrier of the block (bar.sync, cute.arch.sync_threads) between mbarrier.init and the first use by another "
    "thread"
)
BARRIER_BETWEEN = "put a barrier of the block (bar.sync, cute.arch.sync_threads) between {} and {}"
MAKE_VISIBLE = (
    "after mbarrier.init let its thread fence (fence.mbarrier_init.release.cluster, cute.arch.mbarrier_init_fence), "
    "then the blocks meet (barrier.cluster.arrive and .wait) before any arrives"
)


def arrived_twice(launch, instr: Instr) -> tuple[str, str]:
    """The message and the fix of a second arrival at the barrier of the cluster without a wait between."""
    return (
        "the thread arrives at the cluster's barrier again, and has not waited since it arrived there last",
        "let each barrier.cluster.arrive be followed by a barrier.cluster.wait (cute.arch.cluster_wait) of its threads",
    )


def not_arrived(launch, instr: Instr) -> tuple[str, str]:
    """The message and the fix of a wait at the barrier of the cluster without an arrival."""
    return (
        "the thread waits at the cluster's barrier, and has not arrived there since it waited last",
        Fix(
            "let the threads that wait arrive first: barrier.cluster.arrive (cute.arch.cluster_arrive)",
            propose.right_before(launch, "arrival at the cluster", instr),
        ),
    )


def is_mate(launch, block: int) -> bool:
    """Whether a block runs in the cluster that the report is about."""
    return any(slot.ctx.block == block for slot in launch.mates)


def instead_of_relaxed(launch, instr: Instr) -> Fix | None:
    """The fix of an arrival that orders no memory; None for another instruction."""
    mods = instr.mods
    if "relaxed" in mods and instr.traits & BARRIER:
        return Fix(
            f"write barrier.cluster.arrive (cute.arch.cluster_arrive) for `{instr.text}`, or fence before it",
            propose.change(launch, "an arrival at the cluster that orders memory", instr),
        )
    if "relaxed" in mods and instr.traits & ARRIVE:
        return Fix(f"make the arrival `{instr.text}` a release", propose.change(launch, "a release", instr))
    return None


def keep_alive(launch, instr: Instr) -> Fix:
    """The fix of an access to memory of a block that may have ended."""
    return Fix(KEEP_ALIVE, propose.at_end(launch, "barrier of the cluster", instr))


def fix_of_exited(launch, instr: Instr) -> str:
    """The fix of an access to memory of a block that has exited."""
    if "multicast::cluster" in instr.mods:
        return f"leave the block out of the multicast's mask, or {KEEP_ALIVE}"
    return keep_alive(launch, instr)


def owner_of(launch, address: int):
    """(slot, offset) of the block of the cluster in whose shared memory a host address is; None."""
    for slot in launch.mates:
        offset = address - slot.ctx.smem
        if 0 <= offset < slot.ctx.smem_bytes:
            return slot, offset
    return None


def place_of(launch, address: int) -> str | None:
    """A host address in the shared memory of another block of the cluster, for people; None where it is in none."""
    owner = owner_of(launch, address)
    if owner is None or owner[0] is launch.slot:
        return None
    slot, offset = owner
    return f"smem+0x{offset:x} of block {tuple(slot.ctx.block_index)}"


def place_of_cluster_address(launch, address: int) -> str:
    """An address in shared::cluster, for people."""
    rank, offset = divmod(address, 1 << context.RANK_SHIFT)
    block = f" of block {tuple(launch.mates[rank - 1].ctx.block_index)}" if rank else ""
    return f"smem+0x{offset:x}{block}"


def place_in_mate(launch, address: int) -> str | None:
    """An address in shared memory of another block of the cluster, for people; None for any other one."""
    ctx, (rank, offset) = launch.ctx, divmod(address, 1 << context.RANK_SHIFT)
    is_mate = 0 < rank <= ctx.cluster_blocks and rank - 1 != ctx.cluster_rank and offset < ctx.smem_bytes
    return place_of_cluster_address(launch, address) if is_mate else None


def outside_of_own(verb: str, n_bytes: int, place: str) -> tuple[str, str]:
    """The message and the fix of an address in shared::cluster where an instruction takes one in shared::cta."""
    message = (
        f"{verb} of {n_bytes} bytes at {place}: `.shared`, as `.shared::cta`, is the memory of the own block alone"
    )
    return message, (
        "write `.shared::cluster` in its place if the instruction has that; otherwise let that block execute it"
    )


def rank_of_nobody(ctx, address: int) -> int | None:
    """The rank in a generic address of shared memory of the cluster, where no block has it."""
    rank = (address - ctx.cluster_base >> context.RANK_SHIFT) - 1
    return rank if ctx.cluster_blocks <= rank < 1 << 8 else None


def has_exited(launch, address: int) -> bool:
    """Whether a host address is in the shared memory of a block that has ended while others of its cluster run."""
    owner = owner_of(launch, address)
    return owner is not None and bool(launch.ctx.absent >> owner[0].ctx.cluster_rank + 1 & 1)


def is_gone(slot) -> bool:
    """Whether the block of a slot has ended while others of its cluster run."""
    return bool(slot.ctx.absent >> slot.ctx.cluster_rank + 1 & 1)


def no_block(launch, rank: int) -> tuple[str, str]:
    """The message and the fix where no block has a rank."""
    blocks = launch.ctx.cluster_blocks
    size = f"{blocks} blocks" if blocks > 1 else "one block"
    fix = "use a rank below %cluster_nctarank" if blocks > 1 else "launch it in clusters: `cluster=(2, 1, 1)`"
    more = " or more" if rank == context.NOBODY else ""
    return f"a cluster of {size} has no block {rank}{more}", fix
