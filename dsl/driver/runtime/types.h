// Types of the runtime's and the driver's interfaces that this library passes on or converts, declared by itself.
// Handles of both interfaces are the same pointers, and most numbers (attributes, flags, errors) are the same too.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifndef CUDART_MAJOR
#define CUDART_MAJOR 13
#endif

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using Error = int;      // cudaError_t; CUresult has the same numbers
using Address = u64;    // CUdeviceptr
using Attribute = int;  // of a device, a function, a pool, a pointer: an enum of either interface
using ULong = unsigned long long;

using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using Node = struct NodeHandle *;
using GraphExec = struct GraphExecHandle *;
using Pool = struct PoolHandle *;
using Array = struct ArrayHandle *;
using Kernel = struct KernelHandle *;
using Function = struct FunctionHandle *;
using Library = struct LibraryHandle *;
using Context = struct ContextHandle *;
using UserObject = struct UserObjectHandle *;
using HostFunction = void (*)(void *);
using StreamCallback = void (*)(Stream, Error, void *);

#define PER_THREAD_STREAM ((Stream)2)

enum : Error {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  MEMORY_ALLOCATION = 2,
  INITIALIZATION_ERROR = 3,
  INVALID_CONFIGURATION = 9,
  INVALID_PITCH_VALUE = 12,
  INVALID_SYMBOL = 13,
  INVALID_MEMCPY_DIRECTION = 21,
  INSUFFICIENT_DRIVER = 35,
  CALL_REQUIRES_NEWER_DRIVER = 36,
  MISSING_CONFIGURATION = 52,
  INVALID_DEVICE_FUNCTION = 98,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  NO_CONTEXT = 201,
  SYMBOL_NOT_FOUND = 500,
  ILLEGAL_ADDRESS = 700,
  NOT_SUPPORTED = 801,
};

struct Dim3 { u32 x, y, z; };

struct Location { int type, id; };
constexpr int ON_DEVICE = 1, ON_HOST = 2;

struct Extent { size_t width, height, depth; };
struct Position { size_t x, y, z; };
struct PitchedPointer {
  void *pointer;
  size_t pitch, width, height;
};

enum CopyKind : int { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

// cudaMemcpy3DParms
struct Copy3D {
  Array source_array;
  Position source_position;
  PitchedPointer source;
  Array target_array;
  Position target_position;
  PitchedPointer target;
  Extent extent;
  CopyKind kind;
};

enum MemoryKind : u32 { NO_MEMORY, HOST_MEMORY, DEVICE_MEMORY, ARRAY_MEMORY, UNIFIED_MEMORY };

// One side of CUDA_MEMCPY2D
struct DriverSide2D {
  size_t x_bytes, y;
  MemoryKind kind;
  const void *host;
  Address device;
  Array array;
  size_t pitch;
};

// CUDA_MEMCPY2D
struct DriverCopy2D {
  DriverSide2D source, target;
  size_t width_bytes, height;
};

// One side of CUDA_MEMCPY3D
struct DriverSide3D {
  size_t x_bytes, y, z, level;
  MemoryKind kind;
  const void *host;
  Address device;
  Array array;
  void *reserved;
  size_t pitch, height;
};

// CUDA_MEMCPY3D
struct DriverCopy3D {
  DriverSide3D source, target;
  size_t width_bytes, height, depth;
};

// CUDA_ARRAY3D_DESCRIPTOR
struct ArrayDescriptor {
  size_t width, height, depth;
  u32 format, channels, flags;
};

// cudaLaunchConfig_t
struct LaunchConfig {
  Dim3 grid, block;
  size_t shared_bytes;
  Stream stream;
  void *attributes;
  u32 attribute_count;
};

// CUlaunchConfig
struct DriverLaunchConfig {
  Dim3 grid, block;
  u32 shared_bytes;
  Stream stream;
  void *attributes;
  u32 attribute_count;
};

// cudaFuncAttributes
struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int values[13];  // of the driver's attributes 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14
  int reserved[16];
};

// cudaPointerAttributes
struct PointerAttributes {
  int type, device;
  void *device_pointer, *host_pointer;
  long reserved[8];
};

// cudaKernelNodeParams; the driver's structure begins so too
struct KernelNode {
  const void *function;
  Dim3 grid, block;
  u32 shared_bytes;
  void **parameters, **extra;
};
struct DriverKernelNode {
  KernelNode node;
  Kernel kernel;
  Context context;
};

// cudaMemsetParams
struct FillNode {
  void *target;
  size_t pitch;
  u32 value, element_bytes;
  size_t width, height;
};

// cudaGraphNodeParams: `body` begins with the structure of the node's kind
struct NodeParameters {
  int type, reserved[3];
  ULong body[29], more;
};
enum NodeType : int { KERNEL_NODE, COPY_NODE, FILL_NODE };

// cudaGraphExecUpdateResultInfo
struct UpdateResult {
  int result;
  Node node, from;
};

static_assert(sizeof(DriverCopy2D) == 128 && sizeof(DriverCopy3D) == 200 && sizeof(Copy3D) == 160);
static_assert(sizeof(LaunchConfig) == 56 && sizeof(DriverLaunchConfig) == 56);
static_assert(sizeof(FunctionAttributes) == 144 && sizeof(PointerAttributes) == 88);
static_assert(sizeof(KernelNode) == 56 && sizeof(DriverKernelNode) == 72);
static_assert(sizeof(NodeParameters) == 256);
