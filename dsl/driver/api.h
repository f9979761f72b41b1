// What every file of the driver shares: numbers of the CUDA driver API, how a function of it begins, growing arrays.
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;
using Result = u32;   // CUresult
using Address = u64;  // CUdeviceptr

#define API(name) extern "C" [[gnu::visibility("default")]] Result name

namespace driver {

enum : Result {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  DEINITIALIZED = 4,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NO_BINARY = 209,
  INVALID_PTX = 218,
  FILE_NOT_FOUND = 301,
  OPERATING_SYSTEM = 304,
  INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401,
  NOT_FOUND = 500,
  NOT_READY = 600,
  OUT_OF_RESOURCES = 701,
  PEER_NOT_ENABLED = 705,
  HOST_MEMORY_ALREADY_REGISTERED = 712,
  HOST_MEMORY_NOT_REGISTERED = 713,
  LAUNCH_FAILED = 719,
  COOPERATIVE_TOO_LARGE = 720,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_MERGE = 902,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_UNJOINED = 904,
  CAPTURE_ISOLATION = 905,
  CAPTURE_IMPLICIT = 906,
  CAPTURED_EVENT = 907,
  CAPTURE_WRONG_THREAD = 908,
  GRAPH_UPDATE_FAILURE = 910,
  INVALID_CLUSTER_SIZE = 912,
  UNKNOWN = 999,
};

// One lock for all state. A callback of the program runs without it. After the end of Python nobody takes it.
struct Guard {
  void *python;
  bool is_locked;
  Guard();
  ~Guard();
  Guard(const Guard &) = delete;
};

// Lets others have the lock for a while, of a thread that holds it once.
struct Unlocked {
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked &) = delete;
};

extern u64 calls_of_program;  // of functions that use the driver

struct Context;

// Whether the driver may be used: after cuInit, in the process that called it.
Result ready();
// And whether the thread has a context, which is not lost by a kernel that failed.
Result ready(Context **context);

// Print a sentence on standard error, after `gpu-repro: `.
[[gnu::format(printf, 1, 2)]] void tell(const char *format, ...);

// Note that a program asked for what is not here; named once when the program ends.
Result unsupported(const char *what);

// An array that grows. For types that can be copied byte by byte.
template <class T> struct Vector {
  T *data = nullptr;
  u64 count = 0, room = 0;

  T *begin() { return data; }
  T *end() { return data + count; }
  T &operator[](u64 at) { return data[at]; }
  T &last() { return data[count - 1]; }
  void reserve(u64 least) {
    if (least <= room) return;
    room = least < 8 ? 8 : least * 2;
    data = (T *)realloc((void *)data, room * sizeof(T));
    if (!data) abort();
  }
  T &insert(u64 at, const T &value) {
    reserve(count + 1);
    memmove((void *)(data + at + 1), data + at, (count - at) * sizeof(T));
    ++count;
    return data[at] = value;
  }
  T &add(const T &value) { return insert(count, value); }
  void append(const T *values, u64 more) {
    if (!more) return;
    reserve(count + more);
    memcpy((void *)(data + count), values, more * sizeof(T));
    count += more;
  }
  void remove(u64 at) {
    --count;
    memmove((void *)(data + at), data + at + 1, (count - at) * sizeof(T));
  }
  bool has(const T &value) {
    for (T &each : *this)
      if (each == value) return true;
    return false;
  }
  void clear() { count = 0; }
  void close() {
    free(data);
    data = nullptr, count = room = 0;
  }
};

using Bytes = Vector<u8>;

inline u64 round_up(u64 value, u64 to) { return (value + to - 1) / to * to; }

}  // namespace driver

// The beginning of a function of the API.
#define ENTER \
  driver::Guard guard; \
  if (Result refused = driver::ready()) return refused
#define ENTER_CONTEXT \
  driver::Guard guard; \
  [[maybe_unused]] driver::Context *context = nullptr; \
  if (Result refused = driver::ready(&context)) return refused
#define REFUSE_IF(wrong, code) \
  if (wrong) return code
