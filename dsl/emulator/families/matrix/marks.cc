// Undefined values through mma and ldmatrix: the marks of undefined.cc, exchanged where a warp meets.
#include "check/check.h"

namespace {

constexpr u32 WARP = 32;
using Collective = void (*)(Context *, u32 base);

MatrixArea *area_of(Context *ctx, u32 thread) { return (MatrixArea *)ctx->a[thread]; }

void call_unmarked(Context *ctx, u32 base) { ((Collective)area_of(ctx, base)->unmarked)(ctx, base); }

}  // namespace

extern "C" {

u32 emu_unwritten(Context *, u64 address, u32 size, u32 element);

// Each lane 4 g + t gives the marks of its registers of A in row g and in row g + 8, and of B in column g. It gets
// those of D in (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1).
void emu_mma_marked(Context *ctx, u32 base) {
  u64 rows[2][WARP / 4] = {}, columns[WARP / 4] = {};
  for (u32 lane = 0; lane < WARP; ++lane) {
    const auto &marks = area_of(ctx, base + lane)->marks;
    u32 group = lane / 4;
    for (u32 half = 0; half < 2; ++half) rows[half][group] = max(rows[half][group], marks[half]);
    columns[group] = max(columns[group], marks[2]);
  }
  for (u32 lane = 0; lane < WARP; ++lane)
    for (u32 i = 0; i < 4; ++i)
      area_of(ctx, base + lane)->marks[i] = max(rows[i / 2][lane / 4], columns[lane % 4 * 2 + i % 2]);
  call_unmarked(ctx, base);
}

// Each lane gives the number of the load, the number of matrices, and whether they are transposed. It gets the mark of
// each register: of 4 bytes of a row, or of 2 bytes of two rows.
void emu_ldmatrix_marked(Context *ctx, u32 base) {
  u64 addresses[WARP], number = area_of(ctx, base)->marks[0];
  u32 count = (u32)area_of(ctx, base)->marks[1];
  bool transposed = area_of(ctx, base)->marks[2];
  for (u32 lane = 0; lane < WARP; ++lane)
    __builtin_memcpy(&addresses[lane], area_of(ctx, base + lane)->words, sizeof(u64));
  for (u32 lane = 0; lane < WARP; ++lane)
    for (u32 i = 0; i < 4; ++i) {
      u64 mark = 0;
      for (u32 part = 0; i < count && part < 1 + transposed; ++part) {
        u64 row = addresses[8 * i + (transposed ? lane % 4 * 2 + part : lane / 4)];
        u64 at = row + (transposed ? lane / 4 * 2 : lane % 4 * 4);
        if (emu_unwritten(ctx, at, transposed ? 2 : 4, 4)) mark = number | (at & undefined::ADDRESS_MASK);
      }
      area_of(ctx, base + lane)->marks[i] = mark;
    }
  call_unmarked(ctx, base);
}
}
