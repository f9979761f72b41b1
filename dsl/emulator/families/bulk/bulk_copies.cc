// Bulk copies on their way: one queue a block, in the order they were started. PTX ISA 9.7.9.25.4, 9.7.9.27.
//
// A copy into shared memory lands when a thread of the cluster looks at an mbarrier; one out of it when its thread
// waits for its group, or ends. Hardware may land them earlier; landing late makes a missing wait visible every time.
//
// Stores and reductions in another block's shared memory are entries too (PTX ISA 9.7.9.12, st.async; 9.7.13.7,
// red.async): they land as copies into shared memory do.
#include "check/check.h"
#include "families/mbarrier/word.h"
#include "families/reduction/bulk_reductions.h"
#include "families/tensor_map/box_copies.h"
#include "machine/grid.h"
#include "machine/queues.h"

extern "C" void emu_bulk_arrive_at(Context *, u64 barrier);

struct BulkEntry {
  u32 kind, thread, group, size, has_landed;  // one that has landed is there for checkers: it was read, not written
  u64 smem, other, barrier;
  union {
    i32 coords[8];  // and offsets of pixels
    u64 value[2];   // what is stored
  };
  u8 map[tensor_map::BYTES];  // as it was when the copy began

  bool enters() const { return !(kind & 1); }
};

namespace {

using bulk::REDUCTION_SHIFT;
constexpr i32 EVERY = 0x7FFFFFFF;  // of groups

// A new entry; its coordinates are the caller's to fill in.
BulkEntry &add(Context *ctx, u32 tid, u32 kind, u32 size, u64 smem, u64 other, u64 barrier) {
  BulkQueue &queue = bulk_of(ctx);
  BulkEntry &entry = add_entry(queue, &BulkQueue::bulk_copies);
  entry.kind = kind, entry.thread = tid, entry.group = queue.committed[tid], entry.size = size;
  entry.has_landed = 0;
  entry.smem = smem, entry.other = other, entry.barrier = barrier;
  emu_cluster_wake(ctx);
  return entry;
}

// complete_tx at an mbarrier.
void complete(Context *ctx, u64 *barrier, u32 size, u32 tid) {
  const bool ended = count_in(*barrier, 0, size);
  emu_cluster_wake(ctx);
  tell_order(ctx, ORDER_MB_LANDED, tid, (u64)barrier, ended);
}

// The result of a reduction of 32 bits.
u32 reduced(u32 kind, u32 old, u32 given) {
  using namespace async_store;
  switch (kind) {
    case ADD_32: return old + given;
    case MIN_U32: return min(old, given);
    case MAX_U32: return max(old, given);
    case MIN_S32: return min<i32>(old, given);
    case MAX_S32: return max<i32>(old, given);
    case AND_32: return old & given;
    case OR_32: return old | given;
    case XOR_32: return old ^ given;
    case INC_32: return old >= given ? 0 : old + 1;
    case DEC_32: return old == 0 || old > given ? given : old - 1;
  }
  return old;
}

void land_value(const BulkEntry &one) {
  if (one.kind == async_store::STORE) __builtin_memmove((u8 *)one.smem, one.value, one.size);
  else if (one.kind == async_store::ADD_64) *(u64 *)one.smem += one.value[0];
  else *(u32 *)one.smem = reduced(one.kind, *(u32 *)one.smem, one.value[0]);
}

void land_bytes(const BulkEntry &one, u32 reduction) {
  u8 *target = (u8 *)(one.enters() ? one.smem : one.other), *source = (u8 *)(one.enters() ? one.other : one.smem);
  if (reduction) bulk_reduce(target, source, one.size, reduction);
  else __builtin_memmove(target, source, one.size);
}

// `visit` the bytes in global memory that a copy reads or writes.
bool visit_global(const BulkEntry &one, Visit visit, void *data) {
  if ((one.kind & 3) < bulk::BOX_IN) return visit(data, one.other, one.size);
  return visit_box(*(const TensorMap *)one.map, one.coords, visit, data);
}

u32 transaction_bytes(const BulkEntry &one) {
  bool is_box = (one.kind & ((1 << REDUCTION_SHIFT) - 1)) == bulk::BOX_IN;
  return is_box ? box_transaction_bytes(*(const TensorMap *)one.map, one.size) : one.size;
}

// One copy happens, or an asynchronous store.
void land(Context *ctx, const BulkEntry &one) {
  u32 kind = one.kind & ((1 << REDUCTION_SHIFT) - 1), reduction = one.kind >> REDUCTION_SHIFT;
  if (kind >= async_store::STORE) land_value(one);
  else if (kind < bulk::BOX_IN) land_bytes(one, reduction);
  else box_copy(*(const TensorMap *)one.map, one.smem, one.coords, one.enters(), reduction);
  if (ctx->shadows && !one.enters()) {
    auto visit = [](void *data, u64 address, u64 size) {
      return emu_written_out((Context *)data, address, size), true;
    };
    visit_global(one, visit, ctx);
  }
  if (ctx->landed) ctx->landed(ctx, one.thread, one.smem, one.size | (one.enters() ? SIGNALS : COPIED_OUT));
  if (one.enters()) complete(ctx, (u64 *)one.barrier, transaction_bytes(one), one.thread);
}

// Drop the entries for which `ends` is true; the others stay.
template <class Ends> void sweep(Context *ctx, Ends ends) {
  BulkQueue &queue = bulk_of(ctx);
  u32 kept = 0;
  for (u32 i = 0; i < queue.count; ++i)
    if (BulkEntry &entry = queue.bulk_copies[i]; !ends(entry))
      __builtin_memmove(&queue.bulk_copies[kept++], &entry, sizeof entry);
  queue.count = kept;
}

bool leaves(const BulkEntry &one, u32 tid) { return !one.enters() && one.thread == tid; }

bool is_checked(const Context *ctx) { return ctx->order_kinds & orders::BULK; }

// What the thread of a copy wrote in global memory has been waited for.
void end_writes(Context *ctx, const BulkEntry &one) {
  struct Whose {
    Context *ctx;
    u32 tid;
  } whose{ctx, one.thread};
  auto visit = [](void *data, u64 address, u64 size) {
    emu_race_landed(((Whose *)data)->ctx, ((Whose *)data)->tid, address, size);
    return true;
  };
  visit_global(one, visit, &whose);
}

// Land the copies out of shared memory that a thread began in groups below `groups`. Without `written` only their
// reads are waited for.
void land_out(Context *ctx, u32 tid, i32 groups, bool written) {
  sweep(ctx, [=](BulkEntry &one) {
    if (!leaves(one, tid) || (i32)one.group >= groups) return false;
    if (!one.has_landed) land(ctx, one);
    one.has_landed = 1;
    if (written && is_checked(ctx)) end_writes(ctx, one);
    return written || !is_checked(ctx);
  });
}

// Whether nothing races with what the copy that was started last does in global memory, or that before the `later` last
// ones; else a fault.
bool check_global(Context *ctx, u32 site, u32 later = 0) {
  const BulkQueue &queue = bulk_of(ctx);
  const BulkEntry &one = queue.bulk_copies[queue.count - 1 - later];
  struct Access {
    Context *ctx;
    u32 tid, site, kind;
  } access{ctx, one.thread, site, FEW};
  if (!one.enters()) access.kind = WRITE | ASYNC | STRONG * (one.kind >> REDUCTION_SHIFT != 0);
  auto visit = [](void *data, u64 address, u64 size) {
    const Access &in = *(const Access *)data;
    return emu_bulk_touches(in.ctx, in.tid, in.site, address, size, in.kind) != 0;
  };
  return visit_global(one, visit, &access);
}

// An instruction of a thread that starts copies.
struct Starter {
  Context *ctx;
  u32 tid, site, kind;

  // The host address of `size` bytes at one in shared::cluster; 0 and a fault where they are not all there.
  u64 place(u64 address, u64 size, u64 alignment) const {
    return cluster_place(ctx, site, tid, address, size, alignment);
  }

  u64 rank_of(u64 address) const { return ::rank_of(ctx, address); }

  // The same of the mbarrier that a copy to `data` will signal; a fault where there is none, or it is another block's,
  // or of another pair's.
  u64 signalled(u64 address, u64 data, bool paired = false) const {
    static_assert(mbarrier::COPIES == 16);
    u64 barrier = place(address, 8, 8), rank = rank_of(data);
    if ((rank_of(address) ^ rank) > paired) return illegal(ctx, tid, site, OTHER_MBARRIER, barrier, rank);
    return emu_note_16(ctx, tid, site, barrier, 0) ? barrier : 0;
  }

  // `start(smem, barrier)` with host addresses, for each block that a copy is for: of a multicast those in `mask`, at
  // the places that the addresses have in their block. 0 after a fault.
  template <class Start> u32 for_targets(u64 smem, u64 barrier, u32 mask, u64 size, u64 alignment, Start start) const {
    bool many = mask & MULTICAST, paired = mask & PAIRED;
    for (u32 rank : Bits{many ? mask & (MULTICAST - 1) : 1}) {
      u64 data = many ? of_rank(smem, rank) : smem, target = place(data, size, alignment), signal = 0;
      if (!target) return 0;
      u64 told = many ? of_rank(barrier, signalled_rank(ctx, barrier, mask, rank)) : barrier;
      if (!(kind & 1) && !(signal = signalled(told, data, paired))) return 0;  // a copy out has none
      if (!start(target, signal)) return 0;
    }
    return 1;
  }
};

}  // namespace

extern "C" {

// Start a copy of `size` bytes between `smem`, in shared::cluster, and address `other`; 0 after a fault.
u32 emu_bulk_copy(Context *ctx, u32 tid, u32 site, u32 kind, u64 smem, u64 other, u32 size, u64 barrier, u32 mask) {
  if (size & 15) return illegal(ctx, tid, site, BAD_BULK, size);
  auto start = [&](u64 target, u64 signal) {
    if (other & 15) {
      emu_fault(ctx, MISALIGNED, site, tid, other, 16, 0);
      return false;
    }
    if (!emu_range(ctx, other, size, 1, GLOBAL, site, tid)) return false;
    add(ctx, tid, kind, size, target, other, signal);
    return true;
  };
  if (!Starter{ctx, tid, site, kind}.for_targets(smem, barrier, mask, size, 16, start)) return 0;
  return !is_checked(ctx) || check_global(ctx, site);
}

// Start a copy of `size` bytes from `smem` of the block to `other` in shared::cluster; 0 after a fault.
u32 emu_bulk_peer(Context *ctx, u32 tid, u32 site, u32 kind, u64 smem, u64 other, u32 size, u64 barrier) {
  if (size & 15) return illegal(ctx, tid, site, BAD_BULK, size);
  const Starter starter{ctx, tid, site, kind};
  u64 source, target, signal;
  if (!(kind >> REDUCTION_SHIFT) && starter.rank_of(other) == ctx->cluster_rank)
    return illegal(ctx, tid, site, OWN_TARGET);
  if (!(source = starter.place(smem, size, 16)) || !(target = starter.place(other, size, 16))) return 0;
  if (!(signal = starter.signalled(barrier, other))) return 0;
  add(ctx, tid, kind, size, target, source, signal);
  return 1;
}

// Start a copy of a box of the tensor of a map, or of four rows; 0 after a fault.
u32 emu_bulk_box(Context *ctx, u32 tid, u32 site, u32 kind, u64 smem, u64 address, u64 barrier, u32 mask, u32 rank,
                 u32 c0, u32 c1, u32 c2, u32 c3, u32 c4, u32 c5, u32 c6, u32 c7) {
  u32 given[8] = {c0, c1, c2, c3, c4, c5, c6, c7};
  const i32 *coords = (const i32 *)given;
  const u32 rows[4] = {c1, c2, c3, c4}, count = rank & tensor_map::ROWS ? 4 : 1;
  if (!check_map(ctx, address, rank & ~tensor_map::ROWS, site, tid)) return 0;
  const TensorMap &map = *(const TensorMap *)address;
  if (count > 1 && map.box_extent(1) != 1) return illegal(ctx, tid, site, BAD_ROWS, map.box_extent(1));
  if (u32 reduction = kind >> REDUCTION_SHIFT) {
    u32 whole = reduction | map.type();
    if (!is_reduction(whole)) return illegal(ctx, tid, site, BAD_REDUCTION, whole);
    kind |= map.type() << REDUCTION_SHIFT;
  }
  if (!check_start(ctx, map, coords, site, tid) || !check_halo(ctx, map, coords, site, tid)) return 0;
  const u32 size = box_bytes(map, coords);
  auto start = [&](u64 target, u64 signal) {
    for (u32 row = 0; row < count; ++row) {
      if (count > 1) given[1] = rows[row], given[2] = given[3] = given[4] = 0;
      if (!check_range(ctx, map, coords, site, tid)) return false;
      BulkEntry &entry = add(ctx, tid, kind, size, target + row * size, address, signal);
      __builtin_memcpy(entry.coords, given, sizeof given);
      __builtin_memcpy(entry.map, &map, sizeof entry.map);
    }
    return true;
  };
  if (!Starter{ctx, tid, site, kind}.for_targets(smem, barrier, mask, box_room(map, size, count), 128, start)) return 0;
  for (u32 row = 0; is_checked(ctx) && row < count; ++row)
    if (!check_global(ctx, site, count - 1 - row)) return 0;
  return 1;
}

// Start the store or reduction of `size` bytes of `low` and `high` at an address, and of their complete_tx; 0 after a
// fault.
u32 emu_async_store(Context *ctx, u32 tid, u32 site, u32 kind, u64 address, u64 barrier, u32 size, u64 low, u64 high) {
  const Starter starter{ctx, tid, site, kind};
  u64 target = starter.place(address, size, size), signal;
  if (!target || !(signal = starter.signalled(barrier, address))) return 0;
  BulkEntry &entry = add(ctx, tid, kind, size, target, site, signal);
  entry.value[0] = low, entry.value[1] = high;
  return 1;
}

void emu_bulk_commit(Context *ctx, u32 tid) { ++bulk_of(ctx).committed[tid]; }

// Land what the thread copied out of shared memory in all its groups but the last `keep`; `written`: not for .read.
void emu_bulk_wait(Context *ctx, u32 tid, u32 keep, u32 written) {
  land_out(ctx, tid, bulk_of(ctx).committed[tid] - keep, written);
}

// A thread ends: what it copied out of shared memory lands. A checker hears of it.
void emu_bulk_exit(Context *ctx, u32 tid) {
  const BulkQueue &queue = bulk_of(ctx);
  for (u32 i = 0; i < queue.count; ++i)
    if (leaves(queue.bulk_copies[i], tid) && !queue.bulk_copies[i].has_landed) tell_order(ctx, ORDER_BULK_LEFT, tid, 0);
  land_out(ctx, tid, EVERY, false);
}

// A thread looks at an mbarrier: what blocks of the cluster copy into shared memory lands.
void emu_bulk_arrive(Context *ctx) { emu_bulk_arrive_at(ctx, 0); }

// The same of the copies that signal one mbarrier; 0: all.
void emu_bulk_arrive_at(Context *ctx, u64 barrier) {
  for (Context &slot : Mates{ctx})
    sweep(&slot, [&](const BulkEntry &one) {
      bool lands = one.enters() && (!barrier || one.barrier == barrier);
      if (lands) land(&slot, one);
      return lands;
    });
}
}
