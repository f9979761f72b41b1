// Device memory: a file in memory that the program and its helper map at one address.
#pragma once
#include "api.h"

namespace driver {

constexpr u64 ARENA_BYTES = 192ull << 30;
constexpr u64 CONTROL_BYTES = 1 << 20;       // at its start: what both processes read and write
constexpr u64 VARIABLES_BYTES = 4ull << 30;  // then the variables of modules, which the helper gives out

// After the arena, where that is asked for: a byte for each of its bytes, 1 once it is written.
constexpr u64 WRITTEN_AFTER = ARENA_BYTES;

Address arena();  // its address; 0 if this machine cannot have it
int arena_file();
void leave_arena();  // in the child after a fork

}  // namespace driver
