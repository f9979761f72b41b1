// Pending cp.async copies: a queue a thread, in groups; bytes land when the thread waits for their group.
//
// PTX ISA: cp.async, cp.async.commit_group, cp.async.wait_group. Hardware may land them earlier; landing at the wait
// makes a missing wait visible every time.
#include "machine/queues.h"

extern "C" {

void emu_queue_copy(Context *ctx, u32 tid, u64 destination, u64 source, u32 size, u32 source_size) {
  CopyQueue &queue = copies_of(ctx, tid);
  add_entry(queue, &CopyQueue::copies) = {destination, source, size, source_size, queue.committed};
}

void emu_queue_commit(Context *ctx, u32 tid) { ++copies_of(ctx, tid).committed; }

// Land every copy whose group is followed by at least `keep` committed groups.
void emu_queue_wait(Context *ctx, u32 tid, u32 keep) {
  CopyQueue &queue = copies_of(ctx, tid);
  for (; queue.head < queue.count; ++queue.head) {
    const CopyEntry &one = queue.copies[queue.head];
    if ((u64)one.group + keep >= queue.committed) return;
    u8 *target = (u8 *)one.destination;
    __builtin_memmove(target, (u8 *)one.source, one.source_size);
    __builtin_memset(target + one.source_size, 0, one.size - one.source_size);
    if (ctx->landed) ctx->landed(ctx, tid, one.destination, one.size);
  }
  queue.head = queue.count = 0;
}
}
