// mma with a kind: f8f6f4, and mxf8f6f4, mxf4 and mxf4nvf4 with scales of blocks. PTX ISA 9.7.14.5.14, 9.7.14.3.
//
// Whatever their types, the registers of A and B hold 4 bytes each of rows of 32 bytes (fragments.py). Which lane has
// which scale was probed on an RTX 5090 by others; CuTe's layouts of scale factors say the same.
#include "families/matrix/metadata.h"
#include "tensor_core/planes.h"

namespace {

using namespace mma_kind;

constexpr u32 WARP = 32, M = 16, N = 8;

KindArea *area_of(Context *ctx, u32 thread) { return (KindArea *)ctx->a[thread]; }

constexpr u32 MOST_TERMS = 64;  // elements of a row of A

struct Planes {
  alignas(64) u8 a[M * ROW_BYTES], b[2 * N * ROW_BYTES];
  alignas(64) float d[M * N];
  u8 columns[M * MOST_TERMS];  // of a sparse A
};

// `move(words, place)` for each two neighbours of D: where a lane has them, and their place in the plane.
template <class Move> void each_pair(Context *ctx, u32 base, Planes &planes, u32 words, Move move) {
  for (u32 lane = 0; lane < WARP; ++lane)
    for (u32 lower = 0; lower < 2; ++lower)
      move(area_of(ctx, base + lane)->d + lower * words, planes.d + (lane / 4 + 8 * lower) * N + 2 * (lane % 4));
}

void take(Context *ctx, u32 base, Planes &planes, bool half, u32 registers_of_b) {
  for (u32 lane = 0; lane < WARP; ++lane) {
    const KindArea *area = area_of(ctx, base + lane);
    u32 group = lane / 4, thread = lane % 4;
    for (u32 r = 0; r < 4; ++r)
      store(planes.a + (group + 8 * (r % 2)) * ROW_BYTES + 4 * thread + 16 * (r / 2), area->a[r]);
    for (u32 r = 0; r < registers_of_b; ++r)
      store(planes.b + 16 * (group * registers_of_b + r) + 4 * thread, area->b[r]);
  }
  if (half) each_pair(ctx, base, planes, 1, [](u32 *words, float *at) { store(at, widened<Kind::f16, 2>(words)); });
  else each_pair(ctx, base, planes, 2, [](u32 *words, float *at) { store(at, load<Two>(words)); });
}

void give(Context *ctx, u32 base, Planes &planes, bool half) {
  if (half) each_pair(ctx, base, planes, 1, [](u32 *words, float *at) { *words = half_bits(load<Two>(at)); });
  else each_pair(ctx, base, planes, 2, [](u32 *words, float *at) { store(words, load<Two>(at)); });
}

template <int bits, int terms> void take_columns(Context *ctx, u32 base, Planes &planes) {
  for (u32 lane = 0; lane < WARP; ++lane)
    place<bits, terms>(lane, area_of(ctx, base + lane)->metadata, 0,
                       [&](u32 row, u32 index, u32 column) { planes.columns[row * terms + index] = column; });
}

// Whether the selectors of a lane's scales are legal; a fault otherwise. `threads`: how many of a group may be named.
bool is_legal(Context *ctx, u32 tid, const Selector &of, u32 count, u32 threads, u32 operand) {
  bool in_word = of.byte % count == 0 && of.byte + count <= 4;
  if (in_word && of.thread < threads) return true;
  return illegal(ctx, tid, ctx->wait_site[tid], BAD_SELECTOR, operand, in_word ? of.thread : of.byte);
}

// The scales of a row of A, or of a column of B: `count` bytes of the word of a lane of its group.
void take_scales(Context *ctx, u32 base, u32 count, u8 *a, u8 *b) {
  for (u32 row = 0; row < M; ++row, a += count) {
    u32 group = base + 4 * (row % 8);
    const Selector &of = area_of(ctx, group)->scale_a;
    __builtin_memcpy(a, (u8 *)&area_of(ctx, group + 2 * of.thread + row / 8)->scale_a.scales + of.byte, count);
  }
  for (u32 column = 0; column < N; ++column, b += count) {
    u32 group = base + 4 * column;
    const Selector &of = area_of(ctx, group)->scale_b;
    __builtin_memcpy(b, (u8 *)&area_of(ctx, group + of.thread)->scale_b.scales + of.byte, count);
  }
}

}  // namespace

extern "C" void emu_mma_kind(Context *ctx, u32 base) {
  u32 form = area_of(ctx, base)->form, count = form >> SCALES_SHIFT & 7;
  bool half = form & HALF, is_sparse = form & SPARSE;
  const Kind kind_a = Kind(form & 255), kind_b = Kind(form >> B_SHIFT & 255);
  Planes planes;
  take(ctx, base, planes, half, is_sparse ? 4 : 2);
  if (is_sparse && kind_a == Kind::e2m1x2) take_columns<4, 64>(ctx, base, planes);
  else if (is_sparse) take_columns<8, 32>(ctx, base, planes);
  const Operand a{planes.a, M, kind_a, false, is_sparse ? planes.columns : nullptr}, b{planes.b, N, kind_b, false};
  if (count) {
    const u32 first = is_sparse ? 8 : 6;  // the operand that selects scales of A
    u8 scales_a[M * 4], scales_b[N * 4];
    for (u32 tid = base; tid < base + WARP; ++tid) {
      const KindArea *area = area_of(ctx, tid);
      if (!is_legal(ctx, tid, area->scale_a, count, 2, first) ||
          !is_legal(ctx, tid, area->scale_b, count, 4, first + 2))
        return;
    }
    take_scales(ctx, base, count, scales_a, scales_b);
    emu_multiply_scaled(a, b, {scales_a, scales_b, count, bool(form & UE4M3)}, {planes.d, N});
  } else emu_multiply(a, b, {planes.d, N}, {25, half});
  give(ctx, base, planes, half);
}
