// Launches of kernels: `<<<>>>` and the functions that it becomes.
#include "registration.h"

DRIVER(cuLaunchKernel, Kernel, u32, u32, u32, u32, u32, u32, u32, Stream, void **, void **)
DRIVER(cuLaunchCooperativeKernel, Kernel, u32, u32, u32, u32, u32, u32, u32, Stream, void **)
DRIVER(cuLaunchKernelEx, const DriverLaunchConfig *, Kernel, void **, void **)
DRIVER(cuDeviceGetAttribute, int *, Attribute, int)

namespace {

// What stands between `<<<` and `>>>`, until the kernel's own function takes it. Such calls nest: an argument of a
// launch may launch.
struct Configuration {
  Dim3 grid, block;
  size_t shared_bytes;
  Stream stream;
};
constexpr size_t DEEPEST = 64;
thread_local Configuration configurations[DEEPEST];
thread_local size_t depth;

// Limits of the device by the driver's attributes 1 to 7: threads of a block, its extents, the grid's extents.
struct Limits {
  int values[8];
  bool known;

  Error read(int device) {
    for (int i = 1; i <= 7; i++)
      if (Error error = driver::cuDeviceGetAttribute(&values[i], i, device)) return error;
    known = true;
    return SUCCESS;
  }

  bool allow(const Dim3 &grid, const Dim3 &block) const {
    u64 threads = (u64)block.x * block.y * block.z;
    return within(block, 2) && within(grid, 5) && threads <= (u64)values[1];
  }

  bool within(const Dim3 &extents, int first) const {
    return extents.x && extents.y && extents.z && extents.x <= (u32)values[first] &&
           extents.y <= (u32)values[first + 1] && extents.z <= (u32)values[first + 2];
  }
};

// The driver's answer to a launch; it tells why it refuses one. A shape that no launch on this device can have is told
// apart from other invalid arguments.
Error answer(Error error, const Dim3 &grid, const Dim3 &block) {
  constexpr int MOST_DEVICES = 64;
  static Limits limits[MOST_DEVICES];
  int device = current_device();
  if (error != INVALID_VALUE || device < 0 || device >= MOST_DEVICES) return error;
  if (!limits[device].known && limits[device].read(device)) return error;
  return limits[device].allow(grid, block) ? error : (Error)INVALID_CONFIGURATION;
}

Error launch(Kernel kernel, const Dim3 &grid, const Dim3 &block, void **arguments, size_t shared_bytes, Stream stream) {
  if (shared_bytes > UINT32_MAX) return INVALID_VALUE;
  return answer(driver::cuLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, (u32)shared_bytes,
                                       stream, arguments, nullptr),
                grid, block);
}

}  // namespace

API u32 __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes, Stream stream) {
  if (depth == DEEPEST) return 1;
  configurations[depth++] = {grid, block, shared_bytes, stream};
  return 0;
}

API Error __cudaPopCallConfiguration(Dim3 *grid, Dim3 *block, size_t *shared_bytes, Stream *stream) {
  if (!depth) return remember(MISSING_CONFIGURATION);
  const Configuration &top = configurations[--depth];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *stream = top.stream;
  return SUCCESS;
}

API Error __cudaLaunchKernel(Kernel kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared_bytes,
                             Stream stream) {
  return call([&] { return launch(kernel, grid, block, arguments, shared_bytes, stream); });
}
PER_THREAD(__cudaLaunchKernel);

API Error cudaLaunchKernel(const void *function, Dim3 grid, Dim3 block, void **arguments, size_t shared_bytes,
                           Stream stream) {
  return call([&] {
    Kernel kernel = nullptr;
    Error error = kernel_of(function, &kernel);
    return error ? error : launch(kernel, grid, block, arguments, shared_bytes, stream);
  });
}
PER_THREAD(cudaLaunchKernel);

API Error cudaLaunchCooperativeKernel(const void *function, Dim3 grid, Dim3 block, void **arguments,
                                      size_t shared_bytes, Stream stream) {
  return call([&] {
    Kernel kernel = nullptr;
    if (Error error = kernel_of(function, &kernel)) return error;
    if (shared_bytes > UINT32_MAX) return (Error)INVALID_VALUE;
    return answer(driver::cuLaunchCooperativeKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                    (u32)shared_bytes, stream, arguments),
                  grid, block);
  });
}
PER_THREAD(cudaLaunchCooperativeKernel);

static Error launch_configured(const LaunchConfig *config, const void *function, void **arguments, Stream stream) {
  if (!config) return remember(INVALID_VALUE);
  return call([&] {
    Kernel kernel = nullptr;
    if (Error error = kernel_of(function, &kernel)) return error;
    if (config->shared_bytes > UINT32_MAX) return (Error)INVALID_VALUE;
    DriverLaunchConfig converted = {config->grid, config->block,      (u32)config->shared_bytes,
                                    stream,       config->attributes, config->attribute_count};
    return answer(driver::cuLaunchKernelEx(&converted, kernel, arguments, nullptr), config->grid, config->block);
  });
}

API Error cudaLaunchKernelExC(const LaunchConfig *config, const void *function, void **arguments) {
  return launch_configured(config, function, arguments, config ? config->stream : nullptr);
}

API Error cudaLaunchKernelExC_ptsz(const LaunchConfig *config, const void *function, void **arguments) {
  return launch_configured(config, function, arguments, per_thread(config ? config->stream : nullptr));
}
