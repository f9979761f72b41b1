// Attributes of kernels, and how many of their blocks a multiprocessor holds.
#include "registration.h"

DRIVER(cuKernelGetFunction, Function *, Kernel)
DRIVER(cuKernelGetName, const char **, Kernel)
DRIVER(cuKernelGetParamInfo, Kernel, size_t, size_t *, size_t *)
DRIVER(cuKernelGetParamCount, Kernel, size_t *)
DRIVER(cuKernelGetAttribute, int *, Attribute, Kernel, int)
DRIVER(cuKernelSetAttribute, Attribute, int, Kernel, int)
DRIVER(cuKernelSetCacheConfig, Kernel, int, int)
DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *, Function, int, size_t, u32)
DRIVER(cuOccupancyAvailableDynamicSMemPerBlock, size_t *, Function, int, int)
DRIVER(cuOccupancyMaxActiveClusters, int *, Function, const DriverLaunchConfig *)
DRIVER(cuOccupancyMaxPotentialClusterSize, int *, Function, const DriverLaunchConfig *)

namespace {

// The driver's attributes, in the order of FunctionAttributes.
enum : Attribute { SHARED_BYTES = 1, CONSTANT_BYTES = 2, LOCAL_BYTES = 3 };
constexpr Attribute VALUES[] = {0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14};

template <typename Body>
Error with_kernel(const void *host, Body body) {
  return call([&] {
    Kernel kernel = nullptr;
    Error error = kernel_of(host, &kernel);
    return error ? error : body(kernel);
  });
}

template <typename Body>
Error with_function(const void *host, Body body) {
  return with_kernel(host, [&](Kernel kernel) {
    Function function = nullptr;
    Error error = driver::cuKernelGetFunction(&function, kernel);
    return error ? error : body(function);
  });
}

Error attributes_of(FunctionAttributes *attributes, Kernel kernel) {
  int device = current_device(), sizes[4] = {};
  *attributes = {};
  for (Attribute i = SHARED_BYTES; i <= LOCAL_BYTES; i++)
    if (Error error = driver::cuKernelGetAttribute(&sizes[i], i, kernel, device)) return error;
  attributes->shared_bytes = sizes[SHARED_BYTES];
  attributes->constant_bytes = sizes[CONSTANT_BYTES];
  attributes->local_bytes = sizes[LOCAL_BYTES];
  int *value = attributes->values;
  for (Attribute each : VALUES)
    if (Error error = driver::cuKernelGetAttribute(value++, each, kernel, device)) return error;
  return SUCCESS;
}

DriverLaunchConfig convert_config(const LaunchConfig &config) {
  return {config.grid,   config.block,      (u32)config.shared_bytes,
          config.stream, config.attributes, config.attribute_count};
}

}  // namespace

API Error cudaFuncGetAttributes(FunctionAttributes *attributes, const void *function) {
  if (!attributes) return remember(INVALID_VALUE);
  return with_kernel(function, [&](Kernel kernel) { return attributes_of(attributes, kernel); });
}

API Error cudaFuncSetAttribute(const void *function, Attribute attribute, int value) {
  return with_kernel(function, [&](Kernel kernel) {
    return driver::cuKernelSetAttribute(attribute, value, kernel, current_device());
  });
}

API Error cudaKernelSetAttributeForDevice(Kernel kernel, Attribute attribute, int value, int device) {
  return call([&] { return driver::cuKernelSetAttribute(attribute, value, kernel, device); });
}

API Error cudaFuncSetCacheConfig(const void *function, int config) {
  return with_kernel(function,
                     [&](Kernel kernel) { return driver::cuKernelSetCacheConfig(kernel, config, current_device()); });
}

// Banks of shared memory have one width on every device since compute capability 5.0.
API Error cudaFuncSetSharedMemConfig(const void *function, int) {
  return with_kernel(function, [](Kernel) { return SUCCESS; });
}

API Error cudaFuncGetName(const char **name, const void *function) {
  return with_kernel(function, [&](Kernel kernel) { return driver::cuKernelGetName(name, kernel); });
}

API Error cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *bytes) {
  return with_kernel(function,
                     [&](Kernel kernel) { return driver::cuKernelGetParamInfo(kernel, index, offset, bytes); });
}

#if CUDART_MAJOR >= 13
API Error cudaFuncGetParamCount(const void *function, size_t *count) {
  return with_kernel(function, [&](Kernel kernel) { return driver::cuKernelGetParamCount(kernel, count); });
}
#endif

API Error cudaGetFuncBySymbol(Function *result, const void *symbol) {
  return with_function(symbol, [&](Function function) {
    *result = function;
    return SUCCESS;
  });
}

// ** occupancy

API Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                 size_t shared_bytes, u32 flags) {
  return with_function(function, [&](Function handle) {
    return driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, shared_bytes, flags);
  });
}

API Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                        size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}

API Error cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads) {
  return with_function(function, [&](Function handle) {
    return driver::cuOccupancyAvailableDynamicSMemPerBlock(bytes, handle, blocks, threads);
  });
}

API Error cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const LaunchConfig *config) {
  return with_function(function, [&](Function handle) {
    DriverLaunchConfig converted = convert_config(*config);
    return driver::cuOccupancyMaxActiveClusters(clusters, handle, &converted);
  });
}

API Error cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const LaunchConfig *config) {
  return with_function(function, [&](Function handle) {
    DriverLaunchConfig converted = convert_config(*config);
    return driver::cuOccupancyMaxPotentialClusterSize(size, handle, &converted);
  });
}
