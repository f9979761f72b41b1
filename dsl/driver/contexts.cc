// Initialisation, contexts and what sticks to them.  CUDA driver API: initialization, primary context, context
// management.
//
// A process has one device. After a fork the child must not use the driver, as with a GPU.
#include "contexts.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "device.h"
#include "in_process.h"
#include "memory.h"
#include "pieces.h"

namespace driver {
namespace {

constexpr u32 MOST_PUSHED = 256;
constexpr u64 FIRST_LIMITS[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0, 0, 0};  // CUlimit
constexpr u32 KNOWN_LIMITS = 9;

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
bool is_initialized, is_forked;
Context *the_primary;
thread_local Context *pushed[MOST_PUSHED];
thread_local u32 depth;

void after_fork() {
  lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  if (!is_initialized || is_in_process()) return;  // nothing has begun, or the child has the device too
  is_forked = true;
  leave_helper();
}

Context *make_context(u32 flags) {
  Context *made = make<Context>();
  made->flags = flags;
  memcpy(made->limits, FIRST_LIMITS, sizeof FIRST_LIMITS);
  return made;
}

void reset(Context *context) {
  wait_for_all(context);
  free_blocks_of(context);
  context->lost = SUCCESS;
  memcpy(context->limits, FIRST_LIMITS, sizeof FIRST_LIMITS);
}

}  // namespace

Guard::Guard() : python(give_up_python()), is_locked(!python_has_ended()) {
  if (is_locked) pthread_mutex_lock(&lock);
}
Guard::~Guard() {
  if (is_locked) pthread_mutex_unlock(&lock);
  take_python_back(python);
}

Unlocked::Unlocked() { pthread_mutex_unlock(&lock); }
Unlocked::~Unlocked() { pthread_mutex_lock(&lock); }

u64 calls_of_program;

Result ready() {
  ++calls_of_program;
  if (Result refused = refused_in_process()) return refused;
  return is_forked || !(is_initialized || has_torch()) ? NOT_INITIALIZED : SUCCESS;
}

Result ready(Context **context) {
  if (Result refused = ready()) return refused;
  *context = current();
  if (!*context) return INVALID_CONTEXT;
  return (*context)->lost;
}

Context *current() {
  if (depth) return of<Context>(pushed[depth - 1]);
  return defaults_to_primary() ? primary() : nullptr;
}

Context *primary() {
  if (!the_primary) {
    the_primary = make_context(0);
    the_primary->is_primary = true;
  }
  return the_primary;
}

void forget_device() {
  forget_blocks();
  if (!the_primary) return;
  the_primary->lost = SUCCESS, the_primary->retained = 0, the_primary->flags = 0;
  memcpy(the_primary->limits, FIRST_LIMITS, sizeof FIRST_LIMITS);
}

void lose(Context *context, Result error) {
  if (!context->lost) context->lost = error;
}

void tell(const char *format, ...) {
  char text[2048] = "gpu-repro: ";
  u64 at = strlen(text);
  va_list values;
  va_start(values, format);
  int bytes = vsnprintf(text + at, sizeof text - at - 1, format, values);
  va_end(values);
  at += bytes < 0 ? 0 : (u64)bytes >= sizeof text - at - 1 ? sizeof text - at - 2 : (u64)bytes;
  text[at++] = '\n';
  if (write(2, text, at) < 0) return;  // nobody reads it
}

}  // namespace driver

using namespace driver;

API(cuInit)(u32 flags) {
  Guard guard;
  REFUSE_IF(flags, INVALID_VALUE);
  if (Result refused = refused_in_process()) return refused;
  REFUSE_IF(is_forked, NOT_INITIALIZED);
  REFUSE_IF(!device_count(), NO_DEVICE);
  if (!is_initialized) pthread_atfork(nullptr, nullptr, after_fork);
  is_initialized = true;
  return SUCCESS;
}

// ** the primary context

API(cuDevicePrimaryCtxRetain)(Context **made, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!made, INVALID_VALUE);
  *made = primary();
  ++(*made)->retained;
  return SUCCESS;
}

API(cuDevicePrimaryCtxRelease_v2)(int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  Context *context = primary();
  REFUSE_IF(!context->retained, INVALID_CONTEXT);
  if (!--context->retained && !defaults_to_primary()) reset(context);
  return SUCCESS;
}

API(cuDevicePrimaryCtxReset_v2)(int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  reset(primary());
  return SUCCESS;
}

API(cuDevicePrimaryCtxSetFlags_v2)(int device, u32 flags) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  primary()->flags = flags;
  return SUCCESS;
}

API(cuDevicePrimaryCtxGetState)(int device, u32 *flags, int *active) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!flags || !active, INVALID_VALUE);
  *flags = primary()->flags, *active = primary()->retained > 0 || defaults_to_primary();
  return SUCCESS;
}

API(cuDevicePrimaryCtxRelease)(int device) { return cuDevicePrimaryCtxRelease_v2(device); }
API(cuDevicePrimaryCtxReset)(int device) { return cuDevicePrimaryCtxReset_v2(device); }
API(cuDevicePrimaryCtxSetFlags)(int device, u32 flags) { return cuDevicePrimaryCtxSetFlags_v2(device, flags); }

// ** the stack of a thread

API(cuCtxGetCurrent)(Context **context) {
  ENTER;
  REFUSE_IF(!context, INVALID_VALUE);
  *context = current();
  return SUCCESS;
}

API(cuCtxSetCurrent)(Context *context) {
  ENTER;
  if (!context) {
    if (depth) --depth;
    return SUCCESS;
  }
  REFUSE_IF(!of<Context>(context), INVALID_CONTEXT);
  if (!depth) ++depth;
  pushed[depth - 1] = context;
  return SUCCESS;
}

API(cuCtxPushCurrent_v2)(Context *context) {
  ENTER;
  REFUSE_IF(!of<Context>(context) || depth == MOST_PUSHED, INVALID_CONTEXT);
  pushed[depth++] = context;
  return SUCCESS;
}

API(cuCtxPopCurrent_v2)(Context **context) {
  ENTER;
  REFUSE_IF(!depth, INVALID_CONTEXT);
  --depth;
  if (context) *context = pushed[depth];
  return SUCCESS;
}

API(cuCtxCreate_v2)(Context **made, u32 flags, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!made || depth == MOST_PUSHED, INVALID_VALUE);
  pushed[depth++] = *made = make_context(flags);
  return SUCCESS;
}

API(cuCtxCreate_v3)(Context **made, const void *affinity, int affinities, u32 flags, int device) {
  REFUSE_IF(affinity || affinities, unsupported("cuCtxCreate_v3 with execution affinity"));
  return cuCtxCreate_v2(made, flags, device);
}

API(cuCtxCreate_v4)(Context **made, const void *parameters, u32 flags, int device) {
  REFUSE_IF(parameters && ((const u64 *)parameters)[0], unsupported("cuCtxCreate_v4 with execution affinity"));
  return cuCtxCreate_v2(made, flags, device);
}

API(cuCtxDestroy_v2)(Context *context) {
  ENTER;
  REFUSE_IF(!of<Context>(context) || context->is_primary, INVALID_CONTEXT);
  wait_for_all(context);
  if (current() == context) --depth;
  free_blocks_of(context);
  drop_object(context);
  return SUCCESS;
}

// ** what a context has

API(cuCtxGetDevice)(int *device) {
  ENTER;
  REFUSE_IF(!current(), INVALID_CONTEXT);
  REFUSE_IF(!device, INVALID_VALUE);
  *device = 0;
  return SUCCESS;
}

API(cuCtxGetDevice_v2)(int *device, Context *context) {
  ENTER;
  REFUSE_IF(context ? !of<Context>(context) : !current(), INVALID_CONTEXT);
  REFUSE_IF(!device, INVALID_VALUE);
  *device = 0;
  return SUCCESS;
}

API(cuCtxGetFlags)(u32 *flags) {
  ENTER;
  REFUSE_IF(!current(), INVALID_CONTEXT);
  REFUSE_IF(!flags, INVALID_VALUE);
  *flags = current()->flags;
  return SUCCESS;
}

API(cuCtxSetFlags)(u32 flags) {
  ENTER_CONTEXT;
  context->flags = flags;
  return SUCCESS;
}

API(cuCtxGetId)(Context *context, u64 *id) {
  ENTER;
  context = context ? context : current();
  REFUSE_IF(!of<Context>(context), INVALID_CONTEXT);
  REFUSE_IF(!id, INVALID_VALUE);
  *id = context->id;
  return SUCCESS;
}

API(cuCtxGetApiVersion)(Context *context, u32 *version) {
  ENTER;
  REFUSE_IF(!of<Context>(context ? context : current()), INVALID_CONTEXT);
  REFUSE_IF(!version, INVALID_VALUE);
  *version = 3020;
  return SUCCESS;
}

API(cuCtxSynchronize)() {
  ENTER_CONTEXT;
  Result bad = captures_allow_synchronizing();
  return bad ? bad : wait_for_all(context);
}

API(cuCtxSynchronize_v2)(Context *other) {
  ENTER;
  other = other ? other : current();
  REFUSE_IF(!of<Context>(other), INVALID_CONTEXT);
  Result bad = captures_allow_synchronizing();
  return bad ? bad : wait_for_all(other);
}

API(cuCtxGetStreamPriorityRange)(int *least, int *greatest) {
  ENTER_CONTEXT;
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return SUCCESS;
}

API(cuCtxGetLimit)(u64 *value, u32 limit) {
  ENTER_CONTEXT;
  REFUSE_IF(!value || limit >= KNOWN_LIMITS, INVALID_VALUE);
  *value = context->limits[limit];
  return SUCCESS;
}

API(cuCtxSetLimit)(u32 limit, u64 value) {
  ENTER_CONTEXT;
  REFUSE_IF(limit >= KNOWN_LIMITS, INVALID_VALUE);
  context->limits[limit] = value;
  return SUCCESS;
}

API(cuCtxGetCacheConfig)(u32 *cache) {
  ENTER_CONTEXT;
  REFUSE_IF(!cache, INVALID_VALUE);
  *cache = context->cache;
  return SUCCESS;
}

API(cuCtxSetCacheConfig)(u32 cache) {
  ENTER_CONTEXT;
  context->cache = cache;
  return SUCCESS;
}

API(cuCtxGetSharedMemConfig)(u32 *bank) {
  ENTER_CONTEXT;
  REFUSE_IF(!bank, INVALID_VALUE);
  *bank = context->shared_memory_bank;
  return SUCCESS;
}

API(cuCtxSetSharedMemConfig)(u32 bank) {
  ENTER_CONTEXT;
  context->shared_memory_bank = bank;
  return SUCCESS;
}

API(cuCtxResetPersistingL2Cache)() {
  ENTER_CONTEXT;
  return SUCCESS;
}

API(cuCtxEnablePeerAccess)(Context *, u32) { return unsupported("cuCtxEnablePeerAccess: there is one device"); }

API(cuCtxDisablePeerAccess)(Context *) {
  ENTER_CONTEXT;
  return PEER_NOT_ENABLED;
}

API(cuProfilerStart)() {
  ENTER_CONTEXT;
  return SUCCESS;
}

API(cuProfilerStop)() {
  ENTER_CONTEXT;
  return SUCCESS;
}
