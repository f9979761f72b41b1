// What a stream or a node of a graph does: a copy, a fill, a kernel, a call of the program.
#pragma once
#include "objects.h"

namespace driver {

struct Function;
struct Event;
struct Graph;
struct GraphExec;

struct Copy {
  Address to, from;
  u64 nbytes;
  bool is_to_device, is_from_device;  // known to be memory of the device
};

struct Fill {
  Address to;
  u64 pitch, width, height;  // in bytes, elements, rows
  u64 value;
  u32 element_bytes;
  bool is_strong;  // kernels that run at the same time may look at it
};

struct Allocation {
  Address start;
  u64 nbytes;
};

struct Place {
  u32 memory;
  Address host, device;
  u64 pitch, height;
  Address array;
};
struct Extent { u64 width, height, depth; };  // in bytes, rows, planes

struct BoxCopy {
  Place from;
  u64 from_x, from_y, from_z;
  Place to;
  u64 to_x, to_y, to_z;
  Extent box;
};

struct Shape { u32 grid[3], block[3], cluster[3], smem_bytes, flags; };
enum : u32 { COOPERATIVE = 1, PROGRAMMATIC = 2 };  // flags

struct Launch {
  Function *function;
  Shape shape;
  u64 stream;
  Bytes params;  // as the kernel reads them
};

struct HostCall {
  void (*function)(void *);
  void *argument;
};

struct Record { Event *event; };
struct Child { Graph *graph; };

// CU_GRAPH_COND_TYPE_IF, WHILE, SWITCH; `value`: the address of the word that decides.
enum : u32 { IF, WHILE, SWITCH };
struct Condition {
  Address value;
  u32 kind, count;
  Graph **bodies;     // of a node
  GraphExec **execs;  // of a step
};

// CUgraphNodeType
enum class Type : u32 {
  KERNEL = 0,
  COPY = 1,
  FILL = 2,
  HOST = 3,
  CHILD = 4,
  EMPTY = 5,
  WAIT = 6,
  RECORD = 7,
  ALLOCATE = 10,
  FREE = 11,
  CONDITION = 13,
};

struct Work {
  Type type = Type::EMPTY;
  bool is_box = false;
  Copy copy = {};
  Fill fill = {};
  BoxCopy box = {};
  Launch launch = {};
  HostCall call = {};
  Record record = {};
  Child child = {};
  Allocation allocation = {};  // that is allocated or freed
  Condition condition = {};

  Work() = default;
  Work(Type type) : type(type) {}
  Work(const Copy &copy) : type(Type::COPY), copy(copy) {}
  Work(const BoxCopy &box) : type(Type::COPY), is_box(true), box(box) {}
  Work(const Fill &fill) : type(Type::FILL), fill(fill) {}
  Work(const Launch &launch) : type(Type::KERNEL), launch(launch) {}
  Work(const HostCall &call) : type(Type::HOST), call(call) {}
  Work(const Record &record) : type(Type::RECORD), record(record) {}
  Work(const Child &child) : type(Type::CHILD), child(child) {}
  Work(const Condition &condition) : type(Type::CONDITION), condition(condition) {}
  Work(Type type, const Allocation &allocation) : type(type), allocation(allocation) {}
};

Result run(const Copy &each);
Result run(const Fill &each);
Result run(const BoxCopy &copy);
Result run(const Launch &launch);
Result run(const Record &record);
Result run(const Work &work);

// Whether it is possible.
Result check(const Copy &copy);
Result check(const BoxCopy &copy);
Result check(const Fill &fill);
Result check(const Work &work);

BoxCopy box_copy_3d(const void *parameters);  // CUDA_MEMCPY3D

}  // namespace driver
