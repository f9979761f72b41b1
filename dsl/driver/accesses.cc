#include "accesses.h"

#include "memory.h"
#include "pieces.h"
#include "registered.h"

namespace driver {
namespace {

void add_access(Vector<Access> *accesses, Address start, u64 nbytes, bool is_write, bool is_strong = false) {
  if (Registered *memory = registered_of(start))
    if (memory->device) start = memory->device + (start - memory->start);
  if (!nbytes || is_pageable(start)) return;
  if (accesses->count && accesses->last().end == start && accesses->last().is_write == is_write)
    accesses->last().end += nbytes;
  else accesses->add({start, start + nbytes, is_write, is_strong});
}

void add_rows(Vector<Access> *accesses, const Side &side, const Extent &box, bool is_write) {
  for (u64 z = 0; z < box.depth; ++z)
    for (u64 y = 0; y < box.height; ++y)
      add_access(accesses, side.start + (z * side.height + y) * side.pitch, box.width, is_write);
}

void add_accesses(const BoxCopy &copy, Vector<Access> *accesses) {
  Side from, to;
  if (is_empty(copy.box) || sides_of(copy, &from, &to)) return;
  add_rows(accesses, from, copy.box, false);
  add_rows(accesses, to, copy.box, true);
}

}  // namespace

void add_accesses(const Work &work, Vector<Access> *accesses) {
  const Fill &fill = work.fill;
  switch (work.type) {
    case Type::COPY:
      if (work.is_box) return add_accesses(work.box, accesses);
      add_access(accesses, work.copy.from, work.copy.nbytes, false);
      return add_access(accesses, work.copy.to, work.copy.nbytes, true);
    case Type::FILL:
      for (u64 row = 0; row < fill.height; ++row)
        add_access(accesses, fill.to + row * fill.pitch, fill.width * fill.element_bytes, true, fill.is_strong);
      return;
    case Type::ALLOCATE:
    case Type::FREE: return add_access(accesses, work.allocation.start, work.allocation.nbytes, true);
    default: return;
  }
}

void stage(Work *work, Bytes *staged) {
  Copy &copy = work->copy;
  if (work->type != Type::COPY || work->is_box || !is_pageable(copy.from) || is_pageable(copy.to)) return;
  staged->append((const u8 *)copy.from, copy.nbytes);
  copy.from = (Address)staged->data, copy.is_from_device = false;
}

bool is_pageable(Address address) { return !block_of(address) && !registered_of(address); }

static Memory memory_of(Address address) {
  Block *block = block_of(address);
  return !block ? Memory::HOST : is_of_device(block->memory) ? Memory::DEVICE : block->memory;
}

static Waits waits_of(Address to, Address from, bool is_box, How how) {
  Memory target = memory_of(to), source = memory_of(from);
  bool is_pageable_target = is_pageable(to), is_pageable_source = is_pageable(from);
  if (is_pageable_target || (is_pageable_source && (target == Memory::HOST || is_box))) return Waits::UNTIL_DONE;
  if (how == How::IN_STREAM || (target == Memory::DEVICE && source == Memory::DEVICE)) return Waits::NOT;
  return is_pageable_source && target == Memory::DEVICE ? Waits::BEFORE : Waits::UNTIL_DONE;
}

static Waits waits_of(const BoxCopy &copy, How how) {
  Side from, to;
  if (is_empty(copy.box) || sides_of(copy, &from, &to)) return Waits::NOT;
  return waits_of(to.start, from.start, true, how);
}

Waits waits_of(const Work &work, How how) {
  if (how == How::IN_GRAPH) return Waits::NOT;
  if (work.type == Type::FILL)
    return how == How::FOR_PROGRAM && memory_of(work.fill.to) != Memory::DEVICE ? Waits::UNTIL_DONE : Waits::NOT;
  if (work.type != Type::COPY || (!work.is_box && !work.copy.nbytes)) return Waits::NOT;
  return work.is_box ? waits_of(work.box, how) : waits_of(work.copy.to, work.copy.from, false, how);
}

}  // namespace driver
