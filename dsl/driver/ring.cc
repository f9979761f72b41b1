// The helper's side of the ring, which dsl/driver/ring.py calls.
#include "ring.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace driver {
namespace {

constexpr u32 ANSWER = 0;  // a frame

enum : int { MESSAGE = 0, FOR_PYTHON = 1, FAILED = 2 };  // what Python has to do

bool is_posted(const Ring *ring) {
  u32 state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
  return state == POSTED || state == AWAITED;
}

// Wait for a launch or a message; false: there is a message.
bool wait(Ring *ring, int socket, int wake) {
  static Patience patience;
  if (patience.wait([=] { return is_posted(ring); })) return true;
  pollfd files[] = {{socket, POLLIN, 0}, {wake, POLLIN, 0}};
  while (!is_posted(ring)) {
    __atomic_store_n(&ring->helper_sleeps, 1u, __ATOMIC_SEQ_CST);
    if (!is_posted(ring)) poll(files, 2, -1);
    __atomic_store_n(&ring->helper_sleeps, 0u, __ATOMIC_SEQ_CST);
    u64 times;
    if (files[1].revents & POLLIN && read(wake, &times, sizeof times) < 0) return false;
    if (files[0].revents) return false;
    files[1].revents = 0;
  }
  return true;
}

u32 relaunch(const Ring *ring) {
  const void *params[MOST_PARAMS];
  for (u32 i = 0; i < ring->param_count; ++i) params[i] = ring->message + ring->params_at + ring->param_offsets[i];
  return (*(Relaunch *)ring->handle)(ring->config, (void *)ring->handle, params, nullptr);
}

}  // namespace

u64 now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (u64)time.tv_sec * 1000000000 + (u64)time.tv_nsec;
}

}  // namespace driver

using namespace driver;

extern "C" {

// Say that the launch has ended. `has_frame`: the program reads the answer from the socket.
[[gnu::visibility("default")]] void gpu_repro_finish(Ring *ring, int socket, u32 result, u32 has_frame) {
  ring->result = result, ring->has_frame = has_frame;
  u32 before = __atomic_exchange_n(&ring->state, (u32)DONE, __ATOMIC_ACQ_REL);
  if (has_frame || before != AWAITED) return;
  u32 frame[] = {ANSWER, 2 * sizeof(u32), result, 0};
  if (send(socket, frame, sizeof frame, MSG_NOSIGNAL) < 0) return;  // the program has ended
}

// Make launches until Python is needed: for a message of the socket, for a launch, or for one that failed with
// `number`.
[[gnu::visibility("default")]] int gpu_repro_serve(Ring *ring, int socket, int wake, u32 *number) {
  while (wait(ring, socket, wake)) {
    *number = relaunch(ring);
    if (*number == ELSEWHERE) return FOR_PYTHON;
    if (*number) return FAILED;
    gpu_repro_finish(ring, socket, SUCCESS, false);
  }
  return MESSAGE;
}
}
