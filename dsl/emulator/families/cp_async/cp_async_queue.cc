// Pending cp.async copies: a queue a thread, in groups. Bytes land when the thread waits for their group, or when some
// thread looks at an mbarrier after a cp.async.mbarrier.arrive of theirs.
//
// PTX ISA: cp.async, cp.async.commit_group, cp.async.wait_group, cp.async.mbarrier.arrive. Hardware may land them
// earlier; landing late makes a missing wait visible every time. For checkers a copy that has landed is on its way
// until its thread waits for its group, or somebody for the phase that has the arrival: only then its entry goes.
#include "check/check.h"
#include "machine/grid.h"
#include "machine/queues.h"

namespace {

// An arrival that the system makes; families/mbarrier/emit.py defines the 64 bits of an mbarrier.
void arrive(Context *ctx, u32 tid, u64 *barrier) {
  constexpr u64 FEW = (1 << 20) - 1, BYTES = ((1ull << 21) - 1) << 40;
  u64 word = (*barrier & ~FEW) | ((*barrier - 1) & FEW);
  bool ended = !(word & (BYTES | FEW));
  *barrier = ended ? (word | (word >> 20 & FEW)) ^ 1ull << 63 : word;
  emu_cluster_wake(ctx);
  tell_order(ctx, ORDER_MB_COPIED, tid, (u64)barrier, ended);
}

// Land the entries up to `end`. `marks`: what the checkers hear of each copy, besides its size.
void land(Context *ctx, u32 tid, CopyQueue &queue, u32 end, u32 marks) {
  for (; queue.done < end; ++queue.done) {
    const CopyEntry &one = queue.copies[queue.done];
    if (one.arrives) {
      --queue.arrivals;
      arrive(ctx, tid, (u64 *)one.destination);
      continue;
    }
    u8 *target = (u8 *)one.destination;
    __builtin_memmove(target, (u8 *)one.source, one.source_size);
    __builtin_memset(target + one.source_size, 0, one.size - one.source_size);
    if (ctx->landed) ctx->landed(ctx, tid, one.destination, one.size | marks);
  }
}

// Drop the entries up to `end`, which have landed.
void drop(CopyQueue &queue, u32 end) {
  queue.head = end;
  if (end < queue.count) return;
  queue.gone += queue.count;
  queue.head = queue.count = queue.done = 0;
}

// The byte that a copy brings to an address of its destination.
u8 byte_for(const CopyEntry &copy, u64 address) {
  u64 offset = address - copy.destination;
  return offset < copy.source_size ? ((const u8 *)copy.source)[offset] : 0;
}

// Whether each copy of a thread to an address brings this byte; where there is none, whether it is there.
bool brings(Context *ctx, u32 tid, u64 address, u8 byte) {
  const CopyQueue &queue = copies_of(ctx, tid);
  bool has_any = false;
  for (u32 i = queue.head; i < queue.count; ++i) {
    const CopyEntry &one = queue.copies[i];
    if (address - one.destination >= one.size) continue;  // an arrival has no bytes
    if (byte_for(one, address) != byte) return false;
    has_any = true;
  }
  return has_any || *(const u8 *)address == byte;
}

}  // namespace

extern "C" {

void emu_queue_copy(Context *ctx, u32 tid, u64 destination, u64 source, u32 size, u32 source_size) {
  CopyQueue &queue = copies_of(ctx, tid);
  add_entry(queue, &CopyQueue::copies) = {destination, source, size, source_size, queue.committed, false};
}

// Whether the last copy of a thread brings the same to some bytes as another thread's copies did or will.
u32 emu_copies_alike(Context *ctx, u32 tid, u32 other_tid, u64 address, u32 size) {
  const CopyQueue &queue = copies_of(ctx, tid);
  const CopyEntry &last = queue.copies[queue.count - 1];
  for (u64 at = address; at < address + size; ++at)
    if (!brings(ctx, other_tid, at, byte_for(last, at))) return false;
  return true;
}

void emu_queue_commit(Context *ctx, u32 tid) { ++copies_of(ctx, tid).committed; }

// Land every copy whose group is followed by at least `keep` committed groups, and the arrivals after such copies.
void emu_queue_wait(Context *ctx, u32 tid, u32 keep) {
  CopyQueue &queue = copies_of(ctx, tid);
  u32 end = queue.head;
  for (; end < queue.count; ++end) {
    const CopyEntry &one = queue.copies[end];
    if (!one.arrives && (u64)one.group + keep >= queue.committed) break;
    bool has_landed = end < queue.done && !one.arrives;  // kept for a checker
    if (has_landed) ctx->landed(ctx, tid, one.destination, one.size);
  }
  land(ctx, tid, queue, end, 0);
  drop(queue, end);
}

// cp.async.mbarrier.arrive; `counts`: without .noinc the phase waits for one arrival more.
void emu_queue_arrive(Context *ctx, u32 tid, u32 site, u64 barrier, u32 counts) {
  CopyQueue &queue = copies_of(ctx, tid);
  add_entry(queue, &CopyQueue::copies) = {barrier, 0, 0, 0, queue.committed, true};
  ++queue.arrivals;
  *(u64 *)barrier += counts;
  ctx->mbarrier_idle = 0;
  tell_order(ctx, ORDER_MB_COPIES, tid, barrier, site | (queue.gone + queue.count) << 32);
}

// A thread looks at an mbarrier: the copies of threads of the block before a cp.async.mbarrier.arrive at it land; 0: at
// any.
void emu_queue_look(Context *ctx, u64 barrier) {
  for (u32 tid = 0; tid < ctx->threads; ++tid) {
    CopyQueue &queue = copies_of(ctx, tid);
    if (!queue.arrivals) continue;
    u32 end = queue.count;
    while (end > queue.done && !queue.copies[end - 1].arrives_at(barrier)) --end;
    land(ctx, tid, queue, end, SIGNALS);
    if (!ctx->order_call) drop(queue, end);
  }
}

// Somebody has waited for the first `number` entries of a thread: its copies among them are accesses of `label`.
void emu_queue_seen(Context *ctx, u32 tid, u64 number, u32 label) {
  CopyQueue &queue = copies_of(ctx, tid);
  if (number <= queue.gone + queue.head) return;
  u32 end = number - queue.gone;
  for (u32 i = queue.head; i < end; ++i)
    emu_race_landed_at(ctx, tid, queue.copies[i].destination, queue.copies[i].size, label);
  drop(queue, end);
}
}
