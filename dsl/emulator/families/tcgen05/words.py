"""Faults of tcgen05 in words: tensor memory that is not there, descriptors that do not fit. Each gives the message and
the fix."""

from __future__ import annotations

from dsl.emulator.check.numbers import access, other_kind
from dsl.emulator.diagnosis import places
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.families.bulk import words as bulk_findings
from dsl.emulator.families.mbarrier.check import Shared
from dsl.emulator.families.tcgen05.numbers import TensorOp, TensorState, tcgen05, tensor_fault, tensor_memory
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context

_LANE_BYTES = 4 * tensor_memory.COLUMNS


def place(launch, address: int) -> str | None:
    """A host address in the tensor memory of a block of the cluster, for people; None where it is in none."""
    for slot in launch.mates if launch.ctx.tensor else ():
        offset = address - TensorState.from_address(slot.ctx.tensor).tensor_cells
        if 0 <= offset < _LANE_BYTES * tensor_memory.LANES:
            lane, column = offset // _LANE_BYTES, offset % _LANE_BYTES // 4
            block = "" if slot is launch.slot else f" of block {tuple(slot.ctx.block_index)}"
            return f"tensor memory{block} at lane {lane}, column {column}"
    return None


# ** races


def race(race: Race) -> tuple[str, str] | None:
    """The message and the fix of a race with tensor memory, or with shared memory that a tensor core reads; None of
    another."""
    mine, other, still = race.mine, race.other, race.its_kind & access.ASYNC
    if "tcgen05" not in (mine.opcode, other.opcode):
        return None
    if still and other.opcode == "tcgen05":
        return _of_core(race) if _is_of_core(other) else _of_warp(race)
    if race.its_kind & other_kind.UNPROXIED:
        message = f"{race.does}, which {race.who} {race.did} at {race.at}: no fence.proxy.async between"
        return message, bulk_findings.unproxied_fix(race)
    if race.between is None or not {"bulk"}.isdisjoint(mine.mods + other.mods):
        return None
    does = "frees" + race.does.removeprefix("writes") if "dealloc" in mine.mods else race.does
    both = (race.here, race.at) if race.between.comes_before else (race.at, race.here)
    return f"{does}, which {race.who} {race.did} at {race.at}: no barrier between", Fix(
        f"put a barrier of the block (bar.sync, `cute.arch.sync_threads`) between {both[0]} and {both[1]}",
        race.put(["barrier of the block"]),
    )


def _is_of_core(instr) -> bool:
    return not {"mma", "cp", "shift"}.isdisjoint(instr.mods)


def _of_core(race: Race) -> tuple[str, str]:
    """With what a tensor core may still be doing."""
    does = "writes" if race.its_kind & access.WRITE else "reads"
    name = next(f"tcgen05.{each}" for each in ("mma", "cp", "shift") if each in race.other.mods)
    message = f"{race.does}, which the {name} at {race.at} still {does}: its commit was not waited for"
    if race.launch.checks.order.slot_of(race.launch.slot.address).of(Shared).relaxed.get(race.launch.ctx.thread):
        return f"{message} by an acquire", Fix(
            f"put tcgen05.fence::after_thread_sync between the wait and {race.here}: the wait is .relaxed",
            propose.right_before(race.launch, "fence after a relaxed wait", race.mine),
        )
    return message, (
        f"wait, before {race.here}, for the phase of the mbarrier that a tcgen05.commit after {race.at} signals, "
        "issued by the same thread (`cute.nvgpu.tcgen05.commit`, `pipeline.consumer_wait`)"
    )


def _of_warp(race: Race) -> tuple[str, str]:
    """With a load or store of tensor memory that its warp has not waited for."""
    stores = "st" in race.other.mods
    what, does = ("st", "writes") if stores else ("ld", "reads")
    wait = f"tcgen05.wait::{what} (`cute.arch.fence_view_async_tmem_{'store' if stores else 'load'}`)"
    name = f"wait for tensor memory {'stores' if stores else 'loads'}"
    rest = "" if race.who == "this thread" else f", and then a barrier before {race.here} if there is none"
    return f"{race.does}, which the tcgen05.{what} at {race.at} still {does}: no tcgen05.wait::{what} between", Fix(
        f"put {wait} after {race.at}{rest}", propose.right_after(race.launch, name, race.other)
    )


# ** garbage


def _never_written(launch) -> Fault:
    ctx = launch.ctx
    instr = launch.code.sites[ctx.site]
    is_product = "mma" in instr.mods
    place = places.place_of(launch, ctx.address, 4)
    message = f"{'adds to' if is_product else 'reads'} {place}, which nobody has written since it was allocated"
    fix = "wait for who writes it, and check the columns of the address"
    if is_product:
        fix = (
            "let the first product of a tile not accumulate (enable-input-d false, `tcgen05.Field.ACCUMULATE`); where "
            "warps write it first, let it come after their wait::st and a barrier"
        )
    return places.of_one(launch, instr, "UNDEFINED_READ", message, ctx.block, fix)


FAULTS = {(context.UNDEFINED, tensor_fault.NEVER_WRITTEN): _never_written}


# ** deadlocks


def lacking(launch) -> list[tuple[str, str]]:
    """Texts about operations that no commit tells of, in a deadlock, each with its fix."""
    texts = []
    for slot in launch.mates if launch.ctx.tensor else ():
        state = TensorState.from_address(slot.ctx.tensor)
        ops = (TensorOp * state.count).from_address(state.tensor_ops) if state.count else ()
        committed = {op.thread: op.number for op in ops if op.form & 3 == tcgen05.COMMIT}
        works = (op for op in ops if op.form & 3 != tcgen05.COMMIT)
        left = next((op for op in works if op.number > committed.get(op.thread, 0)), None)
        if left is None:
            continue
        who = places.thread_of(launch, slot.ctx.block, left.thread)
        at = places.line_of(launch, launch.code.sites[left.site])
        text = f"{at}: no tcgen05.commit of {who} comes after the operations that it issued there"
        fix = (
            f"let the thread that issued the operations at {at} issue a tcgen05.commit to the mbarrier after them "
            "(`cute.nvgpu.tcgen05.commit`)"
        )
        texts.append((text, fix))
    return texts


# ** illegal uses

_SHARED = "compute it from values that all lanes share"


def _differs(launch, instr):
    what = ("the address in tensor memory", "the number of columns")[launch.ctx.address]
    first = launch.thread_index(launch.ctx.thread & ~31)
    return f"{what} must be the same in all lanes of the warp, and differs from thread {first} here", _SHARED


def _bad_columns(launch, instr):
    return (
        f"it names {launch.ctx.address} columns; the number must be a power of two from 32 to 512",
        "allocate 32, 64, 128, 256 or 512 columns, and free as many as were allocated",
    )


def _more_columns(launch, instr):
    return (
        f"it allocates {launch.ctx.address} columns after an alloc of {launch.ctx.access_bytes} columns: later ones "
        "may not ask for more",
        "allocate the larger part first",
    )


def _no_columns(launch, instr):
    return (
        f"it waits for {launch.ctx.address} columns side by side, and the block has allocated all but "
        f"{launch.ctx.access_bytes} of {tensor_memory.COLUMNS}: no other block frees any for it",
        "free columns first (tcgen05.dealloc, `cute.arch.dealloc_tmem`), or allocate fewer",
    )


def _relinquished(launch, instr):
    return (
        f"the block may not allocate any more: it gave the permit back at {_at(launch, launch.ctx.address, instr)}",
        "put tcgen05.relinquish_alloc_permit (`cute.arch.relinquish_tmem_alloc_permit`) after the last alloc",
    )


def _at(launch, site: int, instr) -> str:
    return places.at(launch, launch.code.sites[site], instr)


def _column(launch, instr) -> str:
    column = launch.ctx.access_bytes
    if column >= tensor_memory.COLUMNS:
        return f"column {column} is not there: tensor memory has columns 0 to {tensor_memory.COLUMNS - 1}"
    freed = TensorState.from_address(launch.ctx.tensor).dealloc_sites[column // tensor_memory.UNIT]
    if freed:
        return f"column {column} was freed at {_at(launch, freed - 1, instr)}"
    return f"column {column} is not allocated"


def _place(address: int) -> str:
    lane, column = address >> tensor_memory.LANE_SHIFT, address & 0xFFFF
    return f"0x{address:08x} (lane {lane}, column {column})"


def _not_allocated(launch, instr):
    return (
        f"it uses tensor memory from {_place(launch.ctx.address)} on, and {_column(launch, instr)}",
        "allocate as many columns as it uses (tcgen05.alloc, `cute.arch.alloc_tmem`), use the address that alloc "
        "wrote, and free them after the last use",
    )


def _not_its_allocation(launch, instr):
    size = launch.ctx.access_bytes
    what = f"{size} columns were allocated there" if size else "no allocation begins there"
    return (
        f"it frees {_place(launch.ctx.address)}, and {what}",
        "free the address that alloc gave, with the same number of columns",
    )


def _other_quarter(launch, instr):
    first = launch.ctx.access_bytes
    return (
        f"a warp reaches lanes {first} to {first + 31} here, a quarter by `%warpid % 4`, and the address is "
        f"{_place(launch.ctx.address)}",
        "add `(warp % 4) * 32 << 16` to the address of the tensor",
    )


def _half_quarter(launch, instr):
    return (
        f"the address {_place(launch.ctx.address)} must begin at the first or at the middle lane of a quarter",
        "add a multiple of `16 << 16` to the address",
    )


def _still_used(launch, instr):
    return (
        f"it frees tensor memory, which the operation at {_at(launch, launch.ctx.address, instr)} may still use: "
        "nobody has waited for its commit",
        "wait for the mbarrier of a later tcgen05.commit (`cute.nvgpu.tcgen05.commit`) before the dealloc",
    )


def _no_peer(launch, instr):
    return (
        "`.cta_group::2` needs the other block of the pair, and it is not there or has ended",
        "launch clusters of an even number of blocks, and let each wait at the barrier of the cluster before it ends",
    )


# The fields of an instruction descriptor by their first bit, and what they may be. PTX ISA 9.7.16.4.2, 9.7.16.4.3
_FIELDS = {
    0: "bits 0-1, the sparsity selector, must be 0, or 1 for a sparse A of elements of 16 or 32 bits",
    2: "bit 2, a sparse A, must be 1 with `.sp`, and 0 without",
    3: "bit 3, saturation, is for integers alone",
    4: "bits 4-5, the type of D (f16 0, f32 1, s32 2) or the first byte of B's scales, is none of the kind",
    6: "bit 6 must be 0",
    7: "bits 7-9, the type of A, is none of the kind",
    10: "bits 10-12, the type of B, is none of the kind",
    13: "bits 13-14, the signs, must be 0 for integers",
    15: "bits 15-16: operands of 4 bits must be K-major",
    17: "bits 17-22, N / 8, is not a width of this kind",
    23: "bit 23, the type of scales (ue4m3 0, ue8m0 1), is none of the kind",
    24: "bits 24-28, M / 16, is not a height of this kind and cta_group",
    27: "bits 27-28, M / 128, is not a height of this kind and cta_group",
    29: "bits 29-30, the first byte of A's scales, are none of the kind",
    31: "bit 31, that K is 96, is for kinds `mxf4` and `mxf4nvf4` of sm_103a, without `.sp`",
}


def _bad_instruction(launch, instr):
    idesc, bit = launch.ctx.address, launch.ctx.access_bytes
    wrong = "M" if bit in (24, 27) else "N" if bit == 17 else ""
    value = {"M": (idesc >> 24 & 31) * 16 if bit == 24 else (idesc >> 27 & 3) * 128, "N": (idesc >> 17 & 63) * 8}
    found = f" ({wrong} is {value[wrong]})" if wrong else ""
    return (
        f"the instruction descriptor 0x{idesc:08x} does not fit `{instr.name}`: {_FIELDS[bit]}{found}",
        "make the descriptor from the types and the shape of the product (`cute.nvgpu.tcgen05`: of the tiled MMA)",
    )


_MATRIX_FIELDS = {
    46: "bits 46-48 must be 0b001; 0 there is a descriptor of wgmma",
    52: "bit 52, an absolute leading offset, is for K-major operands of `tcgen05.mma` on sm_103a with a swizzle of 128 "
    "bytes and a base offset of 0",
    53: "bits 53-60 must be 0",
    61: "bits 61-63, the swizzle, must be 0 (none), 1 (128 bytes by atoms of 32), 2 (128), 4 (64) or 6 (32)",
}


def _bad_matrix(launch, instr):
    return (
        f"the matrix descriptor 0x{launch.ctx.address:016x} is not one: {_MATRIX_FIELDS[launch.ctx.access_bytes]}",
        "make it from the layout of the matrix in shared memory (`tcgen05.make_umma_smem_desc`)",
    )


def _matrix_outside(launch, instr):
    return (
        f"the matrix of descriptor 0x{launch.ctx.address:016x} has bytes at 0x{launch.ctx.access_bytes:x} of shared "
        f"memory, which has {launch.ctx.smem_bytes} bytes",
        "check the start and the offsets of the descriptor (both in units of 16 bytes) and the shape of the product",
    )


def _lane_of_d(launch, instr):
    return (
        f"D is at {_place(launch.ctx.address)}, and D of {launch.ctx.access_bytes} rows must begin at lane 0"
        + " or 16" * (launch.ctx.access_bytes == 64),
        "use the address that alloc gave, plus columns",
    )


def _sparse_rows(launch, instr):
    of = " of a pair" if launch.ctx.access_bytes else ""
    return (
        f"a sparse A{of} with {launch.ctx.address} rows is not emulated: where its metadata lie is known for 128 rows "
        "of a block, and for `.ws`",
        "use 128 rows in each block",
    )


def _place_of_metadata(launch, instr):
    return (
        f"the metadata are at {_place(launch.ctx.address)}, and must begin at lane 0 of an even column",
        "use the address that alloc gave, plus an even number of columns; the sparsity selector, bits 0-1 of the "
        "instruction descriptor, names the second column of the two",
    )


def _bad_metadata(launch, instr):
    row, code = launch.ctx.access_bytes, launch.ctx.address
    legal = (4, 14) if "kind::tf32" in instr.mods else (0, 4, 6, 8, 9, 12, 13, 14)
    *most, last = (f"0b{each:04b}" for each in legal)
    return (
        f"the metadata of row {row} of A has 0b{code:04b} for a chunk; it must be {', '.join(most)} or {last}",
        "compress A and its metadata together, and check where they are copied in tensor memory",
    )


def _lane_of_shift(launch, instr):
    return (
        f"it shifts rows from {_place(launch.ctx.address)} on, and the lane must be 0, 32, 64 or 96",
        "add a multiple of `32 << 16` to the address that alloc gave",
    )


def _rows_of_shift(launch, instr):
    return (
        f"`.ashift` needs an A of 128 or 256 rows, and A has {launch.ctx.address}",
        "use M = 128 (`.cta_group::2`: 128 or 256), or shift A by tcgen05.shift",
    )


def _zero_columns(launch, instr):
    return (
        f"the mask of columns that count as zero, 0x{launch.ctx.address:016x}, is not emulated",
        "leave the operand out, or give a descriptor of 0, and let B have zeros there",
    )


def _not_freed(launch, instr):
    return (
        f"the block ends and has not freed the {launch.ctx.address} columns that it allocated here",
        "free them before the block ends, when all have used them last (tcgen05.dealloc, `cute.arch.dealloc_tmem`)",
    )


def _other_group(launch, instr):
    theirs = 2 if launch.ctx.address else 1
    return (
        f"`.cta_group::{3 - theirs}` does not fit the allocation of tensor memory, which has `.cta_group::{theirs}`",
        "use one cta_group in all tcgen05 instructions of a kernel",
    )


ILLEGAL = {
    tensor_fault.OTHER_GROUP: _other_group,
    tensor_fault.NOT_FREED: _not_freed,
    tensor_fault.ZERO_COLUMNS: _zero_columns,
    tensor_fault.SPARSE_ROWS: _sparse_rows,
    tensor_fault.PLACE_OF_METADATA: _place_of_metadata,
    tensor_fault.BAD_METADATA: _bad_metadata,
    tensor_fault.LANE_OF_SHIFT: _lane_of_shift,
    tensor_fault.ROWS_OF_SHIFT: _rows_of_shift,
    tensor_fault.DIFFERS: _differs,
    tensor_fault.BAD_COLUMNS: _bad_columns,
    tensor_fault.MORE_COLUMNS: _more_columns,
    tensor_fault.NO_COLUMNS: _no_columns,
    tensor_fault.RELINQUISHED: _relinquished,
    tensor_fault.NOT_ALLOCATED: _not_allocated,
    tensor_fault.NOT_ITS_ALLOCATION: _not_its_allocation,
    tensor_fault.OTHER_QUARTER: _other_quarter,
    tensor_fault.HALF_QUARTER: _half_quarter,
    tensor_fault.STILL_USED: _still_used,
    tensor_fault.NO_PEER: _no_peer,
    tensor_fault.BAD_INSTRUCTION: _bad_instruction,
    tensor_fault.BAD_MATRIX: _bad_matrix,
    tensor_fault.MATRIX_OUTSIDE: _matrix_outside,
    tensor_fault.LANE_OF_D: _lane_of_d,
}
