#include "arena.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "order.h"

namespace driver {
namespace {

// Where address sanitizers, heaps, libraries and the emulator's shared memory are not. arena.py has no list: the helper
// is told the address.
constexpr Address PLACES[] = {0x300000000000, 0x380000000000, 0x400000000000, 0x500000000000};
constexpr u32 CLOSE_ON_EXEC = 1;  // MFD_CLOEXEC

Address at;
int file = -1;
bool has_failed;

u64 all_bytes() { return follows_writes() ? WRITTEN_AFTER + ARENA_BYTES : ARENA_BYTES; }

Address map() {
  for (Address place : PLACES) {
    void *got = mmap((void *)place, all_bytes(), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
    if ((Address)got == place) return place;
    if (got != MAP_FAILED) munmap(got, all_bytes());
  }
  return 0;
}

}  // namespace

Address arena() {
  if (at || has_failed) return at;
  file = (int)syscall(SYS_memfd_create, "gpu-repro", CLOSE_ON_EXEC);
  if (file >= 0 && !ftruncate(file, (off_t)all_bytes())) at = map();
  if (!at) {
    has_failed = true;
    tell("there are no %llu GiB of addresses for device memory (%s); fix: raise the limit (ulimit -v unlimited)",
         (unsigned long long)(all_bytes() >> 30), strerror(errno));
    return 0;
  }
  madvise((void *)at, all_bytes(), MADV_DONTFORK);
  madvise((void *)at, all_bytes(), MADV_DONTDUMP);
  return at;
}

int arena_file() { return file; }

void leave_arena() {
  if (file >= 0) close(file);
  file = -1, at = 0, has_failed = true;
}

}  // namespace driver
