// Shared memory that bulk copies read and write, and the tensor maps that they use.
//
// A copy is an access of race.cc that is on its way until it is waited for: its writes until a thread of the block that
// they are in waits for the phase of the mbarrier, its reads until the thread's group is waited for (or, of a copy to
// another block, that phase). If generic stores wrote what it reads, a fence.proxy.async must follow: of the thread
// that wrote, or of one that had seen the write. A tensor map that a kernel changed needs a fence.proxy.tensormap
// acquire by a thread of the block before a copy uses it.
//
// PTX ISA: 8.6 (proxies), 9.7.9.25 (bulk copies), 9.7.13.4 (fence.proxy.async, fence.proxy.tensormap).
#include "check/check.h"
#include "machine/queues.h"

namespace {

constexpr u32 MAP_BYTES = 128;
constexpr u64 INSIDE = (1u << RANK_SHIFT) - 1;  // the bits of an address in shared::cluster that are not of the rank

// A lane of a write of this block that the async proxy does not see, -1 if there is none.
i32 unseen_lane(const Reading &access, const Kept &write) {
  for (u32 lane : Bits{write.lanes})
    if (access.ctx->proxied[write.thread(lane)] < write.label &&
        emu_order(access.ctx, ORDER_GENERIC, access.tid, write.site(), access.site + 1))
      return (i32)lane;
  return -1;
}

// Whether the async proxy sees a write of this block; else a fault.
bool look(const Reading &read, const Kept &write) {
  i32 lane = unseen_lane(read, write);
  return lane < 0 || read.report(write, (u32)lane, other_kind::UNPROXIED);
}

// Whether a store of this launch to the tensor map that a copy uses was fenced; else a fault.
bool look_for_map_fence(const Reading &read, const Kept &write) {
  Context *ctx = read.ctx;
  ctx->address = read.address;
  if (!emu_order(ctx, ORDER_MAP_STORED, read.tid, write.place(), write.label_and_lanes(write.lanes))) return true;
  return read.report(write, first_bit(write.lanes), other_kind::OF_MAP);
}

// The host address of an address in shared::cluster.
u64 place(const Context *ctx, u64 address) {
  return address + (address <= INSIDE ? (u64)ctx->smem : ctx->cluster_base);
}

// A copy writes over bytes: false and a fault if that races, or if a generic store to them was not fenced. The store is
// looked for first, since the check for races may forget it.
bool writes_over(const Reading &copy, u32 kind) {
  bool is_own = copy.address - (u64)copy.ctx->smem < copy.ctx->smem_bytes;
  bool is_bulk = !emu_order(copy.ctx, ORDER_GENERIC, copy.tid, copy.site, 0);  // st.async and red.async are generic
  Cell *first = is_own && is_bulk ? cell_of(copy.ctx, copy.address) : nullptr;
  Kept unseen{CellEntry{}};
  i32 lane = -1;
  copy.each_write(first, [&](const Kept &write) {
    unseen = write;
    if (write.block() == copy.ctx->block) lane = unseen_lane(copy, write);
    return lane < 0;
  });
  if (!emu_race(copy.ctx, copy.tid, copy.site, copy.address, copy.size, kind)) return false;
  return lane < 0 || copy.report(unseen, (u32)lane, other_kind::UNPROXIED, kind);
}

}  // namespace

extern "C" {

// A copy of a thread reads bytes: 1, or 0 and a fault where a generic store to them was not fenced.
u32 emu_bulk_proxied(Context *ctx, u32 tid, u32 site, u64 address, u32 size) {
  const Reading read{ctx, tid, site, address, size};
  return read.each_write(cell_of(ctx, address),
                         [&](const Kept &write) { return write.block() != ctx->block || look(read, write); });
}

// A copy reads or writes bytes in global memory: 1, or 0 and a fault if that races, or if it reads a generic store that
// was not fenced, as a reduction does too. A read counts as one of the moment at which the copy begins. One that only
// writes meets no store here: those that it comes after are not kept.
u32 emu_bulk_touches(Context *ctx, u32 tid, u32 site, u64 address, u32 size, u32 kind) {
  if (!check_access(ctx, tid, site, address, size, kind)) return 0;
  const Reading read{ctx, tid, site, address, size};
  return read.each_write(cell_of(ctx, address, nullptr), [&](const Kept &write) {
    bool is_fenced = write.kind() & kind & STRONG ||  // two strong accesses are no race
                     !emu_order(ctx, ORDER_GENERIC, tid, write.site(), 0) ||
                     !emu_order(ctx, ORDER_UNPROXIED, tid, write.place(), write.label_and_lanes(write.lanes));
    return is_fenced || read.report(write, first_bit(write.lanes), other_kind::UNPROXIED, (kind & KIND_MASK) | ASYNC);
  });
}

// A copy into shared memory at `smem` begins, in each block of its mask: 1, or 0 and a fault. `smem` and `barrier`,
// which it signals, are addresses in shared::cluster; `source` is one of the host, 0 outside of shared memory.
u32 emu_bulk_begins(Context *ctx, u32 tid, u32 site, u64 smem, u32 size, u32 kind, u64 barrier, u32 mask, u64 source) {
  bool many = mask & MULTICAST;
  for (u32 rank : Bits{many ? mask & (MULTICAST - 1) : 1}) {
    u64 target = place(ctx, many ? of_rank(smem, rank) : smem);
    u64 signalled = place(ctx, many ? of_rank(barrier, signalled_rank(ctx, barrier, mask, rank)) : barrier);
    if (!writes_over(Reading{ctx, tid, site, target, size}, kind)) return 0;
    ctx->other_site = site;
    ctx->address = source;
    ctx->access_bytes = size;
    if (emu_order(ctx, ORDER_COPY, tid, target, signalled)) return 0;
  }
  return 1;
}

// A tensor map is changed, fenced or used: 1, or 0 and a fault where its change was not fenced.
u32 emu_map_asked(Context *ctx, u32 tid, u32 site, u64 address, u32 what) {
  if (emu_order(ctx, what, tid, address, site)) {
    emu_fault(ctx, RACE, site, tid, address, MAP_BYTES, ASYNC);
    return 0;
  }
  if (what != ORDER_MAP_USED || owner_of(ctx, address)) return 1;  // shared memory has no maps: another mistake
  const Reading read{ctx, tid, site, address, MAP_BYTES};
  return read.each_write(cell_of(ctx, address, nullptr),
                         [&](const Kept &write) { return look_for_map_fence(read, write); });
}
}
