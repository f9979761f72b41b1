// Reads of memory that nobody wrote, told where the value is used.
//
// Shared and local memory, and allocations known to be new, have a byte for each of their bytes: WRITTEN or not.
// A load of bytes that are not marks the register it sets with its origin: the load and the address. The mark goes
// where the value goes, through registers, shuffles, shared and local memory, and is a finding where it decides
// something: a branch, a guard, an address, or what leaves the thread (global memory, atomics, prints). So a
// vector load that reaches into padding, and a load that a compiler moved before its condition, are none.
//
// Global memory may be copied with its padding: a value that was read there and is stored in global memory unchanged is
// no finding, also by way of shared memory, and its bytes stay unwritten where that is followed.
//
// A mark is a u64: COMPUTED, the number of the load + 1, then 48 bits of its address; 0 where all is well. A shuffle
// that asks for a lane which takes no part gives a mark too: SHUFFLED and that lane are in the place of an address.
#include "check/check.h"

namespace {

enum : u8 { UNWRITTEN, WRITTEN, COPIED };  // COPIED: written, with a value of global memory that is unwritten there

// Whether an address is in the local memory of the block's threads.
[[gnu::always_inline]] inline bool is_local(const Context *ctx, u64 address) {
  return address - (u64)ctx->local < ctx->local_bytes * ctx->threads;
}

// The address of the bytes about the memory at an address, or null; `owner` as `owner_of` gives it.
[[gnu::always_inline]] inline u8 *valid_at(Context *ctx, u64 address, const Context *owner) {
  if (owner) return owner->smem_valid ? owner->smem_valid + (address - (u64)owner->smem) : nullptr;
  if (ctx->local_valid && is_local(ctx, address)) return ctx->local_valid + (address - (u64)ctx->local);
  u64 offset = near_offset(ctx, address);
  return ctx->near_valid ? ctx->near_valid + offset : nullptr;
}

[[gnu::always_inline]] inline u32 site_of(u64 mark) {
  return (u32)((mark & ~undefined::COMPUTED) >> undefined::SITE_SHIFT) - 1;
}

// Whether a mark is of a value as it was read, that others than this block left unwritten.
[[gnu::cold, gnu::noinline]] bool is_copied(Context *ctx, u64 mark, u32 size) {
  u64 address = mark & undefined::ADDRESS_MASK;
  if (mark & (undefined::COMPUTED | undefined::SHUFFLED)) return false;
  const Context *owner = owner_of(ctx, address);
  if (!owner && !is_local(ctx, address)) return true;
  const u8 *valid = valid_at(ctx, address, owner);
  for (u32 i = 0; valid && i < size; ++i)
    if (valid[i] == UNWRITTEN) return false;
  return valid;
}

// The bytes about a copy of `size` bytes follow those about where it was read: some may be written and some not.
[[gnu::cold, gnu::noinline]] void copy_valid(Context *ctx, u8 *valid, u32 size, u64 mark) {
  u64 address = mark & undefined::ADDRESS_MASK;
  const Context *owner = owner_of(ctx, address);
  const u8 *from = valid_at(ctx, address, owner);
  bool is_whole = from && (owner || is_local(ctx, address) || address + size <= ctx->near_lo + ctx->near_bytes);
  for (u32 i = 0; i < size; ++i) valid[i] = !is_whole || from[i] == WRITTEN ? WRITTEN : COPIED;
}

// Whether some of the word of global memory that a mark names is written, as the rest of a structure with padding is.
[[gnu::cold, gnu::noinline]] bool is_padding(Context *ctx, u64 mark) {
  u64 word = mark & undefined::ADDRESS_MASK & ~3ull;
  if (owner_of(ctx, word) || is_local(ctx, word)) return false;
  const u8 *valid = valid_at(ctx, word, nullptr);
  u32 written = 0;
  for (u32 i = 0; valid && i < 4; ++i) written += valid[i] == WRITTEN;
  return written;
}

// memset, which is a store for the sizes of most accesses.
[[gnu::always_inline]] inline void fill(u8 *start, u8 byte, u32 size) {
  switch (size) {
    case 4: __builtin_memset(start, byte, 4); break;
    case 8: __builtin_memset(start, byte, 8); break;
    case 16: __builtin_memset(start, byte, 16); break;
    default: __builtin_memset(start, byte, size);
  }
}

}  // namespace

extern "C" {

// A marked value decides something at a site, `how` as numbers.py has it: 0 where the launch ends with it, else 1.
//
// A branch or an address of garbage may lead anywhere. A value that is only passed on is kept for the launch's end: a
// race may have come before it, which explains more.
[[gnu::noinline, gnu::cold]] u32 emu_undefined(Context *ctx, u32 tid, u32 site, u64 mark, u32 how) {
  if (how == undefined::ENDS) {
    ctx->undefined_mark = 0;
    ctx->other_site = site_of(mark);
    emu_fault(ctx, UNDEFINED, site, tid, mark & undefined::ADDRESS_MASK, 0, 0);
    return 0;
  }
  if (!ctx->undefined_mark) {
    ctx->undefined_mark = mark;
    ctx->undefined_block = ctx->block;
    ctx->undefined_site = site;
    ctx->undefined_thread = tid;
  }
  return 1;
}

// The thread gives another lane what it has computed of unwritten memory: it is defined if that memory is padding.
[[gnu::noinline, gnu::cold]] void emu_given(Context *ctx, u32 tid) {
  u64 *mark = &ctx->mark_given[tid];
  if (!(*mark & undefined::SHUFFLED) && is_padding(ctx, *mark)) *mark = 0;
}

// Which of `size` (at most 32) bytes at an address nobody wrote, a bit a byte. `element`: the bytes of one register.
u32 emu_unwritten(Context *ctx, u64 address, u32 size, u32 element) {
  const Context *owner = owner_of(ctx, address);
  const u8 *valid = valid_at(ctx, address, owner);
  if (!valid) return 0;
  if (size == 4 && *(const u32 *)valid == 0x01010101) return 0;
  u32 unwritten = 0;
#pragma clang loop vectorize(disable)
  for (u32 i = 0; i < size; ++i) unwritten |= (u32)(valid[i] != WRITTEN) << i;
  // Half of a register of 8 bytes may be padding of a struct in global memory, and what is read is taken apart.
  if (element >= 8 && !owner && !is_local(ctx, address))
    for (u32 at = 0; at < size; at += 8) {
      u32 half = unwritten >> at & 255;
      if (half == 0x0F || half == 0xF0) unwritten &= ~(half << at);
    }
  return unwritten;
}

// `size` bytes are written with a value of this mark, which is a finding where others than this block may read it.
void emu_written(Context *ctx, u32 tid, u32 site, u64 address, u32 size, u64 mark) {
  const Context *owner = owner_of(ctx, address);
  u8 *valid = valid_at(ctx, address, owner);
  bool leaves = mark && !owner && !is_local(ctx, address), is_copy = mark && is_copied(ctx, mark, size);
  if (leaves && !is_copy) emu_undefined(ctx, tid, site, mark, undefined::GOES_ON);
  if (!valid) return;
  if (is_copy) copy_valid(ctx, valid, size, mark);
  else fill(valid, !mark || leaves ? WRITTEN : UNWRITTEN, size);
}

// Bytes outside of shared memory are written by a copy.
void emu_written_out(Context *ctx, u64 address, u64 size) {
  if (u8 *valid = valid_at(ctx, address, nullptr)) __builtin_memset(valid, WRITTEN, size);
}

// Bytes count as never written.
void emu_unwritten_again(Context *ctx, u64 address, u64 size) {
  if (u8 *valid = valid_at(ctx, address, owner_of(ctx, address))) __builtin_memset(valid, UNWRITTEN, size);
}

// A copy of `size` bytes that the thread has waited for, for both checkers.
void emu_landed(Context *ctx, u32 tid, u64 address, u32 size) {
  u32 nbytes = size & (SIGNALS - 1);
  if (ctx->labels && !(size & SIGNALS)) emu_race_landed(ctx, tid, address, nbytes);
  if (size & COPIED_OUT) return;
  if (u8 *valid = valid_at(ctx, address, owner_of(ctx, address))) __builtin_memset(valid, 1, nbytes);
}
}
