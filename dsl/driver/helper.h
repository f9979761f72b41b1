// The helper process, which translates PTX and runs kernels, and the messages to it. dsl/driver/messages.py has the
// other side.
#pragma once
#include "ring.h"

namespace driver {

struct Block;

// The last ones are asked in a process that has the device alone (in_process.h).
enum class Op : u32 {
  LOAD = 1,
  UNLOAD,
  LAUNCH,
  MEMORY,
  TENSOR_MAP,
  PIECE,
  CHECK,
  IMAGE,
  ALLOCATE,
  FREE,
  RANGE,
  REGISTER,
  UNREGISTER,
  REFUSED,
  HAS_TORCH,
  FAILED,
};

// A message that is put together.
struct Message {
  Bytes bytes;
  Message() = default;
  Message(const Message &) = delete;
  ~Message() { bytes.close(); }
  template <class T> void put(const T &value) { bytes.append((const u8 *)&value, sizeof value); }
  void put(const void *data, u64 count) { bytes.append((const u8 *)data, count); }
};

// An answer that is taken apart.
struct Answer {
  Bytes bytes;
  u64 at = 0;
  Answer() = default;
  Answer(const Answer &) = delete;
  ~Answer() { bytes.close(); }
  template <class T> T take() {
    T value{};
    if (at + sizeof value <= bytes.count) memcpy(&value, bytes.data + at, sizeof value);
    at += sizeof value;
    return value;
  }
  char *take_text();  // a new string: u32 length, bytes
};

// Send a message and wait for the answer; what kernels print and what is reported meanwhile is written. The helper is
// started first if it is not there. The result is LAUNCH_FAILED if it has ended.
Result ask(Op op, const Message &message, Answer *answer);

// Make a launch through the ring; `fill` writes what the helper needs into it.
Result ask_by_ring(void (*fill)(Ring *ring, const void *launch), const void *launch, Answer *answer);

bool helper_runs();

// Tell the helper before the next message of new memory, and of memory that is freed.
void note_memory(const Block &block);
void note_mapping(Address start, u64 bytes, Address source);  // pages of one place are shown at another
void note_freed(Address address, u64 nbytes);
// Addresses that only multimem instructions take, of the memory at `target`; they are no longer such addresses.
void note_multimem(Address start, u64 bytes, Address target);
void forget_multimem(Address start);

void leave_helper();  // in the child after a fork

}  // namespace driver
