// What is asked of a function: attributes, parameters, occupancy.  CUDA driver API: execution control, occupancy.
#include "contexts.h"
#include "device.h"
#include "launch_config.h"
#include "modules.h"

namespace driver {
namespace {

// CUfunction_attribute
enum : u32 {
  THREADS = 0,
  STATIC_SMEM = 1,
  REGISTERS = 4,
  PTX_VERSION = 5,
  BINARY_VERSION = 6,
  DYNAMIC_SMEM = 8,
  CARVEOUT = 9,
  CLUSTER_SET = 10,
  NON_PORTABLE = 14,
  POLICY = 15,
};
// Registers that a thread is said to have: the emulator has none, and programs divide by this.
constexpr int SAID_REGISTERS = 32;

u32 least(u32 a, u32 b) { return a < b ? a : b; }

int attribute_of(const Function *function, u32 which) {
  if (function->is_set[which]) return function->settings[which];
  switch (which) {
    case THREADS: return (int)least(function->max_threads, MAX_THREADS);
    case STATIC_SMEM: return (int)function->static_smem_bytes;
    case REGISTERS: return SAID_REGISTERS;
    case PTX_VERSION:
    case BINARY_VERSION: return (int)capability();
    case DYNAMIC_SMEM: return (int)dynamic_smem_bytes(function);
    case CARVEOUT: return -1;
    case CLUSTER_SET: return function->cluster[0] != 0;
    case CLUSTER_SET + 1:
    case CLUSTER_SET + 2:
    case CLUSTER_SET + 3: return (int)function->cluster[which - CLUSTER_SET - 1];
    default: return 0;
  }
}

Result get_attribute(int *value, u32 which, Function *function) {
  if (!value || which >= SETTINGS) return INVALID_VALUE;
  if (!of<Function>(function)) return INVALID_HANDLE;
  *value = attribute_of(function, which);
  return SUCCESS;
}

Result set_attribute(Function *function, u32 which, int value) {
  if (!of<Function>(function)) return INVALID_HANDLE;
  if (which < DYNAMIC_SMEM || which >= SETTINGS || which == CLUSTER_SET) return INVALID_VALUE;
  if (which == DYNAMIC_SMEM && (value < 0 || (u32)value + function->static_smem_bytes > number_of(MOST_SMEM_BYTES)))
    return INVALID_VALUE;
  function->is_set[which] = true, function->settings[which] = value;
  return SUCCESS;
}

}  // namespace

u32 dynamic_smem_bytes(const Function *function) {
  if (function->is_set[DYNAMIC_SMEM]) return (u32)function->settings[DYNAMIC_SMEM];
  return BLOCK_SMEM_BYTES - least(function->static_smem_bytes, BLOCK_SMEM_BYTES);
}

u32 blocks_per_sm(const Function *function, u32 threads, u64 smem_bytes) {
  u64 total = function->static_smem_bytes + smem_bytes;
  if (!threads || threads > MAX_THREADS || total > number_of(MOST_SMEM_BYTES)) return 0;
  u32 by_threads = number_of(SM_THREADS) / (u32)round_up(threads, WARP);
  u32 by_smem = (u32)(number_of(SM_SMEM_BYTES) / (total + RESERVED_SMEM_BYTES));
  return least(least(by_threads, by_smem), number_of(SM_BLOCKS));
}

}  // namespace driver

using namespace driver;

API(cuFuncGetAttribute)(int *value, u32 which, Function *function) {
  ENTER_CONTEXT;
  return get_attribute(value, which, function);
}
API(cuFuncSetAttribute)(Function *function, u32 which, int value) {
  ENTER_CONTEXT;
  return set_attribute(function, which, value);
}
API(cuKernelGetAttribute)(int *value, u32 which, Function *kernel, int) {
  ENTER;
  return get_attribute(value, which, kernel);
}
API(cuKernelSetAttribute)(u32 which, int value, Function *kernel, int) {
  ENTER;
  return set_attribute(kernel, which, value);
}

// Hints of how to divide a memory that the emulator does not divide, and of loading, which is done.
static Result heed(Function *function) {
  ENTER;
  return of<Function>(function) ? SUCCESS : INVALID_HANDLE;
}
API(cuFuncSetCacheConfig)(Function *function, u32) { return heed(function); }
API(cuKernelSetCacheConfig)(Function *kernel, u32, int) { return heed(kernel); }
API(cuFuncSetSharedMemConfig)(Function *function, u32) { return heed(function); }
API(cuFuncLoad)(Function *function) { return heed(function); }
API(cuFuncIsLoaded)(u32 *is_loaded, Function *function) {
  if (is_loaded) *is_loaded = 1;
  return heed(function);
}

API(cuFuncGetName)(const char **name, Function *function) {
  ENTER;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!name, INVALID_VALUE);
  *name = function->name;
  return SUCCESS;
}
API(cuKernelGetName)(const char **name, Function *kernel) { return cuFuncGetName(name, kernel); }

API(cuFuncGetModule)(Module **module, Function *function) {
  ENTER;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!module, INVALID_VALUE);
  *module = function->module;
  return SUCCESS;
}
API(cuKernelGetLibrary)(Module **library, Function *kernel) { return cuFuncGetModule(library, kernel); }

API(cuKernelGetFunction)(Function **function, Function *kernel) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Function>(kernel), INVALID_HANDLE);
  REFUSE_IF(!function, INVALID_VALUE);
  *function = kernel;
  return SUCCESS;
}

API(cuFuncGetParamInfo)(Function *function, u64 index, u64 *offset, u64 *nbytes) {
  ENTER;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!offset || index >= function->params.count, INVALID_VALUE);
  *offset = function->params[index].offset;
  if (nbytes) *nbytes = function->params[index].nbytes;
  return SUCCESS;
}
API(cuKernelGetParamInfo)(Function *kernel, u64 index, u64 *offset, u64 *nbytes) {
  return cuFuncGetParamInfo(kernel, index, offset, nbytes);
}

API(cuFuncGetParamCount)(Function *function, u64 *count) {
  ENTER;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!count, INVALID_VALUE);
  *count = function->params.count;
  return SUCCESS;
}
API(cuKernelGetParamCount)(Function *kernel, u64 *count) { return cuFuncGetParamCount(kernel, count); }

// ** occupancy, of threads and shared memory: the emulator has no registers

API(cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, Function *function, int threads, u64 smem_bytes) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!blocks || threads < 1, INVALID_VALUE);
  *blocks = (int)blocks_per_sm(function, (u32)threads, smem_bytes);
  return SUCCESS;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int *blocks, Function *function, int threads, u64 smem_bytes,
                                                          u32) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, smem_bytes);
}

// The largest block of those that fill a multiprocessor best.
API(cuOccupancyMaxPotentialBlockSize)(int *grid, int *block, Function *function, u64 (*smem_of)(int), u64 smem_bytes,
                                      int limit) {
  {
    ENTER_CONTEXT;
    REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
    REFUSE_IF(!grid || !block, INVALID_VALUE);
  }
  u32 most = (u32)attribute_of(function, THREADS), best = 0;
  if (limit > 0) most = least(most, (u32)limit);
  for (u32 threads = most; threads;) {
    u32 blocks = blocks_per_sm(function, threads, smem_of ? smem_of((int)threads) : smem_bytes);
    if (blocks * threads > best) best = blocks * threads, *block = (int)threads, *grid = (int)(blocks * number_of(SMS));
    u32 lower = threads % WARP ? threads - threads % WARP : threads - least(WARP, threads);
    threads = lower;
  }
  return best ? SUCCESS : INVALID_VALUE;
}

API(cuOccupancyMaxPotentialBlockSizeWithFlags)(int *grid, int *block, Function *function, u64 (*smem_of)(int),
                                               u64 smem_bytes, int limit, u32) {
  return cuOccupancyMaxPotentialBlockSize(grid, block, function, smem_of, smem_bytes, limit);
}

API(cuOccupancyAvailableDynamicSMemPerBlock)(u64 *nbytes, Function *function, int blocks, int threads) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!nbytes || blocks < 1 || threads < 1, INVALID_VALUE);
  u32 room = number_of(SM_SMEM_BYTES) / (u32)blocks, taken = RESERVED_SMEM_BYTES + function->static_smem_bytes;
  *nbytes = room > taken ? least(room - taken, number_of(MOST_SMEM_BYTES) - function->static_smem_bytes) : 0;
  return SUCCESS;
}

API(cuOccupancyMaxPotentialClusterSize)(int *blocks, Function *function, const LaunchConfig *) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!blocks, INVALID_VALUE);
  *blocks = function->is_set[NON_PORTABLE] && function->settings[NON_PORTABLE] ? most_cluster_blocks()
                                                                               : PORTABLE_CLUSTER_BLOCKS;
  return SUCCESS;
}

API(cuOccupancyMaxActiveClusters)(int *clusters, Function *function, const LaunchConfig *config) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Function>(function), INVALID_HANDLE);
  REFUSE_IF(!clusters || !config, INVALID_VALUE);
  Shape shape;
  if (Result bad = shape_of(*config, &shape)) return bad;
  u32 blocks = blocks_per_sm(function, shape.block[0] * shape.block[1] * shape.block[2], shape.smem_bytes);
  *clusters = (int)(blocks * number_of(SMS) / (shape.cluster[0] * shape.cluster[1] * shape.cluster[2]));
  return SUCCESS;
}
