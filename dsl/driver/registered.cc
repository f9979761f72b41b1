// Memory of the program that it registers. Copies need nothing more. Kernels run in another process: when the program
// asks for the device's address, the pages are put into device memory, and stay at the program's address too.  CUDA
// driver API: memory management.
#include "registered.h"

#include <sys/mman.h>

#include "arena.h"
#include "in_process.h"
#include "memory.h"
#include "pieces.h"

namespace driver {
namespace {

constexpr u64 PAGE = 4096;
Vector<Registered> all;

struct Pages {
  Address start, end;
  Pages(const Registered &of) : start(of.start / PAGE * PAGE), end(round_up(of.start + of.bytes, PAGE)) {}
  u64 bytes() const { return end - start; }
};

bool map(const Pages &pages, int flags, int file, u64 at) {
  void *got = mmap((void *)pages.start, pages.bytes(), PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, (off_t)at);
  return got != MAP_FAILED;
}

// Let the pages be device memory. Writes of other threads at that time may be lost.
Result move_in(Registered *memory) {
  Pages pages(*memory);
  Address block;
  if (Result bad = allocate(&block, pages.bytes() + PAGE, Memory::HOST, memory->flags)) return bad;
  Address device = round_up(block, PAGE);
  memcpy((void *)device, (void *)pages.start, pages.bytes());
  if (!map(pages, MAP_SHARED, arena_file(), device - arena())) {
    release(block);
    return INVALID_VALUE;
  }
  memory->device = device + memory->start - pages.start;
  return SUCCESS;
}

// Let them be memory of the program alone.
void move_out(const Registered &memory) {
  Pages pages(memory);
  u8 *kept = (u8 *)malloc(pages.bytes());
  if (!kept) abort();
  memcpy(kept, (void *)pages.start, pages.bytes());
  if (map(pages, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) memcpy((void *)pages.start, kept, pages.bytes());
  free(kept);
  if (Block *block = block_of(memory.device)) release(block->start);
}

}  // namespace

Registered *registered_of(Address host) {
  for (Registered &each : all)
    if (host >= each.start && host - each.start < each.bytes) return &each;
  return nullptr;
}

}  // namespace driver

using namespace driver;

API(cuMemHostRegister_v2)(Address host, u64 nbytes, u32 flags) {
  ENTER_CONTEXT;
  REFUSE_IF(!host || !nbytes || flags & ~15u, INVALID_VALUE);
  for (Registered &each : all)
    if (host < each.start + each.bytes && each.start < host + nbytes) return HOST_MEMORY_ALREADY_REGISTERED;
  Answer answer;
  if (is_in_process())
    if (Result bad = ask_python(Op::REGISTER, host, nbytes, &answer)) return bad;
  all.add({host, nbytes, is_in_process() ? host : 0, flags});
  return SUCCESS;
}

API(cuMemHostUnregister)(Address host) {
  ENTER_CONTEXT;
  if (Result bad = wait_for_all(context)) return bad;
  Registered *memory = registered_of(host);
  REFUSE_IF(!memory || memory->start != host, HOST_MEMORY_NOT_REGISTERED);
  Answer answer;
  if (is_in_process()) ask_python(Op::UNREGISTER, host, 0, &answer);
  else if (memory->device) move_out(*memory);
  all.remove((u64)(memory - all.data));
  return SUCCESS;
}

API(cuMemHostGetDevicePointer_v2)(Address *device, Address host, u32 flags) {
  ENTER_CONTEXT;
  REFUSE_IF(!device || flags, INVALID_VALUE);
  Block *block = block_of(host);
  if (block && block->memory == Memory::HOST) {
    *device = host;
    return SUCCESS;
  }
  Registered *memory = registered_of(host);
  REFUSE_IF(!memory, INVALID_VALUE);
  if (!memory->device)
    if (Result bad = move_in(memory)) return bad;
  *device = memory->device + (host - memory->start);
  return SUCCESS;
}

API(cuMemHostGetFlags)(u32 *flags, Address host) {
  ENTER_CONTEXT;
  Block *block = block_of(host);
  Registered *memory = registered_of(host);
  REFUSE_IF(!flags || (!memory && !(block && block->memory == Memory::HOST)), INVALID_VALUE);
  *flags = memory ? memory->flags : block->flags;
  return SUCCESS;
}
