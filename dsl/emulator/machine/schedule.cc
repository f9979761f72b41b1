// The scheduler: threads of one block as coroutines, warp by warp, and what happens where they meet.
//
// A warp runs until all its lanes wait or have exited; then its warp-level meetings resolve; then the block's barriers.
// When nothing can move the launch stops as a deadlock.
//
// Warps and lanes run in order, or, where a launch has a seed, as random numbers choose in each round: which warp is
// first, which of its lanes run. Threads of such a launch also give way before each access to memory that others see,
// and nanosleep lasts. A launch may ask for the latter alone: then only what sleeps changes the order. A list of pauses
// names turns of warps: at each of them the warp stops until no other warp of the block moves, and no other block.
#include "machine/grid.h"
#include "machine/random.h"

namespace {

// Rounds that a pause lasts at most, and for which other blocks may move once no other warp of the block does.
constexpr u32 MOST_PAUSE = 1 << 14, PAUSE_FOR_OTHERS = 256;
// Rounds after which a block that does nothing but poll memory gives way to other blocks (the first time `patience`).
constexpr u32 PATIENCE_AGAIN = 2;
// One in this many rounds looks whether all that could run are at mbarriers. After MBARRIER_LOOKS such looks, in which
// nobody has reached one, they wait for ever: an mbarrier's threads are of its block.
constexpr u32 LOOK_ROUNDS = 64;
// After IDLE_POLLS polls in all, from LEAST_IDLE to MOST_IDLE rounds, in which no thread of any block did anything
// else, they poll for ever.
using schedule::LEAST_IDLE;
constexpr u32 IDLE_POLLS = 1 << 24, MOST_IDLE = 1 << 20;

using Start = void *(*)(Context *, u32 tid);
using Resume = void (*)(void *);

// A lane ran, or a meeting of the warp was over; a lane did more than poll memory; the launch must end.
enum Progress : u32 { NOTHING = 0, RAN = 1, MOVED = 2, ENDS = 4 };

// Start or resume one thread; false when the launch must end.
bool run_lane(Context *ctx, Start start, u32 tid) {
  if (void *handle = (void *)ctx->handle[tid]) (*(Resume *)handle)(handle);
  else ctx->handle[tid] = (u64)start(ctx, tid);
  return ctx->status == 0;
}

// Run a warp until its lanes wait, have exited or have yielded.
u32 run_warp(Context *ctx, Start start, u32 warp) {
  u32 ran = NOTHING;
  for (;;) {
    u32 ready = ctx->ready[warp], some = ready & random(ctx), chosen = some ? some : ready;
    ctx->polling[warp] &= ~chosen;
    for (u32 lane : Bits{chosen})
      if (!run_lane(ctx, start, 32 * warp + lane)) return ENDS;
    u32 left = ctx->ready[warp], idle = left | ctx->polling[warp];
    if (ready) ran |= chosen & ~idle ? RAN | MOVED : RAN;
    if (!(ctx->in_warp[warp] | ctx->in_active[warp])) return ran;
    bool moved = resolve_warp(ctx, warp);
    if (ctx->status) return ENDS;
    if (!moved) return ran;
    ran |= RAN;
    if (left) return ran;
  }
}

// After each round: whether all threads that could run wait at mbarriers, and have for long.
bool at_mbarriers(Context *ctx, bool moves) {
  ++ctx->rounds;
  if (moves) ctx->mbarrier_idle = 0;
  if (ctx->rounds < LOOK_ROUNDS) return false;
  ctx->rounds = 0;
  u32 others = 0;
  for (u32 warp = 0; warp < ctx->warps; ++warp) others |= ctx->ready[warp] & ~ctx->in_mbarrier[warp];
  ctx->mbarrier_idle = others ? 0 : ctx->mbarrier_idle + 1;
  if (ctx->mbarrier_idle > MBARRIER_LOOKS) return true;
  for (u32 warp = 0; warp < ctx->warps; ++warp) ctx->in_mbarrier[warp] = 0;
  return false;
}

// From now on the warp does not run.
void begin_pause(Context *ctx, u32 warp) {
  ctx->pausing |= 1u << warp;
  ctx->pause_rounds = ctx->pause_quiet = 0;
}

template <class T> T now(const T &field) { return __atomic_load_n((const volatile T *)&field, __ATOMIC_RELAXED); }

// Whether every block that runs has for long done nothing but poll memory. (A thread that gives way elsewhere, as
// before each access of a launch with a seed, sets `idle` to 0.)
bool all_idle(Context *ctx) {
  u32 limit = LEAST_IDLE;  // of checked code, which is slow
  if (!ctx->begin_checks) limit = max(min(IDLE_POLLS / ctx->threads, MOST_IDLE), LEAST_IDLE);
  Context *slot = __atomic_load_n(&ctx->shared_grid->slots, __ATOMIC_ACQUIRE);
  for (; slot; slot = slot->every) {
    u32 state = now(slot->state);
    if ((state == RUNNING || state == WAITING) && now(slot->idle) < limit) return false;
  }
  return true;
}

// No thread of the block can go on: the block gives way to others of its cluster; where they cannot either, they wait
// for ever.
void wait_for_cluster(Context *ctx) {
  ctx->status = is_cluster_over(ctx) ? DEADLOCK : 0;
  ctx->state = WAITING;
}

// Whether the launch is to stop; signals that were asked for are heard.
bool is_stopped(Context *ctx) {
  u32 flag = *(volatile u32 *)&ctx->stop;
  return flag && emu_take_signals((u64)ctx);
}

}  // namespace

extern "C" {

u32 emu_wait_warp(Context *ctx, u32 tid, u32 key, u32 mask, u64 a, u32 b, u32 c, u32 site) {
  Lane lane(tid);
  if (!(mask & lane.bit)) return illegal(ctx, tid, site, NOT_IN_MASK, mask);
  ctx->key[tid] = key;
  ctx->mask[tid] = mask;
  ctx->a[tid] = a;
  ctx->b[tid] = b;
  ctx->c[tid] = c;
  ctx->wait_site[tid] = site;
  ctx->in_warp[lane.warp] |= lane.bit;
  ctx->ready[lane.warp] &= ~lane.bit;
  return 1;
}

void emu_exit(Context *ctx, u32 tid) {
  Lane lane(tid);
  ctx->exited[lane.warp] |= lane.bit;
  ctx->ready[lane.warp] &= ~lane.bit;
}

// All threads of one block, from `start` until they have exited, or until they only poll memory.
void emu_run_block(Context *ctx, Start start) {
  bool fresh = ctx->state != WAITING, seeded = ctx->order != 0;
  u32 patience = ctx->patience;
  ctx->spins = fresh || seeded ? 0 : patience - PATIENCE_AGAIN;
  if (fresh) {
    begin_threads(ctx);
    ctx->mbarrier_idle = ctx->idle = ctx->pausing = 0;
  }
  ctx->idle &= ~STUCK;
  ctx->state = RUNNING;
  for (;;) {
    u32 idle = ctx->idle;
    if (ctx->pausing) ctx->idle = 1;  // 0 again once a thread does more than poll
    u32 progress = 0, left = 0, warps = ctx->warps, chance = random(ctx), first = chance % warps;
    for (u32 place = 0; place < warps; ++place) {
      u32 warp = place + first;
      if (warp >= warps) warp -= warps;
      if (ctx->ready[warp] && pauses(ctx)) begin_pause(ctx, warp);
      u32 ran = ctx->pausing >> warp & 1 ? RAN : run_warp(ctx, start, warp);
      if (ran & ENDS) return;
      progress |= ran;
      left |= ctx->live[warp] ^ ctx->exited[warp];
    }
    if (!left) return;
    if (is_stopped(ctx)) {
      ctx->status = INTERRUPTED;
      return;
    }
    bool moved = resolve_barriers(ctx);
    if (!moved && !progress) {
      ctx->idle |= STUCK;
      ctx->mbarrier_idle = MBARRIER_LOOKS + 1;
      return wait_for_cluster(ctx);
    }
    bool moves = progress & MOVED;
    if (ctx->pausing) {
      bool acts = moves || !ctx->idle;
      ctx->idle = acts ? 0 : idle;
      ctx->pause_quiet = acts ? 0 : ctx->pause_quiet + 1;
      if (++ctx->pause_rounds > MOST_PAUSE || ctx->pause_quiet > PAUSE_FOR_OTHERS) ctx->pausing = 0;
      ctx->mbarrier_idle = 0;
      ctx->state = WAITING;
      return;
    }
    if (at_mbarriers(ctx, moves)) return wait_for_cluster(ctx);
    ctx->spins = moves ? 0 : ctx->spins + 1;
    ctx->idle = moves ? 0 : ctx->idle + 1;
    if ((ctx->idle & (LEAST_IDLE - 1)) == LEAST_IDLE - 1 && all_idle(ctx)) ctx->status = DEADLOCK;
    if (ctx->status) return;
    if (ctx->spins > (seeded ? chance & SEEDED_PATIENCE : patience)) {
      ctx->state = WAITING;
      return;
    }
  }
}
}
