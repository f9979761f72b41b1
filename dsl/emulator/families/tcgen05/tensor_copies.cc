// tcgen05.cp, from shared memory to tensor memory. PTX ISA 9.7.16.9.2.
#include "families/tcgen05/matrix_reads.h"
#include "families/tcgen05/tensor_work.h"

namespace {

using namespace tcgen05;
using namespace tensor_fault;

constexpr u32 QUARTER = 32;

// A copy: `rows` rows of `chunks` times 16 bytes; a row goes to each lane of `lane(row)`, and those a step further.
struct Copy {
  Context *ctx;
  const TensorOp &op;
  u32 shape = op.form >> SHAPE_SHIFT & 15;
  bool widens = op.form & (FROM_B4 | FROM_B6);
  u32 chunks = shape == CP_128X256B || shape == CP_4X256B ? 2 : 1;
  u32 rows = shape == CP_4X256B                                  ? 4
             : shape == CP_32X128B                               ? 32
             : shape >= CP_64X128B_02_13 && shape != CP_128X128B ? 64
                                                                 : 128;
  u32 repeats = shape == CP_32X128B ? 4 : rows == 64 ? 2 : 1;
  u32 step = shape == CP_64X128B_02_13 ? 64 : QUARTER;  // lanes from a repeat to the next
  TensorPlace d{op.d};

  u32 lane(u32 row) const {
    if (shape == CP_4X256B) return row * QUARTER;
    return shape == CP_64X128B_01_23 ? row % QUARTER + row / QUARTER * 64 : row;
  }
  u32 blocks() const { return op.form & PAIR ? 2 : 1; }
  Context *block(u32 c) const { return c ? peer_of(ctx) : ctx; }
};

// `take(address, row, chunk)` for each 16 bytes of the source, whose rows are K-major. Stops where it is false.
template <class Take> bool each_chunk(const Copy &copy, Take take) {
  return each_chunk_by_row({copy.op.a}, copy.rows, copy.chunks * CHUNK_BYTES,
                           [&](u32 address, u32 row, u32 byte) { return take(address, row, byte / CHUNK_BYTES); });
}

}  // namespace

bool is_copy_right(Context *ctx, const TensorOp &op) {
  const Copy copy{ctx, op};
  auto fault = [&](u64 detail, u64 value, u64 more) { return illegal(ctx, op.thread, op.site, detail, value, more); };
  const MatrixDescriptor desc{op.a};
  if (const u32 field = desc.wrong_field(); field != desc.NO_FIELD) return fault(BAD_MATRIX, op.a, field);
  for (u32 c = 0; c < copy.blocks(); ++c) {
    const u32 foreign = foreign_column(tensor_of(copy.block(c)), copy.d.column(), 4 * copy.chunks);
    if (foreign != NO_COLUMN) return fault(NOT_ALLOCATED, op.d, foreign);
  }
  return each_chunk(copy, [&](u32 address, u32, u32) {
    return address + CHUNK_BYTES <= ctx->smem_bytes || fault(MATRIX_OUTSIDE, op.a, address);
  });
}

void copy_in(Context *ctx, const TensorOp &op) {
  const Copy copy{ctx, op};
  for (u32 c = 0; c < copy.blocks(); ++c) {
    const Context *block = copy.block(c);
    each_chunk(copy, [&](u32 address, u32 row, u32 chunk) {
      u8 bytes[CHUNK_BYTES];
      if (copy.widens) widen(block->smem + address, op.form & FROM_B4 ? 4 : 6, bytes);
      else __builtin_memcpy(bytes, block->smem + address, CHUNK_BYTES);
      for (u32 i = 0; i < copy.repeats; ++i) {
        const u32 lane = copy.lane(row) + i * copy.step;
        __builtin_memcpy(cells_of(block, lane, copy.d.column() + 4 * chunk), bytes, CHUNK_BYTES);
      }
      return true;
    });
  }
}

bool touches_of_copy(Context *ctx, const TensorOp &op, const Touches &touches) {
  const Copy copy{ctx, op};
  for (u32 c = 0; c < copy.blocks(); ++c) {
    Context *block = copy.block(c);
    if (!each_chunk(copy, [&](u32 address, u32, u32) { return touches.shared(block, address); })) return false;
    for (u32 group = 0; group < tensor_memory::LANES / tensor_memory::GROUP; ++group)
      if (!touches.tensor(block, group, copy.d.column(), 4 * copy.chunks, true)) return false;
  }
  return true;
}
