// tcgen05.mma: D = A * B (+ D), with D in tensor memory, A there or in shared memory, B in shared memory.
// PTX ISA 9.7.16.4, 9.7.16.10.
//
// The products of a pair of blocks are made one block's rows at a time: a block has half of the rows of A and of D, and
// half of the columns of B.
#include "check/places_of_k.h"
#include "families/tcgen05/matrix_reads.h"
#include "families/tcgen05/tensor_work.h"
#include "tensor_core/planes.h"

namespace {

using namespace tcgen05;
using namespace tensor_fault;

constexpr u32 LANES_A_BLOCK = tensor_memory::LANES, GROUP = tensor_memory::GROUP;

constexpr u32 SCALED_ROWS = 32;  // whose scales are in one column, on a lane each
constexpr u32 MOST_SCALES = 6;   // of a row

// An address of scales; its highest two bits are for software.
constexpr TensorPlace scale_place(u32 address) { return {address & ~(3u << 30)}; }

// A or B in the shared memory of a block: so many rows of so many bytes; the bits of the instruction descriptor that
// have its type, and whether M or N runs fastest.
struct Side {
  u64 descriptor;
  u32 rows, bytes, type, major;
};

// The scales of A or of B in tensor memory, in so many columns: they begin at byte `first` of a word, and those that do
// not end in it go on in the word `step` columns further. As CuTe has it (`tmem_sf_frg`).
struct ScaleSide {
  TensorPlace place;
  u32 first, rows, columns, step;
};

constexpr u32 columns_for(u32 rows) { return (rows + SCALED_ROWS - 1) / SCALED_ROWS; }

// A product as its instruction descriptor and its operands tell of it.
struct Product {
  Context *ctx;
  const TensorOp &op;
  u32 kind = op.form >> KIND_SHIFT & 15;
  bool pair = op.form & PAIR, scaled = kind >= MXF8F6F4, packed = kind >= MXF4;
  bool is_long = packed && field(31, 1);  // K is 96
  bool in_tensor_memory = op.form & A_IN_TENSOR_MEMORY, stationary = op.form & STATIONARY;
  bool sparse = op.form & SPARSE, shifts = op.form & SHIFTS_A;
  u32 blocks = pair ? 2 : 1;
  u32 m = scaled ? field(27, 3) * 128 : field(24, 31) * 16, n = field(17, 63) * 8;
  u32 rows = m / blocks;  // of A and D in a block
  // D's columns are in so many parts, each on lanes further on (layouts B, E, G); or each second 16 lanes are D's (F).
  u32 parts = (stationary || pair) && rows <= LANES_A_BLOCK && rows ? LANES_A_BLOCK / rows : 1;
  bool skips_lanes = !pair && !stationary && m == 64;
  u32 width = n / parts, lanes_a_part = LANES_A_BLOCK / parts;
  u32 size = kind == F16 ? 2 : kind == TF32 ? 4 : 1;  // of an element of A or B in memory, in bytes
  TensorPlace d{op.d}, a{(u32)op.a}, metadata{op.metadata + (sparse ? field(0, 3) : 0)};
  u32 metadata_columns = size == 1 ? 2 : 1;
  // How many scales each row of A or B has along K; 0 in a product without scales.
  u32 scales = kind == MXF8F6F4 ? 1 : !scaled ? 0 : (op.form & BLOCK_16 ? 4 : 2) * (is_long ? 3 : 2) / 2;
  u32 bytes = is_long ? LONG_ROW_BYTES : ROW_BYTES;  // of a row of A

  u32 field(u32 bit, u32 mask) const { return op.idesc >> bit & mask; }

  Side side_a() const { return {op.a, rows, bytes, 7, 15}; }
  Side side_b() const { return {op.b, n / blocks, sparse ? 2 * bytes : bytes, 10, 16}; }

  ScaleSide scales_a() const { return scale_side(op.scale_a, 29, rows, rows); }
  ScaleSide scales_b() const { return scale_side(op.scale_b, 4, width, n); }
  ScaleSide scale_side(u32 address, u32 bit, u32 rows, u32 all) const {
    return {scale_place(address), field(bit, 3), rows, columns_for(rows), (all + 127) / 128 * 4};
  }

  // The block of the pair that has the first rows, or the last.
  Context *block(u32 c) const { return pair && (ctx->cluster_rank & 1) != c ? peer_of(ctx) : ctx; }

  // The lane of a row of a block. PTX ISA 9.7.16.10.5
  u32 lane(u32 row, u32 start) const { return skips_lanes ? row % 16 + row / 16 * 32 + start : row; }

  u32 wrong_type(u32 bit) const {
    const u32 type = field(bit, 7);
    switch (kind) {
      case F16: return type > 1;
      case TF32: return type != 2;
      case I8: return type > 1;
      case F8F6F4:
      case MXF8F6F4: return type == 2 || type > 5;
      default: return field(bit, bit == 10 ? 3 : 7) != 1;
    }
  }

  // Whether the byte at which the scales of A (from bit 29) or of B (from bit 4) begin may be one.
  bool is_scale(u32 bit) const { return field(bit, 3) % (is_long ? scales / 3 : scales) == 0; }

  bool is_scale_type() const { return field(23, 1) ? !(op.form & BLOCK_16) || kind == MXF4NVF4 : kind == MXF4NVF4; }

  // The lane of the scales of a row of B: in the 2 x 2 layout of a pair each half of the columns has its own.
  u32 lane_of_b(u32 row) const { return row % width % SCALED_ROWS + lanes_a_part * (row / width); }
  u32 column_of_b(u32 row) const { return row % width / SCALED_ROWS; }

  bool is_shape() const {
    if (pair) return (m == 128 && !is_long) || m == 256;
    return m == 128 || (m == 64 && !scaled) || (m == 32 && stationary);
  }

  bool is_width() const {
    if (stationary) return n == 64 || n == 128 || (n == 256 && !sparse);
    const u32 step = pair ? 16 : 8;
    if (n < step || n > MOST_COLUMNS || n % step) return false;
    if (kind == I8) return pair ? n % 32 == 0 : n % 16 == 0 || n == 8 || n == 24;
    return size != 1 || packed || !field(16, 1) || n % (16 * blocks) == 0;  // a chunk has 16 rows of B
  }

  // Whether no source has the bits of its results: forms, and types of 4 and 6 bits in bytes.
  bool is_unmeasured() const {
    const bool in_bytes = kind == F8F6F4 || kind == MXF8F6F4, small = field(7, 7) > 2 || field(10, 7) > 2;
    return kind != I8 && (stationary || sparse || is_long || op.scale_d || (in_bytes && small));
  }

  u32 wrong_result() const {
    const u32 type = field(4, 3);
    return kind == I8 ? type != 2 : kind == TF32 ? type != 1 : type > 1;
  }

  // The bit of the first field of the instruction descriptor that is not legal, or NO_FIELD.
  static constexpr u32 NO_FIELD = ~0u;
  u32 wrong_field() const {
    if (field(2, 1) != sparse) return 2;
    if (field(0, 3) > (sparse && size > 1)) return 0;
    if (field(3, 1) && kind != I8) return 3;
    if (!scaled && wrong_result()) return 4;
    if (field(6, 1)) return 6;
    if (wrong_type(7)) return 7;
    if (wrong_type(10)) return 10;
    if (kind == I8 && field(13, 3)) return 13;
    if (packed && field(15, 3)) return 15;
    if (scaled && !is_scale(4)) return 4;
    if (scaled && !is_scale(29)) return 29;
    if (scaled && !is_scale_type()) return 23;
    if (scaled && field(31, 1) && (sparse || !(packed && op.form & TAKES_96))) return 31;
    if (!is_width()) return 17;
    if (!scaled && (field(23, 1) || field(29, 1))) return field(23, 1) ? 23 : 29;
    if (!is_shape()) return scaled ? 27 : 24;
    return NO_FIELD;
  }
};

// The kind of the elements of A (the field from bit 7) or of B (from bit 10). PTX ISA 9.7.16.4.2
Kind kind_of(const Product &p, u32 bit) {
  constexpr Kind SMALL[] = {Kind::e4m3, Kind::e5m2, Kind::e4m3, Kind::e2m3, Kind::e3m2, Kind::e2m1};
  const u32 type = p.field(bit, 7);
  switch (p.kind) {
    case F16: return type ? Kind::bf16 : Kind::f16;
    case TF32: return Kind::tf32;
    case I8: return type ? Kind::s8 : Kind::u8;
    case F8F6F4:
    case MXF8F6F4: return SMALL[type];
    default: return Kind::e2m1x2;
  }
}

// Whether `count` columns from `first` on are allocated in each block of a product; else a fault.
bool are_allocated(const Product &p, u32 address, u32 count) {
  const u32 first = TensorPlace{address}.column();
  for (u32 c = 0; c < p.blocks; ++c) {
    const u32 foreign = foreign_column(tensor_of(p.block(c)), first, count);
    if (foreign != NO_COLUMN) return illegal(p.ctx, p.op.thread, p.op.site, NOT_ALLOCATED, address, foreign);
  }
  return true;
}

bool are_allocated(const Product &p, const ScaleSide &of) {
  const u32 beyond = of.first + p.scales > 4 ? of.step : 0;
  return are_allocated(p, of.place.bits, of.columns) && are_allocated(p, of.place.bits + beyond, of.columns);
}

// `take` the chunks of an operand of some rows in the shared memory of a block.
template <class Take> bool each_chunk(const Product &p, const Side &of, Take take) {
  const MatrixDescriptor desc{of.descriptor};
  return p.field(of.major, 1) ? each_chunk_by_k(desc, of.rows, of.bytes, p.size, take)
                              : each_chunk_by_row(desc, of.rows, of.bytes, take);
}

bool is_matrix_right(const Product &p, const Side &of) {
  auto fault = [&](u64 detail, u64 more) {
    return illegal(p.ctx, p.op.thread, p.op.site, detail, of.descriptor, more);
  };
  const MatrixDescriptor desc{of.descriptor};
  const bool takes_absolute = p.op.form & TAKES_96 && !p.field(of.major, 1);
  if (const u32 field = desc.wrong_field(takes_absolute); field != desc.NO_FIELD) return fault(BAD_MATRIX, field);
  return each_chunk(p, of, [&](u32 address, u32, u32) {
    return address + CHUNK_BYTES <= p.ctx->smem_bytes || fault(MATRIX_OUTSIDE, address);
  });
}

// 16 bytes of one row, or elements of several at one k; a row is `pitch` bytes after the one before.
void put_chunk(const Product &p, const u8 *chunk, u8 *rows, u32 pitch, bool by_k) {
  if (!by_k) return (void)__builtin_memcpy(rows, chunk, CHUNK_BYTES);
  for (u32 i = 0; i < CHUNK_BYTES / p.size; ++i) __builtin_memcpy(rows + i * pitch, chunk + i * p.size, p.size);
}

void read_matrix(const Product &p, const Context *block, const Side &of, u8 *out) {
  const Kind kind = kind_of(p, of.type);
  const u32 width = kind == Kind::e2m1 ? 4 : kind == Kind::e2m3 || kind == Kind::e3m2 ? 6 : 8;
  each_chunk(p, of, [&](u32 address, u32 row, u32 byte) {
    const u8 *chunk = block->smem + address;
    u8 bytes[CHUNK_BYTES];
    if (width < 8) widen(chunk, width, bytes), chunk = bytes;
    put_chunk(p, chunk, out + row * of.bytes + byte, of.bytes, p.field(of.major, 1));
    return true;
  });
}

// The rows of A for a part of D's columns: tensor memory has a copy of A for each part. PTX ISA 9.7.16.10.5
void read_a(const Product &p, const Context *block, u32 part, u8 *out) {
  if (!p.in_tensor_memory) return read_matrix(p, block, p.side_a(), out);
  const u32 first = p.a.lane() + part * p.lanes_a_part;
  for (u32 row = 0; row < p.rows; ++row)
    __builtin_memcpy(out + row * p.bytes, cells_of(block, p.lane(row, first), p.a.column()), p.bytes);
}

// The metadata of a row of A: four bits for each chunk of two (tf32) or four columns, of four pairs of columns of
// e2m1x2. Elements of 8 bits and such pairs have two words in the lane of their row. Wider ones have half a word in
// each of two lanes: a word is of a row and of that eight rows further. PTX ISA 9.7.16.10.8.4; `tmem_e_frg` of CuTe.
u64 metadata_of(const Product &p, const Context *block, u32 row, u32 part) {
  const u32 first = part * p.lanes_a_part, column = p.metadata.column();
  u64 bits = 0;
  if (p.size == 1) return __builtin_memcpy(&bits, cells_of(block, first + row, column), sizeof bits), bits;
  for (u32 half = 0; half < 2; ++half) {
    const u32 lane = first + row / 16 * 16 + 8 * half + row % 8;
    bits |= (u64)(*cells_of(block, lane, column) >> 16 * (row / 8 % 2) & 0xFFFF) << 16 * half;
  }
  return bits;
}

// The columns of the elements of a sparse A, row by row; false, and a fault, where metadata has no meaning. CUTLASS's
// compressor writes 0b0000 for a chunk of zeros, though the PTX ISA does not list it.
bool read_columns(const Product &p, const Context *block, u32 part, u8 *out) {
  constexpr u32 LEGAL = 1 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 12 | 1 << 13 | 1 << 14, OF_TF32 = 1 << 4 | 1 << 14;
  const bool is_tf32 = p.kind == TF32;
  for (u32 row = 0; row < p.rows; ++row) {
    const u64 bits = metadata_of(p, block, row, part);
    for (u32 chunk = 0; chunk < (p.size == 1 ? 16 : 8); ++chunk) {
      const u32 code = bits >> 4 * chunk & 15;
      if (!((is_tf32 ? OF_TF32 : LEGAL) >> code & 1))
        return illegal(p.ctx, p.op.thread, p.op.site, BAD_METADATA, code, row);
      if (is_tf32) *out++ = 2 * chunk + (code >> 1 & 1);
      else
        for (u32 i = 0; i < 2; ++i) {
          const u32 column = 4 * chunk + (code >> 2 * i & 3);
          if (p.packed) *out++ = 2 * column, *out++ = 2 * column + 1;
          else *out++ = column;
        }
    }
  }
  return true;
}

// The scales of rows of A or of B in a block, `p.scales` bytes each. PTX ISA 9.7.16.10.7
template <class Lane, class Column>
void read_scales(const Product &p, const Context *block, const ScaleSide &of, u32 rows, Lane lane, Column column,
                 u8 *out) {
  for (u32 row = 0; row < rows; ++row) {
    const u32 *words = cells_of(block, of.place.lane() + lane(row), of.place.column() + column(row));
    for (u32 byte = of.first; byte < of.first + p.scales; ++byte) *out++ = words[byte / 4 * of.step] >> byte % 4 * 8;
  }
}

void read_scales_of_a(const Product &p, const Context *block, u8 *out) {
  read_scales(
      p, block, p.scales_a(), p.rows, [](u32 row) { return row % SCALED_ROWS; },
      [](u32 row) { return row / SCALED_ROWS; }, out);
}

void read_scales_of_b(const Product &p, const Context *block, u8 *out) {
  read_scales(
      p, block, p.scales_b(), p.n, [&](u32 row) { return p.lane_of_b(row); },
      [&](u32 row) { return p.column_of_b(row); }, out);
}

void read_b(const Product &p, u8 *out) {
  const Side of = p.side_b();
  for (u32 c = 0; c < p.blocks; ++c) read_matrix(p, p.block(c), of, out + c * of.rows * of.bytes);
}

// `move(place, cells, count)` for the columns of D that lie side by side: their place in a plane, and in tensor memory.
template <class Move> void each_part_of_d(const Product &p, u32 c, float *plane, Move move) {
  const Context *block = p.block(c);
  for (u32 row = 0; row < p.rows; ++row)
    for (u32 part = 0; part < p.parts; ++part) {
      const u32 lane = p.lane(row, p.d.lane()) + part * p.lanes_a_part;
      const bool stays = p.op.kept_lanes[(LANES_A_BLOCK * c + lane) / 32] >> lane % 32 & 1;
      if (!stays) move(plane + row * p.n + part * p.width, cells_of(block, lane, p.d.column()), p.width);
    }
}

// One block's rows of D, in parts of the columns where A has a copy for each.
void multiply_rows(const Product &p, const Context *block, const u8 *raw_b, bool is_half, float *d) {
  alignas(64) u8 raw_a[MOST_ROWS * LONG_ROW_BYTES];
  u8 scales_a[MOST_ROWS * MOST_SCALES], scales_b[MOST_COLUMNS * MOST_SCALES], columns[MOST_ROWS * 2 * ROW_BYTES];
  const u32 parts = p.in_tensor_memory || p.sparse ? p.parts : 1, width = p.n / parts;
  if (p.scaled) read_scales_of_a(p, block, scales_a), read_scales_of_b(p, block, scales_b);
  for (u32 part = 0; part < parts; ++part) {
    const u32 first = part * width;
    read_a(p, block, part, raw_a);
    if (p.sparse && !read_columns(p, block, part, columns)) return;
    const Operand a{raw_a, p.rows, kind_of(p, 7), p.field(13, 1) != 0, p.sparse ? columns : nullptr, p.is_long},
        b{raw_b + first * p.side_b().bytes, width, kind_of(p, 10), p.field(14, 1) != 0, nullptr, p.is_long};
    const Scales scales{scales_a, scales_b + first * p.scales, p.scales, !p.field(23, 1)};
    if (p.scaled) emu_multiply_scaled(a, b, scales, {d + first, p.n});
    else emu_multiply(a, b, {d + first, p.n}, {25, is_half, p.field(3, 1) != 0, p.op.scale_d});
  }
}

}  // namespace

bool is_product_right(Context *ctx, const TensorOp &op) {
  const Product p{ctx, op};
  auto fault = [&](u64 detail, u64 value, u64 more = 0) {
    return illegal(ctx, op.thread, op.site, detail, value, more);
  };
  if (const u32 field = p.wrong_field(); field != p.NO_FIELD) return fault(BAD_INSTRUCTION, op.idesc, field);
  const u32 lane = p.d.lane();
  if (lane && (!p.skips_lanes || lane != 16)) return fault(LANE_OF_D, op.d, p.m);
  if (p.sparse && p.rows != MOST_ROWS && !p.stationary) return fault(SPARSE_ROWS, p.m, p.pair);
  if (p.sparse && (p.metadata.lane() || op.metadata % 2)) return fault(PLACE_OF_METADATA, op.metadata);
  if (p.sparse && !are_allocated(p, p.metadata.bits, p.metadata_columns)) return false;
  if (p.shifts && p.m < MOST_ROWS) return fault(ROWS_OF_SHIFT, p.m);
  if (op.zero_columns) return fault(ZERO_COLUMNS, op.zero_columns);
  if (!are_allocated(p, op.d, p.width)) return false;
  if (p.scaled && (!are_allocated(p, p.scales_a()) || !are_allocated(p, p.scales_b()))) return false;
  if (p.in_tensor_memory ? !are_allocated(p, (u32)op.a, p.bytes / 4) : !is_matrix_right(p, p.side_a())) return false;
  return is_matrix_right(p, p.side_b());
}

void multiply(Context *ctx, const TensorOp &op) {
  const Product p{ctx, op};
  alignas(64) u8 raw_b[MOST_COLUMNS * 2 * ROW_BYTES];
  alignas(64) float d[MOST_ROWS * MOST_COLUMNS];
  const bool halves = !p.scaled && p.kind != I8 && p.field(4, 3) == 0;
  if (p.is_unmeasured()) ctx->seen |= SEEN_UNMEASURED;
  read_b(p, raw_b);
  for (u32 c = 0; c < p.blocks; ++c) {
    __builtin_memset(d, 0, sizeof(float) * p.rows * p.n);
    if (op.accumulates)
      each_part_of_d(p, c, d, [&](float *place, const u32 *cells, u32 count) {
        for (u32 i = 0; i < count; ++i)
          if (halves) place[i] = (float)as<_Float16>((u16)cells[i]);
          else __builtin_memcpy(place + i, cells + i, 4);
      });
    multiply_rows(p, p.block(c), raw_b, halves, d);
    each_part_of_d(p, c, d, [&](const float *place, u32 *cells, u32 count) {
      for (u32 i = 0; i < count; ++i)
        if (halves) cells[i] = half_bits(Two(place[i])) & 0xFFFF;
        else __builtin_memcpy(cells + i, place + i, 4);
    });
    for (u32 lane = 0; p.shifts && lane < LANES_A_BLOCK; lane += 32)
      shift_lanes(p.block(c), {p.a.column() | lane << tensor_memory::LANE_SHIFT});
  }
}

bool touches_of_product(Context *ctx, const TensorOp &op, const Touches &touches) {
  const Product p{ctx, op};
  auto matrix = [&](Context *block, const Side &of) {
    PlacesOfK places;
    auto take = [&](u32 address, u32, u32 byte) {
      places.read(block, address, byte);
      return touches.shared(block, address);
    };
    if (!each_chunk(p, of, take)) return false;
    places.tell(ctx, op.thread, op.site);
    return true;
  };
  // lanes of a block, and the columns that lie there side by side
  auto lanes = [&](Context *block, TensorPlace at, u32 first, u32 count, const u32 *kept) {
    for (u32 group = 0; group < LANES_A_BLOCK / GROUP; ++group) {
      const u32 bits = kept ? kept[group / 2] >> group % 2 * GROUP & 0xFFFF : 0;
      const bool used = p.skips_lanes ? group % 2 == at.lane() / GROUP : group * GROUP - first < p.rows;
      if (used && bits != 0xFFFF && !touches.tensor(block, group, at.column(), count, kept)) return false;
    }
    return true;
  };
  auto scales = [&](Context *block, const ScaleSide &of, u32 parts) {
    for (u32 group = 0; group < 2 * parts; ++group) {
      const u32 before = group % 2 * GROUP;  // rows on the lanes before it
      const u32 count = of.rows > before ? columns_for(of.rows - before) : 0;
      for (u32 step = 0; count && step < (of.first + p.scales > 4 ? 2 : 1); ++step) {
        const u32 column = of.place.column() + step * of.step;
        if (!touches.tensor(block, group % 2 + group / 2 * 4, column, count, false)) return false;
      }
    }
    return true;
  };
  for (u32 c = 0; c < p.blocks; ++c) {
    Context *block = p.block(c);
    if (!matrix(block, p.side_b())) return false;
    if (!p.in_tensor_memory && !matrix(block, p.side_a())) return false;
    if (p.scaled && !scales(block, p.scales_a(), 1)) return false;
    if (p.scaled && !scales(block, p.scales_b(), p.parts)) return false;
    for (u32 part = 0; part < p.parts; ++part) {
      const u32 first = part * p.lanes_a_part;
      if (p.in_tensor_memory && !lanes(block, p.a, first, p.bytes / 4, nullptr)) return false;
      if (p.sparse && !lanes(block, p.metadata, first, p.metadata_columns, nullptr)) return false;
      if (!lanes(block, p.d, first, p.width, op.kept_lanes + 4 * c)) return false;
    }
    for (u32 group = 0; p.shifts && group < LANES_A_BLOCK / GROUP; ++group)
      if (!touches.tensor(block, group, p.a.column(), p.bytes / 4, true)) return false;
  }
  return true;
}
