// Copies of boxes of a tensor: see box_copies.cc.
#pragma once
#include "families/tensor_map/tensor_map.h"

// Whether a tensor map of `rank` dimensions is at an address in global, constant or parameter memory; a fault if
// not.
bool check_map(Context *ctx, u64 address, u32 rank, u32 site, u32 tid);
// Whether the box begins at a multiple of 16 bytes, or with a slice; a fault if not.
bool check_start(Context *ctx, const TensorMap &map, const i32 *coords, u32 site, u32 tid);
// Whether a wide map's copy has a halo and an offset that the ISA allows, and the halo does not go past the end of a
// row of pixels, where no document gives its pixels; a fault if not.
bool check_halo(Context *ctx, const TensorMap &map, const i32 *coords, u32 site, u32 tid);
// Whether what the box touches of the tensor is in one allocation; a fault if not.
bool check_range(Context *ctx, const TensorMap &map, const i32 *coords, u32 site, u32 tid);
// Of a wide map the coordinates give the halo that is copied too.
u32 box_bytes(const TensorMap &map, const i32 *coords);
// The bytes that the copy of a box of `size` bytes reports to an mbarrier: those in global memory.
u32 box_transaction_bytes(const TensorMap &map, u32 size);
// The bytes of shared memory that `count` boxes of `size` bytes take: a swizzle of 32, 64 or 128 bytes permutes chunks
// of as many.
u32 box_room(const TensorMap &map, u32 size, u32 count);
// Visit the bytes of the tensor that the box touches, part by part, until a visit gives false; whether none did.
using Visit = bool (*)(void *data, u64 address, u64 size);
bool visit_box(const TensorMap &map, const i32 *coords, Visit visit, void *data);
// Copy the box between the tensor and shared memory (an address): `loads` reads the tensor; or reduce into it.
void box_copy(const TensorMap &map, u64 smem, const i32 *coords, bool loads, u32 reduction);
