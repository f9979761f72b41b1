"""The memory that generated code, the native scheduler and Python share during one launch."""

from __future__ import annotations

import ctypes
from typing import Any

MAX_THREADS = 1024
MAX_WARPS = 32
MAX_CLUSTER = 16  # blocks, on GPUs that are asked for more than the portable 8
BARRIERS = 17
ALL_THREADS = 2**32 - 1  # `stopped_thread` of code that runs for all threads of a block, region by region
CLUSTER_BARRIER = 16  # the barrier of the block's cluster; those before it are the block's own

# `status` of a launch: 0 while all is well.
INTERRUPTED, OUT_OF_BOUNDS, MISALIGNED, TRAP, DEADLOCK, ILLEGAL, CALLBACK, RACE, UNDEFINED, EXITED = range(1, 11)
ASYNC_REGISTER, NOT_VISIBLE, NOT_INITIALIZED, IN_USE, COLLISION, DIVERGED, LAPPED, NOT_STARTED = range(11, 19)
FINDINGS = (
    RACE, UNDEFINED, ASYNC_REGISTER, NOT_VISIBLE, NOT_INITIALIZED, IN_USE, COLLISION, DIVERGED, LAPPED, NOT_STARTED,
)  # fmt: skip
KIND_NAMES = {  # keys of dsl/finding_kinds.py
    OUT_OF_BOUNDS: "OUT_OF_BOUNDS",
    MISALIGNED: "MISALIGNED",
    TRAP: "TRAP",
    DEADLOCK: "DEADLOCK",
    ILLEGAL: "ILLEGAL",
    RACE: "RACE",
    UNDEFINED: "UNDEFINED_READ",
    EXITED: "EXITED_BLOCK",
    NOT_VISIBLE: "MBARRIER_NOT_VISIBLE",
    NOT_INITIALIZED: "MBARRIER_NOT_INITIALIZED",
    IN_USE: "MBARRIER_IN_USE",
    COLLISION: "BARRIER_COLLISION",
    DIVERGED: "DIVERGENT_BARRIER",
    LAPPED: "MBARRIER_LAPPED",
    NOT_STARTED: "BLOCK_NOT_STARTED",
}

# Why an instruction is illegal: `detail` of the fault record.
NOT_IN_MASK, BAD_BARRIER, BARRIER_COUNTS, BAD_SOURCE_SIZE, COUNT_NOT_WARPS, BAD_INDEX, BAD_RANK = range(1, 8)
BAD_MAP, BAD_BULK, BAD_REDUCTION, BAD_START, BAD_INTERLEAVE = 8, 9, 10, 11, 12
ARRIVED_TWICE, NOT_ARRIVED = 35, 36  # at the barrier of the cluster
NOT_SHARED, BAD_ARRIVALS = 37, 38  # of an mbarrier: its address, its count
# of a copy: its mbarrier is not in the block that gets the bytes, whose rank is in the size; that block is its own
OTHER_MBARRIER, OWN_TARGET = 41, 42
WRONG_WAY, NO_SYNC, OTHER_COUNT, NOT_ALL, NO_REGISTERS = range(44, 49)  # of setmaxnreg
REMOTE_MBARRIER = 43  # at an mbarrier of another block: what only its threads may do
MAP_MISALIGNED, MAP_PLACE = 39, 40  # of a tensor map: its address; whether it is in shared (1) or local memory
BAD_FREE, STACK_FULL = 49, 50  # of an address that malloc did not give; no room for an alloca
BAD_FUNCTION, RECURSION = (
    51,
    52,
)  # of a call through a register: it has the address of none; of functions that call themselves: no room
BAD_FILL = 58  # of st.bulk: its size
NOT_MULTIMEM = 59  # of a multimem instruction: its address, and how many bytes it touches
# of im2col::w: its halo, its offset; the halo goes past the end of a row; the first pixel is past it
BAD_HALO, BAD_OFFSET, HALO_ENDS, PAST_ROW = 61, 62, 63, 69
BAD_ROWS = 57  # of a copy of four rows: the rows of the map's box
ASKED_AGAIN, NO_ANSWER = 55, 56  # of clusterlaunchcontrol: after a refusal was seen; of other bytes than an answer
BAD_TEXTURE, OUTSIDE_SURFACE = 53, 54  # of a handle that is not a texture; of an access with .trap
BAD_SELECTOR = 60  # of the scales of mma: the operand; the wrong id is the size
MOST_ARRIVALS = (1 << 20) - 1  # that an mbarrier counts
NOT_UNIFORM = 33  # threads of a warpgroup differ in what must be the same for all
PARTIAL_WARPGROUP = 34  # a warpgroup's instruction that not all its threads can reach; the address is their number

PARTIAL_WARP = 32  # a warp's instruction that not all 32 lanes reach; the address is the mask of those that do not

EARLY = 65  # `detail` of an access to shared memory of a block that may end before it
IN_FLIGHT = 66  # `detail` of a copy to shared memory of a block that ends before it has waited for it
SENDS = 67  # `detail` of a copy out of shared memory of a block that ends before it has heard of its end
CLUSTER = 64  # `detail` of an access by an address in shared memory of a cluster; its rank is in the address

# Flags with the bytes that `landed` gets: a copy out of shared memory, which only reads; a copy that an mbarrier
# signals, which counts as complete for a thread that has waited there.
COPIED_OUT, SIGNALS = -(1 << 31), 1 << 30

# The kinds of address intervals, as bits: an access names the kinds it may touch.
GLOBAL, SHARED, LOCAL, CONST, PARAM = 1, 2, 4, 8, 16
GENERIC = GLOBAL | SHARED | LOCAL | CONST | PARAM
MULTIMEM, DISTANCE_SHIFT = 32, 8  # of multimem addresses, with the distance to their memory: families/multimem

# The work of a slot: nothing, a block, a block that only polls memory for now, a block that will not go on, nothing
# while other blocks of its cluster run.
IDLE, RUNNING, WAITING, DEAD, GONE = range(5)
# Bits of `seen`, for a launch: a shuffle read a lane that took no part; a product that nobody measured.
SEEN_ABSENT_LANE, SEEN_UNMEASURED = 1, 2
MULTICAST = 1 << 16  # set in the mask of the blocks that a copy is for; without it the address names one
PAIRED = 1 << 17  # the same if a copy may signal the mbarrier of the other block of a pair
RANK_SHIFT = 24  # of an address in shared memory of a cluster: the rank of its block + 1; 0: the block itself
EARLIER_GRID = (1 << 31) - 1  # in the place of a block: what the launch before did
NOBODY = 0xFE  # the greatest rank that an address has room for
NO_FAULT = 2**64 - 1
# Events and questions for order.py.
(
    ORDER_ACROSS, ORDER_BARRIER, ORDER_ARRIVE, ORDER_WARP, ORDER_MB_INIT, ORDER_MB_ARRIVE, ORDER_MB_WAIT, ORDER_FENCE,
    ORDER_ACCESS, ORDER_WGMMA, ORDER_WGMMA_WAIT, ORDER_WGMMA_DONE, ORDER_PROXY, ORDER_GENERIC,
    ORDER_CLUSTER_ARRIVE, ORDER_CLUSTER_DONE, ORDER_CLUSTER_WAIT, ORDER_INIT_FENCE, ORDER_VISIT, ORDER_EXIT,
    ORDER_MB_LANDED, ORDER_MAP_CHANGED, ORDER_MAP_FENCED, ORDER_MAP_USED, ORDER_COPY, ORDER_WGMMA_ACROSS,
    ORDER_GENERATION, ORDER_MB_INVAL, ORDER_WARP_MEETING, ORDER_BLOCK_MEETING, ORDER_OBSERVES, ORDER_OBSERVED,
    ORDER_MAP_STORED, ORDER_BULK_STORE, ORDER_BULK_LEFT, ORDER_UNPROXIED, ORDER_MB_LOOK, ORDER_OLD, ORDER_MB_PEEK,
    ORDER_MB_COPIES, ORDER_MB_COPIED, ORDER_GRIDS, ORDER_REGISTERS, ORDER_EXCHANGE,
    ORDER_TENSOR_COMMIT, ORDER_TENSOR_ARRIVE, ORDER_TENSOR_FENCE,
) = range(47)  # fmt: skip
ASKED = 2  # of `stop`: signals are to be heard, and the block may then go on (1: it is to stop)

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class Grid(ctypes.Structure):
    """The state that the workers of one launch share. Blocks are numbered x fastest."""

    _fields_ = [
        ("next_block", _u64),  # the first block that no worker has taken
        ("apart", _u64 * 7),
        ("first_fault", _u64),  # the lowest block that ended badly, or NO_FAULT
        ("blocks", _u64),
        ("chunk", _u64),  # blocks taken at a time
        ("block_step", _u64),  # the n-th block taken is (block_start + n * block_step) % blocks
        ("block_start", _u64),
        ("slots", _u64),  # every Context of the launch, linked by `every`
        ("more", _u64),  # callback(a worker's first Context) -> another one for it, or 0
        ("halt", _u32),
        ("raised", _u32),  # the handler of a signal raised, in the thread that launches
    ]


class Context(ctypes.Structure):
    """A slot: where one block at a time runs. Addresses are of the host; sizes are bytes; masks hold a bit a lane."""

    _fields_ = [
        ("stop", _u32),
        ("status", _u32),
        # where its launch and its worker keep it
        ("state", _u32),
        ("spins", _u32),  # rounds in which this block did nothing but poll memory
        ("order", _u32),  # state of the random numbers that choose who runs next; 0: in order
        ("decisions", _u64),  # which of them count: see execute/decisions.py; 0: all
        ("rounds", _u32),  # of the scheduler since mbarriers were looked at
        ("mbarrier_idle", _u32),  # how often in a row all that could run waited at mbarriers
        ("pausing", _u32),  # the warps that pause (machine/random.h)
        ("pause_rounds", _u32),  # how long they have paused
        ("pause_quiet", _u32),  # for how long nothing else in the block has moved
        ("idle", _u32),  # rounds in a row, since the block began, in which its threads did nothing but poll
        ("gives_way", _u32),  # whether threads give way before they touch memory that others see
        ("patience", _u32),  # rounds after which a block that only polls memory gives way
        # its cluster: see families/cluster/clusters.cc
        ("cluster_rank", _u32),
        ("cluster_blocks", _u32),
        ("cluster_base", _u64),  # what a shared::cluster address with a rank is relative to
        ("absent", _u64),  # ranks + 1 that no block of the cluster has, or whose block has ended; a bit each
        ("refused_site", _u32),  # where the block saw that a clusterlaunchcontrol request failed, site + 1; 0: nowhere
        ("leader", _u64),  # the slot of its first block
        ("mate", _u64),  # the ring of its slots
        ("shared_grid", _u64),
        ("next", _u64),  # the ring of its worker's slots
        ("every", _u64),
        ("chunk_next", _u64),  # a worker's first slot only: the blocks it has taken and not begun
        ("chunk_end", _u64),
        ("block", _u64),  # the block now running, or the last one
        # the fault record
        ("site", _u32),
        ("thread", _u32),
        ("address", _u64),
        ("access_bytes", _u64),
        ("old_value", _u64),  # that a load reads in the place of memory: families/memory/old_values.py
        ("detail", _u64),
        # where a block was that was stopped: the branch of a loop, site + 1 (0: no loop), and who ran
        ("stopped_site", _u32),
        ("stopped_thread", _u32),
        # the launch
        ("grid", _u32 * 3),
        ("block_dim", _u32 * 3),
        ("block_index", _u32 * 3),
        ("cluster", _u32 * 3),
        ("threads", _u32),
        ("warps", _u32),
        ("smem_static", _u32),
        ("smem_dynamic", _u32),
        ("multiprocessors", _u32),
        ("params", _u64),
        ("smem", _u64),
        ("smem_bytes", _u64),
        ("local", _u64),
        ("local_bytes", _u64),  # a thread
        ("variables", _u64),
        ("grid_workspace", _u64),  # of a cooperative launch; 0: there is none
        # address intervals, sorted: lo, hi, kind (u64 each)
        ("intervals", _u64),
        ("interval_count", _u64),
        ("sites", _u64),  # per memory instruction: lo, limit (u64 each)
        ("sites_bytes", _u64),
        ("print", _u64),  # callback(format, arguments, thread)
        # coroutine frames
        ("frames", _u64),
        ("frame_bytes", _u64),
        # cp.async queues, one a thread: see families/cp_async/emit.py
        ("queues", _u64),
        ("mbarrier_log", _u64),  # see families/mbarrier/mbarrier_log.cc; 0 where the kernel has none
        ("mbarrier_serial", _u32),
        ("bulk", _u64),  # bulk copies on their way: see families/bulk/bulk_copies.cc
        ("tensor", _u64),  # tensor memory: see families/tcgen05/tensor_memory.h
        # the checkers; all 0 where nothing is checked. See check/race.cc, undefined.cc, shadow.cc and order.py
        ("race_shift", _u32),  # log2 of the bytes that a cell is for
        ("order_kinds", _u32),
        ("now", _u32),  # the label given last
        ("epoch", _u32),  # what was labelled lower in this block is ordered before all that its threads do now
        ("labels", _u64),  # u32 a thread
        ("known", _u64),  # u32 [thread, other]: the last label of the other that the thread has seen the end of
        ("smem_cells", _u64),
        ("smem_valid", _u64),
        ("local_valid", _u64),
        ("shadows", _u64),  # one an interval
        ("trail", _u64),  # see check/trail.py
        ("met", _u64),  # a Met for each warp
        ("exchanges", _u32),  # how often lanes have met so
        ("near_lo", _u64),
        ("near_bytes", _u64),
        ("near_cells", _u64),
        ("near_valid", _u64),
        ("chunks", _u64),  # of cells with many entries
        ("begin_checks", _u64),  # native functions, and one of Python
        ("order_barrier", _u64),
        (
            "partial_barriers",
            _u32,
        ),  # by number: whether some threads alone met there last; see families/barrier/check.py
        ("landed", _u64),
        ("order_call", _u64),
        ("matrix_read", _u64),  # a native function; what follows is of wgmma, see families/warpgroup/wgmma_reads.cc
        ("matrix_reads", _u64),  # one for 16 bytes of shared memory
        ("matrix_known", _u64),  # u32 a thread, as `proxied`
        ("proxied", _u64),
        ("matrix_group", _u32),
        ("peer_group", _u32),  # the last write of another block that this group of wgmma may read: its entry in a cell
        ("peer_meta", _u64),
        ("peer_labels", _u64),
        ("other_block", _u64),
        ("other_thread", _u32),
        ("other_site", _u32),
        ("other_kind", _u32),
        ("other_label", _u32),
        ("site_lines", _u64),  # u32 a site: the same number for sites of one source line
        ("note_site", _u32),  # of two writes of one value that nothing orders: the site + 1; 0: there were none
        ("note_thread", _u32),
        ("note_other_thread", _u32),
        ("note_address", _u64),
        ("note_block", _u64),
        ("note_other_block", _u64),
        ("lone_site", _u32),  # of an arrival at a named barrier where no thread can wait, as `note_site`
        ("lone_thread", _u32),
        ("lone_block", _u64),
        ("lone_number", _u32),
        ("step_site", _u32),  # of two volatile accesses by lanes of a warp that nothing orders, as `note_site`
        ("step_other_site", _u32),
        ("step_thread", _u32),
        ("step_other_thread", _u32),
        ("step_address", _u64),
        ("step_block", _u64),
        ("undefined_site", _u32),  # where an undefined value was first passed on
        ("undefined_thread", _u32),
        ("undefined_mark", _u64),  # 0: nowhere
        ("undefined_block", _u64),
        ("seen", _u32),  # SEEN_ABSENT_LANE and its like
        # the scheduler: one bit a lane
        ("live", _u32 * MAX_WARPS),
        ("exited", _u32 * MAX_WARPS),
        ("ready", _u32 * MAX_WARPS),
        ("in_warp", _u32 * MAX_WARPS),
        ("in_active", _u32 * MAX_WARPS),
        ("in_barrier", _u32 * MAX_WARPS),
        ("at_cluster", _u32 * MAX_WARPS),  # arrived at the barrier of the cluster, and has not waited for it yet
        ("in_mbarrier", _u32 * MAX_WARPS),  # a wait at an mbarrier failed lately
        ("learnt", _u32 * MAX_WARPS),  # made a strong access: a shuffle may pass on what it saw
        ("polling", _u32 * MAX_WARPS),  # gave way or waits in an idle loop: see ptx/polling.py
        # the barriers: threads that have come (to wait, or only to arrive), threads that wait
        ("arrived", _u32 * (BARRIERS * MAX_WARPS)),
        ("at_barrier", _u32 * (BARRIERS * MAX_WARPS)),
        ("arrived_extra", _u32 * BARRIERS),
        ("barrier_votes", _u32 * BARRIERS),
        ("barrier_count", _u32 * BARRIERS),
        ("barriers_used", _u32),
        ("barriers_voting", _u32),
        # one a thread
        ("wait_site", _u32 * MAX_THREADS),
        ("poll_site", _u32 * MAX_THREADS),  # what an idle loop looks at
        ("key", _u32 * MAX_THREADS),
        ("mask", _u32 * MAX_THREADS),
        ("b", _u32 * MAX_THREADS),
        ("c", _u32 * MAX_THREADS),
        ("out", _u32 * MAX_THREADS),
        ("out_pred", _u32 * MAX_THREADS),
        ("a", _u64 * MAX_THREADS),
        ("handle", _u64 * MAX_THREADS),
        # the mark of an undefined value (check/undefined.cc) that a lane gives to a shuffle, and that it gets
        ("mark_given", _u64 * MAX_THREADS),
        ("mark_got", _u64 * MAX_THREADS),
    ]


FIELDS: dict[str, Any] = {field[0]: field[1] for each in (Grid, Context) for field in each._fields_}
_OFFSETS = {field[0]: getattr(each, field[0]).offset for each in (Grid, Context) for field in each._fields_}


def offset(name: str) -> int:
    """Byte offset of a field of Context or Grid."""
    return _OFFSETS[name]
