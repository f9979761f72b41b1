// The life of each mbarrier, and what happens there: which warps wait and arrive, where, for what bytes.
//
// Every 8 bytes of shared memory have an entry; pages that no kernel touches take no room. mbarrier.init gives the
// entry the tag of its block, mbarrier.inval takes it away. An operation on an entry without the tag of its block is a
// fault: there is no mbarrier. The rest is for reports of deadlocks. PTX ISA 9.7.13.15.
#include "machine/emu.h"

namespace {

using namespace mbarrier;

constexpr u64 INVALIDATED = 1ull << 63;  // flips the tag

// The first words of an entry of the block in a slot.
u64 tag_of(const Context &slot) { return (u64)slot.mbarrier_serial << 32 | (u32)slot.block; }

// Note the use by thread `tid` of the mbarrier of an entry, which is in the shared memory of the block in `slot`.
struct Operation {
  Context *ctx;
  u32 tid, site;
  u64 address;
  MbarrierEntry &entry;
  const Context &slot;

  u64 word() const { return *(u64 *)address; }
  bool lives() const { return entry.tag == tag_of(slot); }  // whether the block has an mbarrier there
  u32 fault(u32 status, u64 detail, u64 size = 8) const {
    emu_fault(ctx, status, site, tid, address, size, detail);
    return 0;
  }
  u32 fault_of_life(u32 status) const;
  bool repeats() const;
  u32 add_lane() const;
  u32 begin_life() const;
};

// A fault about the mbarrier.init or .inval of an entry; see mbarrier_log.py, Life.
[[gnu::noinline, gnu::cold]] u32 Operation::fault_of_life(u32 status) const {
  Lane lane(tid);
  bool own = entry.life_warp == lane.warp && entry.life_lanes & lane.bit;
  return fault(status, entry.life_site | (u64)(entry.life_warp | own << OWN_BIT) << 32);
}

// Whether another lane of its warp does what the last mbarrier.init or .inval did, by the same instruction: the lanes
// of a warp make it together.
bool Operation::repeats() const {
  Lane lane(tid);
  return entry.life_site == site + 1 && entry.life_warp == lane.warp && !(entry.life_lanes & lane.bit);
}

u32 Operation::add_lane() const {
  entry.life_lanes |= Lane(tid).bit;
  return 1;
}

u32 Operation::begin_life() const {
  Lane lane(tid);
  entry.life_site = site + 1, entry.life_warp = lane.warp, entry.life_lanes = lane.bit;
  return 1;
}

u32 init(const Operation &by, u32 arrivals) {
  MbarrierEntry &entry = by.entry;
  if (arrivals - 1 >= MOST_ARRIVALS) return by.fault(ILLEGAL, BAD_ARRIVALS, arrivals);
  if (by.lives()) {
    bool untouched = !(entry.arrive_site | entry.expect_site | entry.copy_site);
    bool same = untouched && by.word() == (arrivals | (u64)arrivals << 20);
    return same && by.repeats() ? by.add_lane() : by.fault_of_life(IN_USE);
  }
  entry = {tag_of(by.slot)};
  return by.begin_life();
}

// If the block has no mbarrier there: a fault, whose detail is the mbarrier.inval, 0 if there was none. For memory of
// another block, families/mbarrier/check.py reports it whatever block runs first.
[[gnu::noinline, gnu::cold]] u32 without_life(Context *ctx, u32 tid, u32 site, u64 address, MbarrierEntry &entry,
                                              const Context &slot) {
  const Operation by{ctx, tid, site, address, entry, slot};
  if (entry.tag == (tag_of(slot) ^ INVALIDATED)) return by.fault_of_life(NOT_INITIALIZED);
  return &slot != ctx && ctx->order_call ? 1 : by.fault(NOT_INITIALIZED, 0);
}

u32 without_life(const Operation &by) {  // a call of numbers, so that `by` takes no memory where all is well
  return without_life(by.ctx, by.tid, by.site, by.address, by.entry, by.slot);
}

u32 invalidate(const Operation &by) {
  u64 gone = tag_of(by.slot) ^ INVALIDATED;
  if (by.entry.tag == gone && by.repeats()) return by.add_lane();
  if (!by.lives()) return without_life(by);
  by.entry.tag = gone;
  return by.begin_life();
}

template <u32 what> u32 use(const Operation &by, u32 amount) {
  MbarrierEntry &entry = by.entry;
  if (!by.lives()) return without_life(by);
  bool own = &by.slot == by.ctx;
  u32 warp = 1u << (by.tid >> 5), parity = by.word() >> 63;
  if (parity != entry.parity) {
    entry.ended |= parity;  // a new mbarrier has parity 0
    entry.parity = parity;
    entry.now = entry.peers_now = entry.expected = 0;
  }
  if (what & ARRIVES) {
    u32 peer = 1u << by.ctx->cluster_rank;
    if (own) entry.arrivers |= warp, entry.now |= warp;
    else entry.peers |= peer, entry.peers_now |= peer;
    entry.arrive_site = by.site + 1;
  }
  if (what & EXPECTS) {
    entry.expect_site = by.site + 1;
    entry.expected += amount;
  }
  if (what & WAITS) {
    entry.waiters |= warp;
    entry.wait_site = by.site + 1;
    entry.passed_new |= !entry.ended && amount;
  }
  if (what & COPIES) entry.copy_site = by.site + 1;
  return 1;
}

[[gnu::noinline, gnu::cold]] u32 outside(Context *ctx, u32 tid, u32 site, u64 address) {
  emu_fault(ctx, ILLEGAL, site, tid, address, 8, NOT_SHARED);
  return 0;
}

MbarrierEntry *entries_of(const Context &slot) { return (MbarrierEntry *)slot.mbarrier_log; }

// A thread does `what` at the mbarrier at a host address: 1, or 0 after a fault. `amount`: the bytes it expects, 1
// where a wait passes, the count of an init.
template <u32 what> u32 note(Context *ctx, u32 tid, u32 site, u64 address, u32 amount) {
  for (Context &slot : Mates{ctx}) {
    u64 offset = address - (u64)slot.smem;
    if (offset >= slot.smem_bytes) continue;
    const Operation by{ctx, tid, site, address, entries_of(slot)[offset / 8], slot};
    if (what & OWN && &slot != ctx) return illegal(ctx, tid, site, REMOTE_MBARRIER, address);
    if constexpr (what == INITS) return init(by, amount);
    else if constexpr (what == INVALIDATES) return invalidate(by);
    else if constexpr (what == GIVES) return 1;
    else return use<what>(by, amount);
  }
  return outside(ctx, tid, site, address);
}

}  // namespace

extern "C" {

// A function for each that an instruction does: these run at every arrival and at every look at an mbarrier.
#define NOTED(what) \
  u32 emu_note_##what(Context *ctx, u32 tid, u32 site, u64 address, u32 amount) { \
    return note<what>(ctx, tid, site, address, amount); \
  }
NOTED(0)
NOTED(1)
NOTED(2)
NOTED(4)
NOTED(6)
NOTED(8)
NOTED(16)
NOTED(32)
NOTED(64)

// A thread writes `size` bytes of data: 1, or 0 and a fault where an mbarrier of the block lives.
u32 emu_no_mbarrier(Context *ctx, u32 tid, u32 site, u64 address, u32 size) {
  for (Context &slot : Mates{ctx}) {
    u64 offset = address - (u64)slot.smem;
    if (offset >= slot.smem_bytes || !slot.mbarrier_log) continue;
    u64 first = offset / 8, tag = tag_of(slot);
    u32 entries = ((offset + size - 1) >> 3) - first + 1;
    for (u32 i = 0; i < entries; ++i) {
      MbarrierEntry &entry = entries_of(slot)[first + i];
      const Operation by{ctx, tid, site, (u64)slot.smem + 8 * (first + i), entry, slot};
      if (entry.tag == tag) return by.fault_of_life(IN_USE);
    }
  }
  return 1;
}
}
