#include "in_process.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "contexts.h"

namespace driver {
namespace {

// What dsl/launch/driver/in_process.py gives.
struct Python {
  Result (*ask)(u32 op, const u8 *data, u64 nbytes);
  Result (*launch)(const u8 *data, u64 nbytes);  // a signal may end it
  int (*has_lock)();                             // PyGILState_Check, PyEval_SaveThread, PyEval_RestoreThread
  void *(*give_up)();
  void (*take_back)(void *);
};

enum class Mode { ALONE, ATTACHED, WITHOUT_DEVICE, ENDED };
Mode mode;
Python python;
u64 devices;                    // that the process has had
thread_local Answer *receiver;  // of the answer that is being made
bool uses_primary, torch_is_there;

// Launches that machine code made since Python looked; dsl/launch/driver/in_process.py reads them.
struct Noted {
  u64 module;
  u32 index, times;  // how often it was made in a row
  Shape shape;
  u32 unused;
};
const u32 MOST_NOTED = 64;
Noted noted[MOST_NOTED];
u32 noted_count;

// The row that notes a launch. A launch that repeats the last one has its row. nullptr where all rows are used.
Noted *row_of(const Launch &launch) {
  const Function *function = launch.function;
  Noted *last = noted_count ? &noted[noted_count - 1] : nullptr;
  if (last && last->module == function->module->id && last->index == function->index &&
      !memcmp(&last->shape, &launch.shape, sizeof(Shape)))
    return last;
  if (noted_count == MOST_NOTED) return nullptr;
  noted[noted_count] = {function->module->id, function->index, 0, launch.shape, 0};
  return &noted[noted_count];
}

}  // namespace

bool is_in_process() { return mode != Mode::ALONE; }
bool python_answers() { return mode == Mode::ATTACHED; }
bool python_has_ended() { return mode == Mode::ENDED; }

Result refused_in_process() { return mode == Mode::WITHOUT_DEVICE ? NO_DEVICE : SUCCESS; }

bool has_torch() {
  if (mode != Mode::ATTACHED || torch_is_there) return torch_is_there;
  Answer answer;
  return torch_is_there = ask_python(Op::HAS_TORCH, 0, 0, &answer) == SUCCESS;
}

bool defaults_to_primary() { return uses_primary || has_torch(); }

// Python stops its daemon threads when it ends, so a call that needs Python does not return to them.
static void stop_unless_main() {
  while (syscall(SYS_gettid) != getpid()) pause();
}

// Other threads may use the driver while a kernel runs.
static Result launch(const Bytes &bytes) {
  Unlocked unlocked;
  return python.launch(bytes.data, bytes.count);
}

Result ask_python(Op op, const Bytes &bytes, Answer *answer) {
  if (python_has_ended()) stop_unless_main();
  if (mode != Mode::ATTACHED) return DEINITIALIZED;
  Answer *before = receiver;
  receiver = answer;
  answer->bytes.clear();
  answer->bytes.reserve(1);
  answer->at = 0;
  Result result = op == Op::LAUNCH ? launch(bytes) : python.ask((u32)op, bytes.data, bytes.count);
  receiver = before;
  return result;
}

Result ask_python(Op op, u64 first, u64 second, Answer *answer) {
  Message message;
  message.put(first);
  message.put(second);
  return ask_python(op, message.bytes, answer);
}

bool launch_again(const Launch &launch, const Repeat &repeat, Result *result) {
  if (mode != Mode::ATTACHED || repeat.device != devices || *repeat.looks) return false;
  Noted *row = row_of(launch);
  if (!row) return false;
  u32 config[7];
  memcpy(config, launch.shape.grid, sizeof launch.shape.grid);
  memcpy(config + 3, launch.shape.block, sizeof launch.shape.block);
  config[6] = launch.shape.smem_bytes;
  const void *params[MOST_PARAMS];
  for (u64 i = 0; i < launch.function->params.count; ++i)
    params[i] = launch.params.data + launch.function->params[i].offset;
  u32 number = (*(Relaunch *)repeat.handle)(config, (void *)repeat.handle, params, nullptr);
  if (number == ELSEWHERE) return false;
  if (!row->times++) ++noted_count;
  Answer answer;
  *result = number ? ask_python(Op::FAILED, number, 0, &answer) : SUCCESS;
  return true;
}

u64 device_number() { return devices; }

void *give_up_python() { return python.has_lock && python.has_lock() ? python.give_up() : nullptr; }

void take_python_back(void *given_up) {
  if (given_up && python.take_back) python.take_back(given_up);
}

}  // namespace driver

using namespace driver;

#define EXPORT extern "C" [[gnu::visibility("default")]]

// From now on `functions` answer, for a device that begins; without them there is none.
EXPORT void gpu_repro_attach(const Python *functions) {
  Guard guard;
  mode = functions ? Mode::ATTACHED : Mode::WITHOUT_DEVICE;
  if (functions) python = *functions;
  uses_primary = false, ++devices;
  forget_device();
}

// Python ends. Memory may still be given back. Calls of other threads come to their end first.
EXPORT void gpu_repro_end() {
  Guard guard;
  mode = Mode::ENDED;
  python = {};
}

// What the function that is being asked gives back.
EXPORT void gpu_repro_answer(const u8 *data, u64 nbytes) {
  if (receiver) receiver->bytes.append(data, nbytes);
}

// Give the rows of the launches that machine code made; the next ones are others.
EXPORT u32 gpu_repro_take_noted(Noted *rows) {
  Guard guard;
  u32 count = noted_count;
  memcpy(rows, noted, count * sizeof(Noted));
  noted_count = 0;
  return count;
}

EXPORT void gpu_repro_use_primary() { uses_primary = true; }

EXPORT u32 gpu_repro_is_module(const void *handle) { return object_of(handle, Kind::MODULE) != nullptr; }
