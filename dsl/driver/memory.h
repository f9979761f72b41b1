// The blocks of device memory that exist.
#pragma once
#include "contexts.h"

namespace driver {

enum class Memory : u32 { DEVICE, HOST, MANAGED, VARIABLE, VIRTUAL };
// Whether cuMemFree frees it.
inline bool is_owned(Memory memory) { return memory != Memory::VARIABLE && memory != Memory::VIRTUAL; }
inline bool is_of_device(Memory memory) { return memory != Memory::HOST && memory != Memory::MANAGED; }

struct Block {
  Address start;
  u64 bytes, room, id;  // `room`: with what is kept free after it
  Context *owner;
  const void *pool;  // that it was taken of
  Memory memory;
  u32 flags;
  bool is_of_graph = false, is_away = false, is_taken = false;  // see memory_nodes.cc
  u32 holders = 0;                                              // nodes, and work that waits
  Address end() const { return start + bytes; }
};

bool is_followed(const Block &block);     // whether it is kept which of its bytes were written
Vector<Block> &blocks();                  // in the order of their addresses
Block *block_of(Address address);         // that contains it
bool holds(Address address, u64 nbytes);  // whether one block has all of these bytes

Result allocate(Address *made, u64 nbytes, Memory memory, u32 flags, const void *pool = nullptr);
Result release(Address address);

// Memory of a graph: its place is kept while something holds it, and it is there between a launch and a free.
Result reserve(Address *made, u64 nbytes);
Block *reserved(Address address);  // whether it is there or not; nullptr if no graph reserved it
void make_present(Block *block);
void hold(Address address);
void let_go(Address address);

// Which bytes kernels may read (see follows_writes): those that were written, and those that were copied from such.
void note_written(Address address, u64 nbytes);
void note_copied(Address to, Address from, u64 nbytes);

void free_blocks_of(Context *owner);

// The variables of modules are blocks too, in memory that the helper gives out.
void add_variable(Address address, u64 nbytes);
void remove_variable(Address address);

// So is virtual memory that may be used (virtual_memory.cc); a place of the arena without a block is for it.
Result take_place(Address *made, u64 nbytes, u64 alignment);
void give_place(Address start, u64 nbytes);
void add_virtual(Address address, u64 nbytes);
void remove_virtual(Address start, u64 nbytes);  // all blocks there
void for_each_mapping(void (*visit)(Address start, u64 bytes, Address source));
void for_each_multimem(void (*visit)(Address start, u64 bytes, Address target));  // see multicast.cc

void forget_blocks();

u64 used_bytes(const void *pool);  // of a pool; nullptr: of all

}  // namespace driver
