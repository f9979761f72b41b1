// What copies and fills read and write.
#pragma once
#include "work.h"

namespace driver {

// One side of a copy of a box.
struct Side {
  Address start;
  u64 pitch, height;  // of a row in bytes, of a plane in rows
  bool is_device;
};

inline bool is_empty(const Extent &box) { return !box.width || !box.height || !box.depth; }

// Both sides of a copy that is not empty. INVALID_VALUE if it is impossible.
Result sides_of(const BoxCopy &copy, Side *from, Side *to);

// What work reads or writes.
struct Access {
  Address start, end;
  u32 is_write, is_strong;
};

// Add those of a piece of work. Pageable memory is none: nothing reads or writes it later than its call.
void add_accesses(const Work &work, Vector<Access> *accesses);

void stage(Work *work, Bytes *staged);  // keep the source of a copy where that is pageable memory
bool is_pageable(Address address);

}  // namespace driver
