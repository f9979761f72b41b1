// cudaGetDeviceProperties: the driver's attributes of a device, in one structure.
#include "properties.h"

#include <string.h>

#include "runtime.h"

DRIVER(cuDeviceGetName, char *, int, int)
DRIVER(cuDeviceGetUuid_v2, void *, int)
DRIVER(cuDeviceTotalMem_v2, size_t *, int)
DRIVER(cuDeviceGetAttribute, int *, Attribute, int)

extern "C" Error cudaDeviceGetAttribute(int *value, Attribute attribute, int ordinal);

namespace {

// A field and the driver's attribute of its first element; those of more elements follow.
struct Row {
  size_t offset;
  bool wide;
  int count;
  Attribute attribute;
};

template <typename Field>
constexpr int elements = 1;
template <typename Element, size_t COUNT>
constexpr int elements<Element[COUNT]> = COUNT;

#define ROW(field, attribute) \
  Row{offsetof(DeviceProperties, field), sizeof(DeviceProperties::field) == 8 && \
          elements<decltype(DeviceProperties::field)> == 1, elements<decltype(DeviceProperties::field)>, attribute}

constexpr Row ROWS[] = {
    ROW(sharedMemPerBlock, 8),
    ROW(regsPerBlock, 12),
    ROW(warpSize, 10),
    ROW(memPitch, 11),
    ROW(maxThreadsPerBlock, 1),
    ROW(maxThreadsDim, 2),
    ROW(maxGridSize, 5),
    ROW(totalConstMem, 9),
    ROW(major, 75),
    ROW(minor, 76),
    ROW(textureAlignment, 14),
    ROW(texturePitchAlignment, 51),
    ROW(multiProcessorCount, 16),
    ROW(integrated, 18),
    ROW(canMapHostMemory, 19),
    ROW(maxTexture1D, 21),
    ROW(maxTexture1DMipmap, 77),
    ROW(maxTexture2D, 22),
    ROW(maxTexture2DMipmap, 73),
    ROW(maxTexture2DLinear, 70),
    ROW(maxTexture2DGather, 45),
    ROW(maxTexture3D, 24),
    ROW(maxTexture3DAlt, 47),
    ROW(maxTextureCubemap, 52),
    ROW(maxTexture1DLayered, 42),
    ROW(maxTexture2DLayered, 27),
    ROW(maxTextureCubemapLayered, 53),
    ROW(maxSurface1D, 55),
    ROW(maxSurface2D, 56),
    ROW(maxSurface3D, 58),
    ROW(maxSurface1DLayered, 61),
    ROW(maxSurface2DLayered, 63),
    ROW(maxSurfaceCubemap, 66),
    ROW(maxSurfaceCubemapLayered, 67),
    ROW(surfaceAlignment, 30),
    ROW(concurrentKernels, 31),
    ROW(ECCEnabled, 32),
    ROW(pciBusID, 33),
    ROW(pciDeviceID, 34),
    ROW(pciDomainID, 50),
    ROW(tccDriver, 35),
    ROW(asyncEngineCount, 40),
    ROW(unifiedAddressing, 41),
    ROW(memoryBusWidth, 37),
    ROW(l2CacheSize, 38),
    ROW(persistingL2CacheMaxSize, 108),
    ROW(maxThreadsPerMultiProcessor, 39),
    ROW(streamPrioritiesSupported, 78),
    ROW(globalL1CacheSupported, 79),
    ROW(localL1CacheSupported, 80),
    ROW(sharedMemPerMultiprocessor, 81),
    ROW(regsPerMultiprocessor, 82),
    ROW(managedMemory, 83),
    ROW(isMultiGpuBoard, 84),
    ROW(multiGpuBoardGroupID, 85),
    ROW(hostNativeAtomicSupported, 86),
    ROW(pageableMemoryAccess, 88),
    ROW(concurrentManagedAccess, 89),
    ROW(computePreemptionSupported, 90),
    ROW(canUseHostPointerForRegisteredMem, 91),
    ROW(cooperativeLaunch, 95),
    ROW(sharedMemPerBlockOptin, 97),
    ROW(pageableMemoryAccessUsesHostPageTables, 100),
    ROW(directManagedMemAccessFromHost, 101),
    ROW(maxBlocksPerMultiProcessor, 106),
    ROW(accessPolicyMaxWindowSize, 109),
    ROW(reservedSharedMemPerBlock, 111),
    ROW(hostRegisterSupported, 99),
    ROW(sparseCudaArraySupported, 112),
    ROW(hostRegisterReadOnlySupported, 113),
    ROW(timelineSemaphoreInteropSupported, 114),
    ROW(memoryPoolsSupported, 115),
    ROW(gpuDirectRDMASupported, 116),
    ROW(gpuDirectRDMAFlushWritesOptions, 117),
    ROW(gpuDirectRDMAWritesOrdering, 118),
    ROW(memoryPoolSupportedHandleTypes, 119),
    ROW(deferredMappingCudaArraySupported, 121),
    ROW(ipcEventSupported, 125),
    ROW(clusterLaunch, 120),
    ROW(unifiedFunctionPointers, 129),
#if CUDART_MAJOR == 12
    ROW(clockRate, 13),
    ROW(deviceOverlap, 15),
    ROW(kernelExecTimeoutEnabled, 17),
    ROW(computeMode, 20),
    ROW(maxTexture1DLinear, 69),
    ROW(memoryClockRate, 36),
    ROW(singleToDoublePrecisionPerfRatio, 87),
    ROW(cooperativeMultiDeviceLaunch, 96),
#else
    ROW(deviceNumaConfig, 130),
    ROW(deviceNumaId, 131),
    ROW(mpsEnabled, 133),
    ROW(hostNumaId, 134),
    ROW(gpuPciDeviceID, 139),
    ROW(gpuPciSubsystemID, 140),
    ROW(hostNumaMultinodeIpcSupported, 143),
#endif
};

// An attribute that this driver does not know is 0.
void fill(void *structure, const Row &row, int ordinal) {
  for (int i = 0; i < row.count; i++) {
    int value = 0;
    driver::cuDeviceGetAttribute(&value, row.attribute + i, ordinal);
    char *field = (char *)structure + row.offset;
    if (row.wide) *(size_t *)field = value;
    else ((int *)field)[i] = value;
  }
}

Error properties_of(DeviceProperties *properties, int ordinal) {
  int major = 0;
  if (Error error = cudaDeviceGetAttribute(&major, 75, ordinal)) return error;
  *properties = {};
  if (Error error = driver::cuDeviceGetName(properties->name, sizeof properties->name, ordinal)) return error;
  if (Error error = driver::cuDeviceTotalMem_v2(&properties->totalGlobalMem, ordinal)) return error;
  driver::cuDeviceGetUuid_v2(properties->uuid, ordinal);  // `luid` is of Windows
  for (const Row &row : ROWS) fill(properties, row, ordinal);
  return SUCCESS;
}

}  // namespace

#if CUDART_MAJOR == 12
API Error cudaGetDeviceProperties_v2(DeviceProperties *properties, int ordinal) {
  return remember(properties ? properties_of(properties, ordinal) : INVALID_VALUE);
}

// The function under its first name has the structure of CUDA 11, which ends sooner.
API Error cudaGetDeviceProperties(DeviceProperties *properties, int ordinal) {
  DeviceProperties all = {};
  if (Error error = cudaGetDeviceProperties_v2(&all, ordinal)) return error;
  memcpy(properties, &all, offsetof(DeviceProperties, hostRegisterSupported));
  return SUCCESS;
}
#else
API Error cudaGetDeviceProperties(DeviceProperties *properties, int ordinal) {
  return remember(properties ? properties_of(properties, ordinal) : INVALID_VALUE);
}
#endif
