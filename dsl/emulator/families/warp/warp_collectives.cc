// Lanes of a warp that meet: shuffles, votes, matches, reductions, activemask.
// PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, activemask, bar.warp.sync.
#include "check/check.h"
#include "machine/grid.h"

namespace {

using namespace meeting;

constexpr u32 ALL = ~0u;
using Collective = void (*)(Context *, u32 base);  // what an exchange area begins with

// The result of a shuffle for one lane: the source lane, the predicate, whether the lane that it asks for takes no
// part, that lane.
struct Source {
  u32 lane;
  bool inside, absent;
  u32 asked;
  u32 packed() const {
    using namespace shuffled;
    return lane | inside << INSIDE_BIT | absent << ABSENT_BIT | asked << shuffled::ASKED_SHIFT;
  }
};

// As the ISA's pseudo-code for shfl has it.
[[gnu::always_inline]] inline Source shuffle(u32 lane, u32 mode, u32 b, u32 c, u32 group) {
  u32 bval = b & 31, segment = c >> 8 & 31;
  i32 min_lane = lane & segment, max_lane = min_lane | (c & 31 & ~segment), j;
  switch (mode) {
    case SHFL_UP: j = lane - bval; break;
    case SHFL_DOWN: j = lane + bval; break;
    case SHFL_BFLY: j = lane ^ bval; break;
    default: j = min_lane | (bval & ~segment); break;
  }
  bool inside = mode == SHFL_UP ? j >= max_lane : j <= max_lane;
  u32 asked = inside ? j & 31 : lane;
  // A source lane that is not part of the meeting: the ISA leaves the value open, here it is the lane's own.
  bool absent = !(group >> asked & 1);
  return {absent ? lane : asked, inside, absent, asked};
}

// A shuffle of all 32 lanes, none of which is absent.
template <u32 MODE> void perform_whole_shuffle(Context *ctx, u32 base) {
  const u64 *given = ctx->a + base, *marks = ctx->mark_given + base;
  u32 sources[32];
  for (u32 lane = 0; lane < 32; ++lane) {
    Source source = shuffle(lane, MODE, ctx->b[base + lane], ctx->c[base + lane], ALL);
    sources[lane] = source.lane;
    ctx->out_pred[base + lane] = source.inside;
    ctx->c[base + lane] = source.packed();
  }
  for (u32 lane = 0; lane < 32; ++lane) ctx->out[base + lane] = given[sources[lane]];
  for (u32 lane = 0; ctx->begin_checks && lane < 32; ++lane) ctx->mark_got[base + lane] = marks[sources[lane]];
}

void perform_shuffle(Context *ctx, u32 base, u32 group, u32 mode) {
  if (group == ALL) {
    switch (mode) {
      case SHFL_UP: return perform_whole_shuffle<SHFL_UP>(ctx, base);
      case SHFL_DOWN: return perform_whole_shuffle<SHFL_DOWN>(ctx, base);
      case SHFL_BFLY: return perform_whole_shuffle<SHFL_BFLY>(ctx, base);
      default: return perform_whole_shuffle<SHFL_IDX>(ctx, base);
    }
  }
  bool absent = false;
  for (u32 lane : Bits{group}) {
    u32 tid = base + lane;
    Source source = shuffle(lane, mode, ctx->b[tid], ctx->c[tid], group);
    ctx->out[tid] = ctx->a[base + source.lane];
    ctx->out_pred[tid] = source.inside;
    ctx->c[tid] = source.packed();
    absent |= source.absent;
  }
  if (ctx->begin_checks)
    for (u32 lane : Bits{group}) ctx->mark_got[base + lane] = ctx->mark_given[base + (ctx->c[base + lane] & 31)];
  if (absent) ctx->seen |= SEEN_ABSENT_LANE;
}

// vote: the ballot, and whether all voted.
void perform_vote(Context *ctx, u32 base, u32 group) {
  u32 ballot = 0;
  for (u32 lane : Bits{group}) ballot |= (u32)ctx->a[base + lane] << lane;
  for (u32 lane : Bits{group}) {
    ctx->out[base + lane] = ballot;
    ctx->out_pred[base + lane] = ballot == group;
  }
}

// elect: the lowest lane leads.
void perform_elect(Context *ctx, u32 base, u32 group) {
  u32 leader = first_bit(group);
  for (u32 lane : Bits{group}) {
    ctx->out[base + lane] = leader;
    ctx->out_pred[base + lane] = lane == leader;
  }
}

void perform_match(Context *ctx, u32 base, u32 group, bool all) {
  for (u32 lane : Bits{group}) {
    u32 equal = 0;
    for (u32 other : Bits{group}) equal |= (u32)(ctx->a[base + lane] == ctx->a[base + other]) << other;
    bool whole = equal == group;
    ctx->out[base + lane] = all && !whole ? 0 : equal;
    ctx->out_pred[base + lane] = whole;
  }
}

u32 reduced(u32 how, u32 a, u32 b) {
  switch (how) {
    case redux::ADD: return a + b;
    case redux::AND: return a & b;
    case redux::OR: return a | b;
    case redux::XOR: return a ^ b;
    case redux::SMIN: return min<i32>(a, b);
    case redux::SMAX: return max<i32>(a, b);
    case redux::UMIN: return min(a, b);
    default: return max(a, b);
  }
}

constexpr u32 NO_SIGN = 0x7fffffff, CANONICAL_NAN = 0x7fffffff;

// Bits of a float as an integer with the same order, -0 below +0. A NaN wins with .NaN, and loses without.
u32 ordered(u32 how, u32 bits) {
  if ((bits & NO_SIGN) > 0x7f800000) return !(how & redux::NAN) == ((how & 7) == redux::SMIN) ? NO_SIGN : ~NO_SIGN;
  if (how & redux::ABS) bits &= NO_SIGN;
  return bits >> 31 ? bits ^ NO_SIGN : bits;
}

// The inverse; a NaN is canonical.
u32 unordered(u32 key) {
  if (key == NO_SIGN || key == ~NO_SIGN) return CANONICAL_NAN;
  return key >> 31 ? key ^ NO_SIGN : key;
}

void perform_redux(Context *ctx, u32 base, u32 group, u32 how) {
  bool is_float = how & redux::FLOAT;
  auto given = [=](u32 lane) { return is_float ? ordered(how, ctx->a[base + lane]) : (u32)ctx->a[base + lane]; };
  u32 result = given(first_bit(group));
  for (u32 lane : Bits{group & (group - 1)}) result = reduced(how & 7, result, given(lane));
  for (u32 lane : Bits{group}) ctx->out[base + lane] = is_float ? unordered(result) : result;
}

void call_area(Context *ctx, u32 first, u32 base) { (*(Collective *)ctx->a[first])(ctx, base); }

// Call the function that the lanes' exchange areas name; it takes whole warps only.
void perform_collective(Context *ctx, u32 base, u32 group) {
  u32 first = base + first_bit(group);
  if (group != ALL) illegal(ctx, first, ctx->wait_site[first], PARTIAL_WARP, ~group);
  else call_area(ctx, first, base);
}

// Each lane gets a mark of what the lanes of its group gave.
void join_marks(Context *ctx, u32 base, u32 group) {
  u64 mark = 0;
  for (u32 lane : Bits{group}) mark = max(mark, ctx->mark_given[base + lane]);
  for (u32 lane : Bits{group}) ctx->mark_got[base + lane] = mark;
}

// Give every lane of `group` its result; `base` is the warp's first thread.
void perform(Context *ctx, u32 base, u32 group, u32 key) {
  u32 mode = key & 255;
  if (ctx->begin_checks && (mode == VOTE || mode == MATCH_ANY || mode == MATCH_ALL || mode == REDUX))
    join_marks(ctx, base, group);
  switch (mode) {
    case SHFL_UP:
    case SHFL_DOWN:
    case SHFL_BFLY:
    case SHFL_IDX: return perform_shuffle(ctx, base, group, mode);
    case VOTE: return perform_vote(ctx, base, group);
    case ELECT: return perform_elect(ctx, base, group);
    case MATCH_ANY:
    case MATCH_ALL: return perform_match(ctx, base, group, mode == MATCH_ALL);
    case REDUX: return perform_redux(ctx, base, group, key >> 8);
    case COLLECTIVE: return perform_collective(ctx, base, group);
  }
}

// activemask: the lanes that reached the same instruction before the warp could move no further.
bool resolve_active(Context *ctx, u32 warp) {
  u32 waiting = ctx->in_active[warp], base = 32 * warp, group = 0;
  if (!waiting) return false;
  u32 site = ctx->wait_site[base + first_bit(waiting)];
  for (u32 lane : Bits{waiting}) group |= (u32)(ctx->wait_site[base + lane] == site) << lane;
  for (u32 lane : Bits{group}) ctx->out[base + lane] = group;
  ctx->in_active[warp] &= ~group;
  ctx->ready[warp] |= group;
  return true;
}

// Thread `first` waits at a meeting of four warps: complete it where the others wait at it too, and call the function
// that their areas name; whether they go on. Fewer than 128 threads are a fault.
bool resolve_warpgroup(Context *ctx, u32 first, u32 key) {
  u32 warp = first >> 5, first_warp = warp & -4u, base = 32 * first_warp, here = 0;
  for (u32 i = first_warp; i < min(first_warp + 4, ctx->warps); ++i) here += count(ctx->live[i] & ~ctx->exited[i]);
  if (here != 128) {
    illegal(ctx, first, ctx->wait_site[first], PARTIAL_WARPGROUP, here);
    ctx->in_warp[warp] = 0;
    ctx->ready[warp] |= ctx->live[warp];
    return true;
  }
  for (u32 i = 0; i < 4; ++i)
    if (ctx->in_warp[first_warp + i] != ALL) return false;
  for (u32 i = 0; i < 128; ++i)
    if (ctx->key[base + i] != key) return false;
  call_area(ctx, base, base);
  for (u32 i = 0; i < 4; ++i) {
    ctx->in_warp[first_warp + i] = 0;
    ctx->ready[first_warp + i] = ALL;
  }
  return true;
}

// The predicate of a vote, of whether all voted for it and of the ballot.
bool voted(u32 mode, bool every, u32 ballot) {
  switch (mode) {
    case 1: return every;
    case 2: return ballot;
    default: return every || !ballot;
  }
}

}  // namespace

// All threads of a block that are `active` (null: all; else a byte a thread) come to one meeting whose mask names each
// lane: regions' code calls it (translate/collectives.py). `a` has elements of `a_bytes` a thread; `b` and `c` may be
// null, then all threads give `b_all` and `c_all`. Results go to `out` and `pred`, which may be null.
extern "C" void emu_collect(Context *ctx, u32 key, const u8 *active, const void *a, u32 a_bytes, const u32 *b,
                            u32 b_all, const u32 *c, u32 c_all, u32 *out, u8 *pred) {
  for (u32 base = 0; base < ctx->threads; base += 32) {
    u32 group = 0;
    for (u32 tid = base; tid < min(base + 32, ctx->threads); ++tid) {
      if (active && !active[tid]) continue;
      group |= 1u << (tid - base);
      ctx->a[tid] = a_bytes == 8 ? ((const u64 *)a)[tid] : a_bytes == 4 ? ((const u32 *)a)[tid] : ((const u8 *)a)[tid];
      ctx->b[tid] = b ? b[tid] : b_all;
      ctx->c[tid] = c ? c[tid] : c_all;
    }
    if (!group) continue;
    perform(ctx, base, group, key);
    for (u32 lane : Bits{group}) {
      u32 tid = base + lane;
      if (out) out[tid] = ctx->out[tid];
      if (!pred) continue;
      bool every = ctx->out_pred[tid];
      pred[tid] = (key & 255) == VOTE ? voted(key >> 8, every, ctx->out[tid]) : every;
    }
  }
}

extern "C" void emu_wait_active(Context *ctx, u32 tid, u32 site) {
  Lane lane(tid);
  ctx->wait_site[tid] = site;
  ctx->in_active[lane.warp] |= lane.bit;
  ctx->ready[lane.warp] &= ~lane.bit;
}

static bool is_exchange(u32 mode) { return mode >= SHFL_UP && mode <= REDUX; }

// Lanes have met at a shuffle or the like: check/race.cc and families/warp/check.py.
static void exchanged(Context *ctx, u32 base, u32 group) {
  if (!ctx->met) return;
  ++ctx->exchanges;
  ++ctx->now;
  Met &met = ctx->met[base >> 5];
  if (group == ALL) {
    for (u32 lane = 0; lane < 32; ++lane) {
      met.whole[lane] = label_of(ctx, base + lane);
      ctx->labels[base + lane] = ctx->now;
    }
  } else {
    u32 together[32] = {};
    for (u32 lane : Bits{group})
      for (u32 other = 0; other < 32; ++other) together[other] = max(together[other], met.some[lane][other]);
    for (u32 lane : Bits{group}) together[lane] = label_of(ctx, base + lane);
    for (u32 lane : Bits{group}) {
      for (u32 other = 0; other < 32; ++other) met.some[lane][other] = together[other];
      ctx->labels[base + lane] = ctx->now;
    }
  }
  if (ctx->learnt[base >> 5] & group) tell_order(ctx, ORDER_EXCHANGE, base, group);
}

// Complete every meeting of a warp whose named, non-exited lanes have all come; whether one did.
bool resolve_warp(Context *ctx, u32 warp) {
  u32 base = 32 * warp, running = ctx->live[warp] & ~ctx->exited[warp];
  bool moved = false;
  for (u32 rest = ctx->in_warp[warp]; rest;) {
    u32 first = base + first_bit(rest), key = ctx->key[first], mask = ctx->mask[first], group = 0;
    for (u32 lane : Bits{rest}) group |= (u32)(ctx->key[base + lane] == key && ctx->mask[base + lane] == mask) << lane;
    rest &= ~group;
    if (mask & running & ~group) continue;
    if (u32 gone = mask & ctx->exited[warp]) tell_order(ctx, ORDER_WARP_MEETING, first, group, gone);
    if ((key & 255) == WARPGROUP) {
      moved |= resolve_warpgroup(ctx, first, key);
      continue;
    }
    // elect.sync orders execution: pipelines let the leader give back a slot that all lanes have read
    bool is_election = (key & 255) == ELECT;
    if (key == WARP_SYNC || is_election) tell_order(ctx, ORDER_WARP, warp, group, is_election);
    perform(ctx, base, group, key);
    if (is_exchange(key & 255)) exchanged(ctx, base, group);
    ctx->in_warp[warp] &= ~group;
    ctx->ready[warp] |= group;
    moved = true;
  }
  return moved || resolve_active(ctx, warp);
}
