// Modules and libraries, and the functions of them.
#pragma once
#include "work.h"

namespace driver {

struct Function;

struct Variable {
  char *name;
  Address address;
  u64 nbytes;
};

// Loaded PTX; a library too. Its id is what the helper knows it by.
struct Module : Object {
  static constexpr Kind KIND = Kind::MODULE;
  bool is_library;
  Vector<Function *> functions;
  Vector<Variable> variables;
};

struct Param { u32 offset, nbytes; };
constexpr u32 SETTINGS = 17;       // CUfunction_attribute
constexpr u32 CLUSTER_WIDTH = 11;  // one of them; then height and depth

// A shape that a function was launched in, and what the emulator makes such a launch again by.
struct Repeat {
  Shape shape;
  u64 handle;
  // In a process that has the device: which device it is, and whether Python has to look at parameters.
  u64 device;
  const i32 *looks;
};
constexpr u32 REPEATS = 8;

// An entry of a module; CUfunction and CUkernel alike.
struct Function : Object {
  static constexpr Kind KIND = Kind::FUNCTION;
  Module *module;
  u32 index;  // in the module
  char *name;
  Vector<Param> params;
  u32 params_bytes, static_smem_bytes, max_threads;
  u32 threads[3], cluster[3], most_cluster;  // what the PTX demands; 0: nothing
  bool is_set[SETTINGS];
  int settings[SETTINGS];
  Repeat repeats[REPEATS];
};

// The most dynamic shared memory that a launch may ask for.
u32 dynamic_smem_bytes(const Function *function);
u32 blocks_per_sm(const Function *function, u32 threads, u64 smem_bytes);

}  // namespace driver
