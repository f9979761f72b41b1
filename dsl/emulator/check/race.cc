// Races: accesses of one place by two threads, at least one a write, that nothing orders.
//
// Memory that threads share has cells, one for as many bytes as the kernel's narrowest access has (1, 2 or 4). A cell
// keeps the accesses that a later one may race with: who (block and warp), what kind, the instruction, a label and the
// lanes of the warp that made it under this label. A thread's label names the stretch of its code between two meetings;
// order.py knows up to which labels a thread has seen others. An access that is ordered before a new one is not kept if
// all that races with it also races with the new one. So the findings do not depend on who happened to run first.
//
// PTX ISA 8 (memory consistency model): two accesses that are both strong (atomics, volatile, relaxed, acquire,
// release) in a scope that has both threads are not a race. Bytes of a cp.async are written at some time until its
// wait. Two plain writes of one value from one line of the author's are a race to PTX too; they are noted, and the
// launch goes on.
#include "check/check.h"

extern "C" {
void *aligned_alloc(size_t, size_t);
void free(void *);
}

namespace {

// The last labels that a thread has seen the end of, of the lanes of a warp.
using Labels [[gnu::aligned(4)]] = u32 __attribute__((vector_size(32 * sizeof(u32))));
using Flags = bool __attribute__((ext_vector_type(32)));

// The lanes, of all 32 of a warp, whose labels are below one. A warp's last lanes may not be there: then the labels of
// the next thread are read.
u32 below(const u32 *labels, u32 label) {
  return __builtin_bit_cast(u32, __builtin_convertvector(*(const Labels *)labels < label, Flags));
}

// The lanes of an entry that a thread has not seen the end of: those not ordered before it. `only_came`: in the order
// of execution, which is enough where they read.
[[gnu::always_inline]] inline u32 unseen(Context *ctx, u32 tid, Kept other, bool only_came) {
  if (other.block() != ctx->block) {
    if (!(ctx->order_kinds & orders::BLOCKS)) return other.lanes;
    u64 place = other.place() | (u64)only_came << 63;
    return emu_order(ctx, ORDER_ACROSS, tid, place, other.label_and_lanes(other.lanes));
  }
  if (other.label < ctx->epoch) return 0;
  if (!(ctx->order_kinds & orders::THREADS)) return other.lanes;
  const u32 *known = ctx->known + (2ul * tid + only_came) * ctx->threads;
  return other.lanes & below(known + 32 * other.warp(), other.label);
}

[[gnu::always_inline]] inline u32 unseen(Context *ctx, u32 tid, Kept other) {
  return unseen(ctx, tid, other, !(other.kind() & WRITE));
}

// Whether what races with an access of kind `other`, that is ordered before one of kind `mine`, races with it too.
[[gnu::always_inline]] inline bool covers(u32 mine, u32 other) {
  u32 more = other & ~mine, less = mine & ~other;
  return !(more & WRITE) && !(less & STRONG) && !(more & (CTA | NEAR) && mine & STRONG);
}

// An access as it is compared with those that cells keep.
struct Own {
  Context *ctx;
  u32 tid, site, size;
  u32 kind;  // what is kept of it
  u32 asked;
  bool silent, few, stale, in_tensor_memory = false;
  u32 bit;
  u64 place, meta;
  Own(Context *ctx, u32 tid, u32 site, u32 size, u32 kind)
      : ctx(ctx),
        tid(tid),
        site(site),
        size(size),
        kind(kind & KIND_MASK),
        asked(kind >> ASKED_SHIFT),
        silent(kind & SILENT),
        few(kind & FEW),
        stale(kind & STALE),
        bit(1u << (tid & 31)),
        place(ctx->block << 5 | tid >> 5),
        meta(place | (u64)this->kind << KIND_SHIFT | (u64)site << SITE_SHIFT) {}
};

// Keep that two threads write one value from one line, the first time.
void note_one_value(const Own &own, const Kept &other, u32 lane, u64 address) {
  Context *ctx = own.ctx;
  if (ctx->note_site) return;
  ctx->note_site = own.site + 1;
  ctx->note_thread = own.tid;
  ctx->note_block = ctx->block;
  ctx->note_address = address;
  ctx->note_other_thread = other.thread(lane);
  ctx->note_other_block = other.block();
}

// Keep that two lanes of a warp exchange a value by volatile accesses that nothing orders.
void note_steps(const Own &own, const Kept &other, u32 lane, u64 address) {
  Context *ctx = own.ctx;
  if (!(ctx->site_lines[other.site()] & ctx->site_lines[own.site] & site_line::STEPS)) return;
  ctx->step_site = own.site + 1;
  ctx->step_other_site = other.site();
  ctx->step_thread = own.tid;
  ctx->step_other_thread = other.thread(lane);
  ctx->step_address = address;
  ctx->step_block = ctx->block;
}

// Whether strong writes of another warp's lanes are before a plain access that runs by what an atomic gave: order.py
// knows. See observed_writes.py.
bool is_observed(const Own &own, const Kept &other, u32 lanes, u64 address) {
  if (!own.asked || own.kind & STRONG || (other.kind() & (STRONG | WRITE | ASYNC)) != (STRONG | WRITE)) return false;
  Context *ctx = own.ctx;
  ctx->other_block = other.block();
  ctx->other_thread = other.thread(0);
  ctx->other_kind = own.asked;
  return emu_order(ctx, ORDER_OBSERVED, own.tid, address, other.label_and_lanes(lanes));
}

// The lanes of `lanes`, in the warp of a thread, that it has not met at a shuffle since their label was `label`. A lane
// that goes on has what it read before, as reductions have it whose first lane keeps the sum.
u32 not_met(const Context *ctx, u32 tid, u32 lanes, u32 label) {
  const Met &met = ctx->met[tid >> 5];
  for (u32 lane : Bits{lanes})
    if (max(met.whole[lane], met.some[tid & 31][lane]) >= label) lanes &= ~(1u << lane);
  return lanes;
}

// Whether lanes run a cp.async of this thread too, and what they copy to an address, or have copied, is the same.
bool is_copied_alike(const Own &own, const Kept &other, u32 lanes, u64 address) {
  if (!own.silent || own.kind != (WRITE | ASYNC) || other.site() != own.site) return false;
  if (other.block() != own.ctx->block) return false;
  for (u32 lane : Bits{lanes})
    if (!emu_copies_alike(own.ctx, own.tid, other.thread(lane), address, 1u << own.ctx->race_shift)) return false;
  return true;
}

// Whether an entry is an ordinary read that has ended.
bool is_plain_read(const Kept &kept) { return !(kept.kind() & (WRITE | STRONG | ASYNC)); }

// Whether a write comes after reads of what it overwrites, from the i-th entry of a cell on, and so after that too. A
// read that is kept beside an ordinary write comes after that one, else the write would have taken its place. A tensor
// core reads so what is written over once its commit is waited for, by threads that have not heard of who wrote it.
bool is_after_a_read(const Own &own, Cell *cell, u32 i) {
  for (; i < cell->count; ++i)
    if (const Kept other(*entry_of(own.ctx, cell, i)); is_plain_read(other) && !unseen(own.ctx, own.tid, other))
      return true;
  return false;
}

// Whether a tensor core makes accesses of both kinds: those of one thread in the order in which it issued them.
[[gnu::always_inline]] inline bool is_queued(u32 both) { return (both & (ASYNC | QUEUED)) == (ASYNC | QUEUED); }

// Whether a warp of a block wrote to an address of its own shared or tensor memory. A warp reaches no other tensor
// memory, and a tensor core by another block's operation is not one.
bool is_of_writer(const Own &own, const Kept &write, u64 address) {
  if (own.in_tensor_memory) return !(write.kind() & QUEUED);
  const Context *owner = owner_of(own.ctx, address);
  return owner && owner->block == write.block();
}

// Whether the tensor core of the pair's other block uses what a thread of that block wrote, which the thread of the
// operation knows to have come so far. Nothing else reads another block's shared memory by the async proxy.
bool is_used_where_written(const Own &own, const Kept &write, u64 address) {
  if (own.kind != ASYNC && !(own.in_tensor_memory && is_queued(own.kind))) return false;
  if (write.block() == own.ctx->block || !is_of_writer(own, write, address)) return false;
  return !unseen(own.ctx, own.tid, write, true);
}

// Whether two accesses are writes, the one kept an ordinary one that comes first in the order of execution alone.
bool is_overwritten(const Own &own, const Kept &other) {
  bool are_writes = own.kind & WRITE && (other.kind() & (WRITE | STRONG | ASYNC)) == WRITE;
  return are_writes && !unseen(own.ctx, own.tid, other, true);
}

enum Verdict { RACES, FINE, ORDERED };

// Whether two bulk stores of a block write one place. In examples of NVIDIA a lane of each warp stores the same tile,
// in Triton's kernels each group of warps. Whether the bytes are the same is not compared.
bool are_bulk_stores(const Own &own, const Kept &other) {
  if ((own.kind & (WRITE | ASYNC)) != (WRITE | ASYNC) || !(other.kind() & WRITE) || own.in_tensor_memory) return false;
  return other.block() == own.ctx->block && !emu_order(own.ctx, ORDER_GENERIC, own.tid, other.site(), 0);
}

// An access and lanes of an entry that are not ordered before it; one of the two writes.
[[gnu::noinline]] Verdict judge(const Own &own, Kept other, u32 lanes, u64 address) {
  Context *ctx = own.ctx;
  bool strong = own.kind & other.kind() & STRONG, same_block = other.block() == ctx->block;
  u32 lane = first_bit(lanes);
  if (strong && other.place() == own.place && !ctx->step_site) note_steps(own, other, lane, address);
  u32 narrow = (own.kind | other.kind()) & (CTA | NEAR);
  if (strong && (same_block || !narrow || (narrow == NEAR && is_near(ctx, other.block())))) return FINE;
  if (!owner_of(ctx, address) && are_bulk_stores(own, other)) return FINE;
  if (is_observed(own, other, lanes, address)) return ORDERED;
  bool of_one_line = ctx->site_lines[other.site()] == ctx->site_lines[own.site];
  bool is_stored_alike = own.silent && own.kind == WRITE && other.kind() == WRITE && of_one_line;
  if (is_stored_alike || is_copied_alike(own, other, lanes, address)) {
    note_one_value(own, other, lane, address);
    return FINE;
  }
  tell_other(ctx, other, lane);
  emu_fault(ctx, RACE, own.site, own.tid, address, own.size, own.kind);
  return RACES;
}

// Keep an access in one cell; false after a fault, where it races with one of those kept.
[[gnu::always_inline]] inline bool touch(const Own &own, Cell *cell, u64 address) {
  Context *ctx = own.ctx;
  u32 label = own.kind & ASYNC ? PENDING : label_of(ctx, own.tid);
  CellEntry *merged = nullptr;
  bool read_before = false;                 // an access that comes after an ordinary read
  u32 alike = 0, alike_mine = 0, last = 0;  // entries of its kind, how many are of its block; the last one
  for (u32 i = 0, count; i < (count = cell->count);) {
    CellEntry *entry = entry_of(ctx, cell, i);
    const Kept other(*entry);
    bool of_one = own.in_tensor_memory && other.meta == own.meta && other.label == label;
    if (of_one && (other.lanes == own.bit || !(own.kind & QUEUED))) {  // lanes of one ld or st are one access
      merged = entry, ++i;
      continue;
    }
    u32 lanes = unseen(ctx, own.tid, other);
    if (other.place() == own.place && !(other.kind() & ASYNC)) {
      lanes &= ~own.bit;
      if (lanes && !(other.kind() & WRITE) && ctx->exchanges) lanes = not_met(ctx, own.tid, lanes, other.label);
      if (own.in_tensor_memory) lanes = 0;  // a warp loads, stores and waits there as one
    } else if (other.place() == own.place && is_queued(own.kind & other.kind())) lanes &= ~own.bit;
    if (own.stale && other.kind() & WRITE) lanes = other.lanes;
    bool ordered = !lanes;
    read_before |= ordered && is_plain_read(other);
    if (lanes && is_overwritten(own, other) && (read_before |= is_after_a_read(own, cell, i))) lanes = 0;
    if (lanes && is_used_where_written(own, other, address)) lanes = 0;
    ordered |= !lanes;
    if (lanes && (own.kind | other.kind()) & WRITE) {
      Verdict verdict = judge(Own(own), other, lanes, address);  // a copy, so that `own` needs no memory until here
      if (verdict == RACES) return false;
      ordered = verdict == ORDERED;
    }
    if (ordered && covers(own.kind, other.kind())) {
      *entry = *entry_of(ctx, cell, count - 1);
      cell->count = count - 1;
      continue;
    }
    if (other.meta == own.meta && other.label == label) merged = entry;
    if (other.kind() == own.kind) {
      last = i;
      ++alike;
      alike_mine += other.block() == ctx->block;
    }
    ++i;
  }
  if (merged) {
    merged->lanes |= own.bit;
    return true;
  }
  // If only barriers of whole blocks order threads, and no shuffles, two of a kind show every race with that kind, of
  // two blocks if there are two.
  u32 count = cell->count, target = count;
  if (alike >= 2 && !(ctx->order_kinds & orders::ANY) && !ctx->exchanges) {
    if (alike_mine) return true;
    target = last;
  }
  if (target >= MOST || (own.few && alike >= 2)) return true;
  *entry_of(ctx, cell, target) = {own.meta, label, own.bit};
  if (target == count) cell->count = count + 1;
  return true;
}

// Empty a cell of shared memory that an earlier block of its slot left.
[[gnu::always_inline]] inline void forget_earlier(Context *ctx, Cell *cell) {
  if (!cell->count) return;
  u64 block = Kept(cell->first[0]).block();
  if (block != ctx->block && !is_mate(ctx, block)) cell->count = 0;
}

// Keep a lane's access in a cell: in the entry that its warp has at this label, or in a new one.
void keep_landed(Context *ctx, Cell *cell, u64 meta, u32 label, u32 bit) {
  u32 count = cell->count;
  for (u32 number = 0; number < count; ++number) {
    CellEntry *entry = entry_of(ctx, cell, number);
    if (entry->place_kind_site == meta && entry->label == label) {
      entry->lanes |= bit;
      return;
    }
  }
  if (count >= MOST) return;
  *entry_of(ctx, cell, count) = {meta, label, bit};
  cell->count = count + 1;
}

}  // namespace

[[gnu::noinline]] CellEntry *entry_beyond(Context *ctx, Cell *cell, u32 i) {
  if (!cell->beyond) {
    cell->beyond = (Chunk *)aligned_alloc(alignof(Chunk), sizeof(Chunk));
    cell->beyond->next = ctx->chunks;
    ctx->chunks = cell->beyond;
  }
  return &cell->beyond->entries[i - INLINE];
}

// What a thread had on its way in some cells is an access of a stretch of its code.
void land_cells(Context *ctx, Cell *first, u32 cells, u32 tid, u32 label) {
  u32 bit = 1u << (tid & 31);
  u64 place = ctx->block << 5 | tid >> 5;
  for (Cell *cell = first; cell != first + cells; ++cell)
    for (u32 number = 0, count = cell->count; number < count; ++number) {
      CellEntry *entry = entry_of(ctx, cell, number);
      const Kept kept(*entry);
      if (kept.place() != place || kept.label != PENDING || !(kept.lanes & bit)) continue;
      u64 landed = kept.meta & ~((u64)ASYNC << KIND_SHIFT);
      if (kept.lanes == bit) {
        *entry = {landed, label, bit};
      } else {
        entry->lanes &= ~bit;
        keep_landed(ctx, cell, landed, label, bit);
      }
    }
}

// Whether an access of some cells of tensor memory races with none that is kept; else a fault. `address` is the first
// one's, and each next one's is a step further.
bool check_cells(Context *ctx, u32 tid, u32 site, Cell *first, u32 cells, u64 address, u32 step, u32 kind) {
  Own own(ctx, tid, site, step, kind);
  own.in_tensor_memory = true;
  for (u32 i = 0; i < cells; ++i)
    if (!touch(own, first + i, address + (u64)i * step)) return false;
  return true;
}

// Whether an access races with none that is kept; else a fault.
bool check_access(Context *ctx, u32 tid, u32 site, u64 address, u32 size, u32 kind) {
  Context *owner = owner_of(ctx, address);
  if (owner && owner->matrix_reads && kind & WRITE && !emu_matrix_written(ctx, tid, site, address, size)) return 0;
  Cell *first = cell_of(ctx, address, owner);
  if (!first) return 1;
  bool is_data = (kind & (WRITE | OBJECT)) == WRITE;
  if (owner && owner->mbarrier_log && is_data && !emu_no_mbarrier(ctx, tid, site, address, size)) return 0;
  const Own own(ctx, tid, site, size, kind);
  u32 shift = ctx->race_shift, cells = (size + (1u << shift) - 1) >> shift;
  for (u32 i = 0; i < cells; ++i) {
    if (owner) forget_earlier(ctx, first + i);
    if (!touch(own, first + i, address + ((u64)i << shift))) return 0;
  }
  // a copy has its own way to be on: ORDER_COPY
  if (owner && owner != ctx && !(kind & ASYNC)) emu_order(ctx, ORDER_VISIT, tid, address, site);
  return 1;
}

extern "C" {

// An access of `size` bytes at an address: 1, or 0 and a fault if it is part of a race.
u32 emu_race(Context *ctx, u32 tid, u32 site, u64 address, u32 size, u32 kind) {
  if (ctx->site_lines[site] & site_line::SILENCED) return 1;
  keep_in_trail(ctx, tid, site, address);
  return check_access(ctx, tid, site, address, size, kind);
}

// The copy of a thread to or from an address was waited for: it is an access of now. Copies of other lanes of its warp,
// which share an entry with it while they are on their way, are not.
void emu_race_landed(Context *ctx, u32 tid, u64 address, u32 size) {
  emu_race_landed_at(ctx, tid, address, size, label_of(ctx, tid));
}

// The same, as an access of another stretch of the thread.
void emu_race_landed_at(Context *ctx, u32 tid, u64 address, u32 size, u32 label) {
  if (Cell *first = cell_of(ctx, address)) land_cells(ctx, first, size >> ctx->race_shift, tid, label);
}

// Give the entries back; the cells are forgotten too.
void emu_free_entries(Context *ctx) {
  while (Chunk *chunk = ctx->chunks) {
    ctx->chunks = chunk->next;
    free(chunk);
  }
}

// Tell order.py what happened, or ask it. A look at an mbarrier whose phase goes on orders nothing.
u32 emu_order(Context *ctx, u32 what, u32 tid, u64 a, u64 b) {
  if (what == ORDER_MB_WAIT && !(b & 1)) return 0;
  return ctx->order_call((u64)ctx, what, tid, a, b);
}

// The last accesses and meetings of each thread, from which the fix of a race is found. See trail.py.
void emu_trail(Context *ctx, u32 tid, u32 site, u64 value) { keep_in_trail(ctx, tid, site, value); }

// A round of a loop begins.
void emu_round(Context *ctx, u32 tid) {
  if (ctx->trail) ++ctx->trail[tid].rounds;
}
}
