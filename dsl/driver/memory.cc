// Allocation. Every kind of memory is in the arena: kernels and the program reach all of it by one address.  CUDA
// driver API: memory management.
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "arena.h"
#include "device.h"
#include "in_process.h"
#include "order.h"
#include "pieces.h"

namespace driver {
namespace {

constexpr u64 ALIGNMENT = 512, GAP = 512;  // after a block, so that an access past its end is noticed
constexpr u64 LARGE = 1 << 20;             // from here on freed pages go back to the operating system
constexpr u64 PITCH = 512;
constexpr int PUNCH = 3;  // FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE

struct Span {
  Address start;
  u64 bytes;
};

Vector<Block> all;
Vector<Span> free_spans;
u64 used, next_id = 1;
bool is_ready;

bool begin() {
  if (is_ready) return true;
  Address start = arena();
  if (!start) return false;
  u64 before = CONTROL_BYTES + VARIABLES_BYTES;
  free_spans.add({start + before, ARENA_BYTES - before});
  return is_ready = true;
}

// The place in a sorted array of the first row that starts after an address.
template <class T> u64 after(Vector<T> &rows, Address address) {
  u64 low = 0, high = rows.count;
  while (low < high) {
    u64 middle = (low + high) / 2;
    if (rows[middle].start > address) high = middle;
    else low = middle + 1;
  }
  return low;
}

void give_back(Address start, u64 bytes) {
  u64 at = after(free_spans, start);
  bool joins_before = at && free_spans[at - 1].start + free_spans[at - 1].bytes == start;
  bool joins_after = at < free_spans.count && start + bytes == free_spans[at].start;
  if (joins_before) {
    free_spans[at - 1].bytes += bytes;
    if (!joins_after) return;
    free_spans[at - 1].bytes += free_spans[at].bytes;
    free_spans.remove(at);
  } else if (joins_after) {
    free_spans[at].start = start, free_spans[at].bytes += bytes;
  } else {
    free_spans.insert(at, {start, bytes});
  }
}

// Give pages back to the operating system; they are 0 when they are used again.
void punch(Address start, u64 bytes) {
  fallocate(arena_file(), PUNCH, (off_t)(start - arena()), (off_t)round_up(bytes, 4096));
}

// New memory: nobody wrote it.
void forget_writes(Address start, u64 bytes) {
  if (!follows_writes()) return;
  start += WRITTEN_AFTER;
  u64 edge = (4096 - start % 4096) % 4096, inner = bytes > edge ? (bytes - edge) & ~4095ull : 0;
  if (inner < LARGE) {
    memset((void *)start, 0, bytes);
    return;
  }
  memset((void *)start, 0, edge);
  punch(start + edge, inner);
  memset((void *)(start + edge + inner), 0, bytes - edge - inner);
}

// Whether it is kept which of its bytes were written.
bool is_followed(Address address) {
  if (!follows_writes()) return false;
  Block *block = block_of(address);
  return block && is_followed(*block);
}

Result free_of_device(Address start) {
  Answer answer;
  return ask_python(Op::FREE, start, 0, &answer);
}

void remove(u64 at) {
  Block block = all[at];
  all.remove(at);
  used -= block.bytes;
  if (is_in_process()) {
    free_of_device(block.start);
    return;
  }
  if (!block.is_away) note_freed(block.start, block.bytes);
  if (block.bytes >= LARGE) punch(block.start, block.bytes);
  give_back(block.start, block.room);
}

// Bytes that the machine has left.
u64 available() {
  FILE *file = fopen("/proc/meminfo", "re");
  unsigned long long kib = 0;
  char line[128];
  while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %llu", &kib) != 1) {}
  if (file) fclose(file);
  return kib << 10;
}

// Memory that the process has put on the device without this library, as tensors of torch.
Block *block_of_device(Address address) {
  static thread_local Block block;
  Answer answer;
  if (!address || ask_python(Op::RANGE, address, 0, &answer)) return nullptr;
  Address start = answer.take<u64>();
  block = {start, answer.take<u64>(), 0, start, current(), nullptr, Memory::DEVICE, 0};
  return &block;
}

Result take(Address *start, u64 nbytes) {
  Answer answer;
  if (Result bad = ask_python(Op::ALLOCATE, nbytes, 0, &answer)) return bad;
  *start = answer.take<u64>();
  return SUCCESS;
}

}  // namespace

Vector<Block> &blocks() { return all; }

bool is_followed(const Block &block) {
  return follows_writes() && (block.memory == Memory::DEVICE || block.memory == Memory::VIRTUAL);
}

Block *block_of(Address address) {
  u64 at = after(all, address);
  if (at && address < all[at - 1].end() && !all[at - 1].is_away) return &all[at - 1];
  return is_in_process() ? block_of_device(address) : nullptr;
}

bool holds(Address address, u64 nbytes) {
  if (!nbytes) return true;
  Block *block = block_of(address);
  return block && nbytes <= block->end() - address;
}

Result allocate(Address *made, u64 nbytes, Memory memory, u32 flags, const void *pool) {
  if (!made || !nbytes) return INVALID_VALUE;
  if (used + nbytes > TOTAL_BYTES || nbytes > TOTAL_BYTES) return OUT_OF_MEMORY;
  if (is_in_process()) {
    if (Result bad = take(made, nbytes)) return bad;
    all.insert(after(all, *made), {*made, nbytes, 0, next_id++, current(), pool, memory, flags});
    used += nbytes;
    return SUCCESS;
  }
  if (!begin()) return OUT_OF_MEMORY;
  u64 room = round_up(nbytes, ALIGNMENT) + GAP;
  for (Span &span : free_spans) {
    if (span.bytes < room) continue;
    Address start = span.start;
    span.start += room, span.bytes -= room;
    if (!span.bytes) free_spans.remove((u64)(&span - free_spans.data));
    all.insert(after(all, start),
               {start, nbytes, room, next_id++, current(), pool, memory, flags, false, false, false, 0});
    used += nbytes;
    forget_writes(start, nbytes);
    note_memory(all[after(all, start) - 1]);
    *made = start;
    return SUCCESS;
  }
  return OUT_OF_MEMORY;
}

Result release(Address address) {
  if (!address) return SUCCESS;
  u64 at = after(all, address);
  bool is_there = at && all[at - 1].start == address;
  if (!is_there && is_in_process()) return free_of_device(address);
  if (!is_there || !is_owned(all[at - 1].memory)) return INVALID_VALUE;
  Block &block = all[at - 1];
  if (block.is_away) return INVALID_VALUE;
  if (!block.holders) return remove(at - 1), SUCCESS;
  if (!is_in_process()) note_freed(block.start, block.bytes);
  block.is_away = true, block.is_taken = false;
  return SUCCESS;
}

Result reserve(Address *made, u64 nbytes) {
  if (Result bad = allocate(made, nbytes, Memory::DEVICE, 0)) return bad;
  Block &block = all[after(all, *made) - 1];
  block.is_of_graph = block.is_away = true;
  if (!is_in_process()) note_freed(block.start, block.bytes);
  return SUCCESS;
}

Block *reserved(Address address) {
  u64 at = after(all, address);
  return at && all[at - 1].start == address && all[at - 1].is_of_graph ? &all[at - 1] : nullptr;
}

void make_present(Block *block) {
  if (!block->is_away) return;
  block->is_away = false;
  if (is_in_process()) return;
  forget_writes(block->start, block->bytes);
  note_memory(*block);
}

void hold(Address address) {
  if (Block *block = reserved(address)) ++block->holders;
}

void let_go(Address address) {
  Block *block = reserved(address);
  if (block && block->holders && !--block->holders && block->is_away) remove((u64)(block - all.data));
}

void note_written(Address address, u64 nbytes) {
  if (is_followed(address)) memset((void *)(address + WRITTEN_AFTER), 1, nbytes);
}

void note_copied(Address to, Address from, u64 nbytes) {
  if (!is_followed(from)) return note_written(to, nbytes);
  if (is_followed(to)) memmove((void *)(to + WRITTEN_AFTER), (void *)(from + WRITTEN_AFTER), nbytes);
}

void free_blocks_of(Context *owner) {
  for (u64 at = all.count; at--;)
    if (all[at].owner == owner && is_owned(all[at].memory)) remove(at);
}

void add_variable(Address address, u64 nbytes) {
  all.insert(after(all, address),
             {address, nbytes, 0, next_id++, current(), nullptr, Memory::VARIABLE, 0, false, false, false, 0});
}

void remove_variable(Address address) {
  u64 at = after(all, address);
  if (at && all[at - 1].start == address && all[at - 1].memory == Memory::VARIABLE) all.remove(at - 1);
}

Result take_place(Address *made, u64 nbytes, u64 alignment) {
  if (used + nbytes > TOTAL_BYTES || nbytes > TOTAL_BYTES || !begin()) return OUT_OF_MEMORY;
  for (u64 i = 0; i < free_spans.count; ++i) {
    Span span = free_spans[i];
    Address start = round_up(span.start, alignment), end = span.start + span.bytes;
    if (start + nbytes > end) continue;
    free_spans.remove(i);
    if (end > start + nbytes) free_spans.insert(i, {start + nbytes, end - start - nbytes});
    if (start > span.start) free_spans.insert(i, {span.start, start - span.start});
    forget_writes(start, nbytes);
    *made = start;
    return SUCCESS;
  }
  return OUT_OF_MEMORY;
}

void give_place(Address start, u64 nbytes) {
  punch(start, nbytes);
  give_back(start, nbytes);
}

void add_virtual(Address address, u64 nbytes) {
  u64 at = after(all, address);
  all.insert(at, {address, nbytes, 0, next_id++, current(), nullptr, Memory::VIRTUAL, 0, false, false, false, 0});
  note_memory(all[at]);
}

void remove_virtual(Address start, u64 nbytes) {
  for (u64 at = all.count; at--;)
    if (all[at].memory == Memory::VIRTUAL && all[at].start >= start && all[at].end() <= start + nbytes) {
      note_freed(all[at].start, all[at].bytes);
      all.remove(at);
    }
}

void forget_blocks() { all.clear(), used = 0; }

u64 used_bytes(const void *pool) {
  if (!pool) return used;
  u64 sum = 0;
  for (Block &each : all) sum += each.pool == pool ? each.bytes : 0;
  return sum;
}

}  // namespace driver

using namespace driver;

API(cuMemAlloc_v2)(Address *made, u64 nbytes) {
  ENTER_CONTEXT;
  if (Result bad = captures_allow()) return bad;
  return allocate(made, nbytes, Memory::DEVICE, 0);
}

API(cuMemAllocPitch_v2)(Address *made, u64 *pitch, u64 row_bytes, u64 rows, u32 element_bytes) {
  ENTER_CONTEXT;
  if (Result bad = captures_allow()) return bad;
  REFUSE_IF(element_bytes != 4 && element_bytes != 8 && element_bytes != 16, INVALID_VALUE);
  REFUSE_IF(!pitch || !row_bytes || !rows, INVALID_VALUE);
  *pitch = round_up(row_bytes, PITCH);
  return allocate(made, *pitch * rows, Memory::DEVICE, 0);
}

API(cuMemAllocManaged)(Address *made, u64 nbytes, u32 flags) {
  ENTER_CONTEXT;
  if (Result bad = captures_allow()) return bad;
  REFUSE_IF(flags != 1 && flags != 2, INVALID_VALUE);
  return allocate(made, nbytes, Memory::MANAGED, flags);
}

API(cuMemHostAlloc)(Address *made, u64 nbytes, u32 flags) {
  ENTER_CONTEXT;
  if (Result bad = captures_allow()) return bad;
  REFUSE_IF(flags & ~7u, INVALID_VALUE);
  return allocate(made, nbytes, Memory::HOST, flags);
}

API(cuMemAllocHost_v2)(Address *made, u64 nbytes) {
  ENTER_CONTEXT;
  if (Result bad = captures_allow()) return bad;
  return allocate(made, nbytes, Memory::HOST, 0);
}

API(cuMemFree_v2)(Address address) {
  ENTER_CONTEXT;
  if (Result bad = captures_allow()) return bad;
  if (Result bad = wait_for_all(context)) return bad;
  return release(address);
}

API(cuMemFreeHost)(Address address) {
  ENTER_CONTEXT;
  if (Result bad = captures_allow()) return bad;
  if (Result bad = wait_for_all(context)) return bad;
  Block *block = block_of(address);
  REFUSE_IF(address && (!block || block->memory != Memory::HOST), INVALID_VALUE);
  return release(address);
}

API(cuMemGetInfo_v2)(u64 *free_bytes, u64 *total) {
  ENTER_CONTEXT;
  REFUSE_IF(!free_bytes || !total, INVALID_VALUE);
  u64 left = TOTAL_BYTES - used, machine = available();
  *free_bytes = machine && machine < left ? machine : left, *total = TOTAL_BYTES;
  return SUCCESS;
}

API(cuMemGetAddressRange_v2)(Address *start, u64 *nbytes, Address address) {
  ENTER_CONTEXT;
  Block *block = block_of(address);
  REFUSE_IF(!block, NOT_FOUND);
  if (start) *start = block->start;
  if (nbytes) *nbytes = block->bytes;
  return SUCCESS;
}
