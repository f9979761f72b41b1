// Tensor maps, which the helper encodes: the emulator owns their form.  CUDA driver API: tensor map object management.
#include "contexts.h"
#include "helper.h"

namespace driver {
namespace {

constexpr u32 MOST_RANK = 5, MAP_BYTES = 128;
enum : u32 { TILED, IM2COL, WIDE };

void begin(Message &message, u32 kind, u32 rank, u32 type, Address address, const u64 *extents, const u64 *strides) {
  message.put(kind);
  message.put(rank);
  message.put(type);
  message.put(address);
  message.put(extents, rank * 8ull);
  message.put(strides, (rank - 1) * 8ull);
}

void put_modes(Message &message, u32 interleave, u32 swizzle, u32 promotion, u32 fill) {
  message.put(interleave);
  message.put(swizzle);
  message.put(promotion);
  message.put(fill);
}

Result encode(u8 *map, const Message &message) {
  Answer answer;
  if (Result refused = ask(Op::TENSOR_MAP, message, &answer)) return refused;
  if (answer.bytes.count < answer.at + MAP_BYTES) return UNKNOWN;
  memcpy(map, answer.bytes.data + answer.at, MAP_BYTES);
  return SUCCESS;
}

Result refuse_rank(u32 rank, u32 least) {
  if (rank >= least && rank <= MOST_RANK) return SUCCESS;
  tell("a tensor map has %u to %u dimensions, got %u", least, MOST_RANK, rank);
  return INVALID_VALUE;
}

}  // namespace
}  // namespace driver

using namespace driver;

API(cuTensorMapEncodeTiled)(u8 *map, u32 type, u32 rank, Address address, const u64 *extents, const u64 *strides,
                            const u32 *box, const u32 *steps, u32 interleave, u32 swizzle, u32 promotion, u32 fill) {
  ENTER_CONTEXT;
  if (Result bad = refuse_rank(rank, 1)) return bad;
  REFUSE_IF(!map || !extents || (rank > 1 && !strides) || !box || !steps, INVALID_VALUE);
  Message message;
  begin(message, TILED, rank, type, address, extents, strides);
  message.put(box, rank * 4ull);
  message.put(steps, rank * 4ull);
  put_modes(message, interleave, swizzle, promotion, fill);
  return encode(map, message);
}

API(cuTensorMapEncodeIm2col)(u8 *map, u32 type, u32 rank, Address address, const u64 *extents, const u64 *strides,
                             const int *lower, const int *upper, u32 channels, u32 pixels, const u32 *steps,
                             u32 interleave, u32 swizzle, u32 promotion, u32 fill) {
  ENTER_CONTEXT;
  if (Result bad = refuse_rank(rank, 3)) return bad;
  REFUSE_IF(!map || !extents || !strides || !lower || !upper || !steps, INVALID_VALUE);
  Message message;
  begin(message, IM2COL, rank, type, address, extents, strides);
  message.put(lower, (rank - 2) * 4ull);
  message.put(upper, (rank - 2) * 4ull);
  message.put(channels);
  message.put(pixels);
  message.put(steps, rank * 4ull);
  put_modes(message, interleave, swizzle, promotion, fill);
  return encode(map, message);
}

API(cuTensorMapEncodeIm2colWide)(u8 *map, u32 type, u32 rank, Address address, const u64 *extents, const u64 *strides,
                                 int lower, int upper, u32 channels, u32 pixels, const u32 *steps, u32 interleave,
                                 u32 mode, u32 swizzle, u32 promotion, u32 fill) {
  ENTER_CONTEXT;
  if (Result bad = refuse_rank(rank, 3)) return bad;
  REFUSE_IF(!map || !extents || !strides || !steps, INVALID_VALUE);
  Message message;
  begin(message, WIDE, rank, type, address, extents, strides);
  message.put(lower);
  message.put(upper);
  message.put(channels);
  message.put(pixels);
  message.put(steps, rank * 4ull);
  message.put(mode);
  put_modes(message, interleave, swizzle, promotion, fill);
  return encode(map, message);
}

API(cuTensorMapReplaceAddress)(u8 *map, Address address) {
  ENTER_CONTEXT;
  REFUSE_IF(!map || !address || address % 16, INVALID_VALUE);
  memcpy(map, &address, sizeof address);
  return SUCCESS;
}
