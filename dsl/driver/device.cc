// The device: an H100 to programs that ask, or the model of Blackwell that is chosen.  CUDA driver API: device management.
#include "device.h"

#include <stdio.h>

#include "in_process.h"
#include "memory.h"

namespace driver {
namespace {

constexpr int PCI_ROOM = 13;
constexpr u32 VIRTUAL_MEMORY = 102, MULTICAST = 132;  // attributes
const char UUID[] = "PTX-emulator-001";

// CUDA_VISIBLE_DEVICES hides the device unless its list begins with it.
bool is_hidden() {
  const char *list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return false;
  if (!strncmp(list, "GPU-", 4)) return false;
  return list[0] != '0' || (list[1] && list[1] != ',');
}

}  // namespace

const char *gpu_model() {
  const char *name = getenv("GPU_REPRO_GPU_MODEL");
  return name ? name : "";
}

int attribute(u32 which) {
  const char *model = gpu_model();
#define ATTRIBUTE(which, value)
#define MODEL_ATTRIBUTE(name, number, value) \
  if (which == number && !strcmp(model, #name)) return value;
#define NUMBER(name, value)
#include "device.inc"
#undef NUMBER
#undef MODEL_ATTRIBUTE
#undef ATTRIBUTE
  return attribute_of_h100(which);
}

u32 most_cluster_blocks() { return capability() >= 120 ? PORTABLE_CLUSTER_BLOCKS : MOST_CLUSTER_BLOCKS; }

int device_count() { return is_hidden() && !is_in_process() ? 0 : 1; }

}  // namespace driver

using namespace driver;

API(cuDriverGetVersion)(int *version) {
  REFUSE_IF(!version, INVALID_VALUE);
  *version = (int)DRIVER_VERSION;
  return SUCCESS;
}

API(cuDeviceGetCount)(int *count) {
  ENTER;
  REFUSE_IF(!count, INVALID_VALUE);
  *count = device_count();
  return SUCCESS;
}

API(cuDeviceGet)(int *device, int ordinal) {
  ENTER;
  REFUSE_IF(!device, INVALID_VALUE);
  REFUSE_IF(ordinal, INVALID_DEVICE);
  *device = 0;
  return SUCCESS;
}

API(cuDeviceGetName)(char *name, int room, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!name || room < 1, INVALID_VALUE);
  const char *model = gpu_model();
  if (*model) snprintf(name, (size_t)room, "PTX emulator (%s)", model);
  else snprintf(name, (size_t)room, "PTX emulator");
  return SUCCESS;
}

API(cuDeviceGetUuid_v2)(u8 *uuid, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!uuid, INVALID_VALUE);
  memcpy(uuid, UUID, 16);
  return SUCCESS;
}

API(cuDeviceGetUuid)(u8 *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

API(cuDeviceTotalMem_v2)(u64 *nbytes, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!nbytes, INVALID_VALUE);
  *nbytes = TOTAL_BYTES;
  return SUCCESS;
}

API(cuDeviceGetAttribute)(int *value, u32 which, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!value || !which || which >= DEVICE_ATTRIBUTES, INVALID_VALUE);
  bool needs_helper = which == VIRTUAL_MEMORY || which == MULTICAST;
  *value = needs_helper && is_in_process() ? 0 : attribute(which);
  return SUCCESS;
}

API(cuDeviceComputeCapability)(int *major, int *minor, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!major || !minor, INVALID_VALUE);
  *major = attribute(CAPABILITY), *minor = attribute(CAPABILITY + 1);
  return SUCCESS;
}

// CUdevprop: threads of a block, extents of a block and of a grid, shared and constant memory, warp, pitch, registers,
// clock, texture alignment.
API(cuDeviceGetProperties)(int *properties, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!properties, INVALID_VALUE);
  for (u32 which = 1; which <= 14; ++which) properties[which - 1] = attribute(which);
  return SUCCESS;
}

API(cuDeviceGetPCIBusId)(char *text, int room, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!text || room < PCI_ROOM, INVALID_VALUE);
  memcpy(text, "0000:01:00.0", PCI_ROOM);
  return SUCCESS;
}

API(cuDeviceGetByPCIBusId)(int *device, const char *text) {
  ENTER;
  REFUSE_IF(!device || !text, INVALID_VALUE);
  REFUSE_IF(!strstr(text, "01:00.0"), INVALID_DEVICE);
  *device = 0;
  return SUCCESS;
}

API(cuDeviceCanAccessPeer)(int *can, int device, int peer) {
  ENTER;
  REFUSE_IF(device || peer, INVALID_DEVICE);
  REFUSE_IF(!can, INVALID_VALUE);
  *can = 0;
  return SUCCESS;
}

API(cuDeviceGetP2PAttribute)(int *, u32, int, int) {
  ENTER;
  return INVALID_DEVICE;  // one device has no peer
}

API(cuDeviceGetExecAffinitySupport)(int *is_supported, u32, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!is_supported, INVALID_VALUE);
  *is_supported = 0;
  return SUCCESS;
}

API(cuDeviceGetLuid)(char *, u32 *, int) { return NOT_SUPPORTED; }  // of Windows alone, and libraries ask for it

API(cuDeviceGetTexture1DLinearMaxWidth)(u64 *width, u32, u32, int device) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!width, INVALID_VALUE);
  *width = 1 << 28;
  return SUCCESS;
}
