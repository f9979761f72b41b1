// A launch like one before, through memory that both processes have: no system call where both are awake.
//
// The program posts it; the helper takes it in machine code, or in Python if the emulator's machine code has no use for
// it. Whoever waits looks at the memory for a while, and then sleeps until it is woken: the helper by an eventfd, the
// program by a frame of the socket.
#pragma once
#include "api.h"

namespace driver {

// The function whose address a handle begins with (the emulator's relaunch.cc).
using Relaunch = u32 (*)(const u32 *config, void *handle, const void *const *params, void *extra);
constexpr u32 ELSEWHERE = ~0u;  // its answer if Python makes this launch

constexpr u32 MOST_PARAMS = 512, MOST_MESSAGE_BYTES = 8192;

enum RingState : u32 { NOTHING, POSTED, AWAITED, DONE };  // AWAITED: posted, and the program sleeps

struct Ring {
  u32 state;  // a RingState
  u32 helper_sleeps;
  u32 result;
  u32 has_frame;  // the answer comes as a frame, after what the kernel prints
  u64 handle;     // what the emulator launches it by
  u32 config[7];  // grid, block, shared memory
  u32 param_count;
  u32 params_at;  // in the message
  u32 message_bytes;
  u32 param_offsets[MOST_PARAMS];
  u8 message[MOST_MESSAGE_BYTES];  // as Op::LAUNCH has it
};

u64 now_ns();

// How long one looks at memory before one sleeps: longer while that helps, which it does only if the other process runs
// at the same time.
struct Patience {
  u64 ns = MOST_NS;
  static constexpr u64 LEAST_NS = 500, MOST_NS = 40'000;

  // Look until `is_there()`; whether it came.
  template <class Look> bool wait(Look is_there) {
    for (u64 until = now_ns() + ns;;) {
      if (is_there()) {
        ns = ns * 2 < MOST_NS ? ns * 2 : MOST_NS;
        return true;
      }
      __builtin_ia32_pause();
      if (now_ns() >= until) break;
    }
    ns = ns / 2 > LEAST_NS ? ns / 2 : LEAST_NS;
    return false;
  }
};

}  // namespace driver
