// CUDA driver API: execution control.
#include <stdio.h>

#include "contexts.h"
#include "device.h"
#include "in_process.h"
#include "launch_config.h"
#include "modules.h"
#include "node_params.h"
#include "order.h"

namespace driver {
namespace {

// CUlaunchAttributeID. Those that are hints are not looked at.
enum : u32 {
  IGNORED = 0,
  ACCESS_POLICY = 1,
  SYNCHRONIZATION_POLICY = 3,
  CLUSTER_POLICY = 5,
  STREAM_SERIALIZATION = 6,
  PROGRAMMATIC_EVENT = 7,
  PRIORITY = 8,
  DOMAIN_MAP = 9,
  DOMAIN = 10,
  PREFERRED_CLUSTER = 11,
  COMPLETION_EVENT = 12,
  CARVEOUT = 14,
};
enum : u64 { BUFFER_END = 0, BUFFER_POINTER = 1, BUFFER_SIZE = 2 };  // CU_LAUNCH_PARAM_...

u64 product(const u32 *extents) { return (u64)extents[0] * extents[1] * extents[2]; }

// The parameters as the kernel reads them, from pointers to each, or from one buffer.
Result pack(Function *function, void *const *params, void *const *extra, Bytes *packed) {
  u32 bytes = function->params_bytes;
  packed->clear();
  packed->reserve(bytes + 1ull);
  packed->count = bytes;
  if (!bytes) return SUCCESS;
  memset(packed->data, 0, bytes);
  if (params) {
    for (u64 i = 0; i < function->params.count; ++i) {
      if (!params[i]) return INVALID_VALUE;
      memcpy(packed->data + function->params[i].offset, params[i], function->params[i].nbytes);
    }
    return SUCCESS;
  }
  const void *buffer = nullptr;
  u64 room = 0;
  for (; extra && (u64)*extra != BUFFER_END; extra += 2) {
    if ((u64)*extra == BUFFER_POINTER) buffer = extra[1];
    if ((u64)*extra == BUFFER_SIZE) room = *(const u64 *)extra[1];
  }
  if (!buffer || room < bytes) return INVALID_VALUE;
  memcpy(packed->data, buffer, bytes);
  return SUCCESS;
}

Result refuse(const Function *function, const char *why, u64 got, u64 most) {
  char text[512];
  snprintf(text, sizeof text, "launch of `%s`: %s must be at most %llu, got %llu", function->name, why,
           (unsigned long long)most, (unsigned long long)got);
  if (!is_in_process()) return tell("%s", text), INVALID_VALUE;
  Message message;
  message.put(text, strlen(text));
  Answer answer;
  return ask_python(Op::REFUSED, message.bytes, &answer);
}

// Extents of which one is more than a device has; `first` is the attribute of the first of the three.
Result check_extents(const Function *function, const char *const *what, const u32 *extents, u32 first) {
  for (u32 i = 0; i < 3; ++i)
    if (extents[i] > (u32)attribute(first + i)) return refuse(function, what[i], extents[i], (u64)attribute(first + i));
  return SUCCESS;
}

// Whether a GPU would accept it.
Result check(const Function *function, const Shape &shape) {
  static const char *const BLOCK[] = {"blockDim.x", "blockDim.y", "blockDim.z"};
  static const char *const GRID[] = {"gridDim.x", "gridDim.y", "gridDim.z"};
  u64 threads = product(shape.block), cluster = product(shape.cluster);
  if (!product(shape.grid) || !threads || !cluster) return INVALID_VALUE;
  if (threads > function->max_threads && !is_in_process())
    return refuse(function, "the threads of a block", threads, function->max_threads);
  if (shape.smem_bytes > dynamic_smem_bytes(function))
    return refuse(function, "dynamic shared memory, unless the function's attribute allows more,", shape.smem_bytes,
                  dynamic_smem_bytes(function));
  if (is_in_process()) return SUCCESS;  // the device has better words
  if (Result bad = check_extents(function, BLOCK, shape.block, 2)) return bad;
  if (Result bad = check_extents(function, GRID, shape.grid, 5)) return bad;
  if (cluster > most_cluster_blocks()) return INVALID_CLUSTER_SIZE;
  for (u32 i = 0; i < 3; ++i)
    if (shape.grid[i] % shape.cluster[i]) return INVALID_CLUSTER_SIZE;
  return SUCCESS;
}

// A cluster that the function's attributes demand, where the launch names none.
Shape with_cluster(const Function *function, Shape shape) {
  if (product(shape.cluster) != 1 || !function->is_set[CLUSTER_WIDTH]) return shape;
  for (u32 i = 0; i < 3; ++i)
    if (function->settings[CLUSTER_WIDTH + i] > 0) shape.cluster[i] = (u32)function->settings[CLUSTER_WIDTH + i];
  return shape;
}

Result check_early(const Launch &launch);

Result launch(Function *function, const Shape &asked, void *stream, void *const *params, void *const *extra) {
  static Bytes packed;
  if (!of<Function>(function)) return INVALID_HANDLE;
  Stream *into = stream_of(stream);
  if (!into) return INVALID_HANDLE;
  Shape shape = with_cluster(function, asked);
  if (Result bad = check(function, shape)) return bad;
  if (Result bad = pack(function, params, extra, &packed)) return bad;
  Launch launch = {function, shape, into->id, packed};
  if (seed() && !into->capture)
    if (Result bad = check_early(launch)) return bad;
  return enqueue(stream, launch);
}

}  // namespace

Result work_of(const KernelParams &params, Work *work) {
  static Bytes packed;
  Function *function = params.function ? params.function : params.kernel;
  Launch launch = {function, {{}, {}, {1, 1, 1}, params.smem_bytes, 0}, 0, {}};
  if (!of<Function>(function)) return INVALID_HANDLE;
  memcpy(launch.shape.grid, params.grid, sizeof params.grid);
  memcpy(launch.shape.block, params.block, sizeof params.block);
  if (Result bad = check(function, launch.shape)) return bad;
  if (Result bad = pack(function, params.params, params.extra, &packed)) return bad;
  launch.params = packed;
  *work = launch;
  return SUCCESS;
}

Result shape_of(const LaunchConfig &config, Shape *shape) {
  memcpy(shape->grid, config.grid, sizeof shape->grid);
  memcpy(shape->block, config.block, sizeof shape->block);
  shape->smem_bytes = config.smem_bytes, shape->flags = 0;
  for (u32 &each : shape->cluster) each = 1;
  for (u32 i = 0; i < config.count; ++i) {
    const LaunchAttribute &attribute = config.attributes[i];
    switch (attribute.id) {
      case COOPERATIVE_ATTRIBUTE: shape->flags |= attribute.words[0] ? COOPERATIVE : 0; break;
      case CLUSTER_ATTRIBUTE: memcpy(shape->cluster, attribute.words, sizeof shape->cluster); break;
      case STREAM_SERIALIZATION: shape->flags |= attribute.words[0] ? PROGRAMMATIC : 0; break;
      case PROGRAMMATIC_EVENT:
      case COMPLETION_EVENT: break;  // recorded after the launch
      case IGNORED:
      case ACCESS_POLICY:
      case SYNCHRONIZATION_POLICY:
      case CLUSTER_POLICY:
      case PRIORITY:
      case DOMAIN_MAP:
      case DOMAIN:
      case PREFERRED_CLUSTER:
      case CARVEOUT: break;
      default:
        if (!attribute.words[0]) break;
        char name[64];
        snprintf(name, sizeof name, "the launch attribute %u", attribute.id);
        return unsupported(name);
    }
  }
  return SUCCESS;
}

// Where a function remembers launches of a shape.
static Repeat *repeat_of(const Launch &launch) {
  u32 sum = 0;
  for (u32 each : launch.shape.grid) sum = sum * 31 + each;
  for (u32 each : launch.shape.block) sum = sum * 31 + each;
  return &launch.function->repeats[(sum + launch.shape.smem_bytes) % REPEATS];
}

static bool is_again(const Launch &launch, const Repeat *repeat) {
  return repeat->handle && !memcmp(&repeat->shape, &launch.shape, sizeof(Shape)) &&
         launch.function->params.count <= MOST_PARAMS && launch.params.count + 256 <= MOST_MESSAGE_BYTES;
}

template <class To> static void put_head(To &message, const Launch &launch) {
  message.put(launch.function->module->id);
  message.put(launch.function->index);
  message.put(launch.shape);
  message.put(launch.stream);
}

// Puts into the ring what is put into a message.
struct RingMessage {
  Ring *ring;
  template <class T> void put(const T &value) {
    memcpy(ring->message + ring->message_bytes, &value, sizeof value);
    ring->message_bytes += (u32)sizeof value;
  }
};

static void fill_ring(Ring *ring, const void *argument) {
  const Launch &launch = *(const Launch *)argument;
  ring->handle = repeat_of(launch)->handle, ring->message_bytes = 0;
  memcpy(ring->config, launch.shape.grid, sizeof launch.shape.grid);
  memcpy(ring->config + 3, launch.shape.block, sizeof launch.shape.block);
  ring->config[6] = launch.shape.smem_bytes;
  RingMessage message = {ring};
  put_head(message, launch);
  ring->params_at = ring->message_bytes;
  memcpy(ring->message + ring->params_at, launch.params.data, launch.params.count);
  ring->message_bytes += (u32)launch.params.count;
  ring->param_count = 0;
  for (Param &each : launch.function->params) ring->param_offsets[ring->param_count++] = each.offset;
}

namespace {

// What the helper refuses is refused at the call, also of a launch that is made later.
Result check_early(const Launch &launch) {
  Message message;
  put_head(message, launch);
  message.put(launch.params.data, launch.params.count);
  Answer answer;
  return ask(Op::CHECK, message, &answer);
}

}  // namespace

// Run a kernel. An error of the kernel itself is one of the context, which the next call answers.
Result run(const Launch &launch) {
  if (!of<Function>(launch.function)) return INVALID_HANDLE;
  Answer answer;
  Result result;
  Repeat *repeat = repeat_of(launch);
  if (is_in_process() && is_again(launch, repeat) && launch_again(launch, *repeat, &result)) return result;
  if (is_again(launch, repeat) && !is_in_process() && helper_runs()) {
    result = ask_by_ring(fill_ring, &launch, &answer);
  } else {
    Message message;
    put_head(message, launch);
    message.put(launch.params.data, launch.params.count);
    result = ask(Op::LAUNCH, message, &answer);
  }
  u32 stays = answer.take<u32>();
  if (answer.at < answer.bytes.count) {
    u64 handle = answer.take<u64>();
    *repeat = {launch.shape, handle, device_number(), (const i32 *)answer.take<u64>()};
  }
  if (result && current() && (stays || !helper_runs())) {
    lose(current(), result);
    return helper_runs() ? SUCCESS : result;
  }
  return result;
}

}  // namespace driver

using namespace driver;

API(cuLaunchKernel)(Function *function, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y, u32 block_z,
                    u32 smem_bytes, void *stream, void **params, void **extra) {
  ENTER_CONTEXT;
  Shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {1, 1, 1}, smem_bytes, 0};
  return launch(function, shape, stream, params, extra);
}

API(cuLaunchCooperativeKernel)(Function *function, u32 grid_x, u32 grid_y, u32 grid_z, u32 block_x, u32 block_y,
                               u32 block_z, u32 smem_bytes, void *stream, void **params) {
  ENTER_CONTEXT;
  Shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {1, 1, 1}, smem_bytes, COOPERATIVE};
  return launch(function, shape, stream, params, nullptr);
}

API(cuLaunchKernelEx)(const LaunchConfig *config, Function *function, void **params, void **extra) {
  ENTER_CONTEXT;
  REFUSE_IF(!config, INVALID_VALUE);
  Shape shape;
  if (Result bad = shape_of(*config, &shape)) return bad;
  if (Result bad = launch(function, shape, config->stream, params, extra)) return bad;
  Stream *stream = stream_of(config->stream);
  for (u32 i = 0; i < config->count; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    bool is_event = attribute.id == PROGRAMMATIC_EVENT || attribute.id == COMPLETION_EVENT;
    Event *event = is_event ? of<Event>((void *)attribute.wide[0]) : nullptr;
    if (event && !stream->capture) record(event, stream);
  }
  return SUCCESS;
}
