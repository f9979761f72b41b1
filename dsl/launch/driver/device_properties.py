"""cudaDeviceProp of CUDA 13, from the device's attributes.  CUDA runtime API, cudaDeviceProp."""

from __future__ import annotations

import ctypes

from dsl.launch.driver import attributes

_INT, _SIZE, _UNSIGNED = ctypes.c_int, ctypes.c_size_t, ctypes.c_uint
_TEXTURES = 25 + 14  # ints of the limits of textures and of surfaces, which the device lacks


class DeviceProperties(ctypes.Structure):
    """Fields in the order of driver_types.h; texture and surface limits are one array."""

    _fields_ = [
        ("name", ctypes.c_char * 256), ("uuid", ctypes.c_char * 16), ("luid", ctypes.c_char * 8),
        ("luidDeviceNodeMask", _UNSIGNED), ("totalGlobalMem", _SIZE), ("sharedMemPerBlock", _SIZE),
        ("regsPerBlock", _INT), ("warpSize", _INT), ("memPitch", _SIZE), ("maxThreadsPerBlock", _INT),
        ("maxThreadsDim", _INT * 3), ("maxGridSize", _INT * 3), ("totalConstMem", _SIZE), ("major", _INT),
        ("minor", _INT), ("textureAlignment", _SIZE), ("texturePitchAlignment", _SIZE),
        ("multiProcessorCount", _INT), ("integrated", _INT), ("canMapHostMemory", _INT),
        ("textures", _INT * _TEXTURES), ("surfaceAlignment", _SIZE), ("concurrentKernels", _INT),
        ("ECCEnabled", _INT), ("pciBusID", _INT), ("pciDeviceID", _INT), ("pciDomainID", _INT),
        ("tccDriver", _INT), ("asyncEngineCount", _INT), ("unifiedAddressing", _INT), ("memoryBusWidth", _INT),
        ("l2CacheSize", _INT), ("persistingL2CacheMaxSize", _INT), ("maxThreadsPerMultiProcessor", _INT),
        ("streamPrioritiesSupported", _INT), ("globalL1CacheSupported", _INT), ("localL1CacheSupported", _INT),
        ("sharedMemPerMultiprocessor", _SIZE), ("regsPerMultiprocessor", _INT), ("managedMemory", _INT),
        ("isMultiGpuBoard", _INT), ("multiGpuBoardGroupID", _INT), ("hostNativeAtomicSupported", _INT),
        ("pageableMemoryAccess", _INT), ("concurrentManagedAccess", _INT), ("computePreemptionSupported", _INT),
        ("canUseHostPointerForRegisteredMem", _INT), ("cooperativeLaunch", _INT), ("sharedMemPerBlockOptin", _SIZE),
        ("pageableMemoryAccessUsesHostPageTables", _INT), ("directManagedMemAccessFromHost", _INT),
        ("maxBlocksPerMultiProcessor", _INT), ("accessPolicyMaxWindowSize", _INT),
        ("reservedSharedMemPerBlock", _SIZE), ("hostRegisterSupported", _INT), ("sparseCudaArraySupported", _INT),
        ("hostRegisterReadOnlySupported", _INT), ("timelineSemaphoreInteropSupported", _INT),
        ("memoryPoolsSupported", _INT), ("gpuDirectRDMASupported", _INT),
        ("gpuDirectRDMAFlushWritesOptions", _UNSIGNED), ("gpuDirectRDMAWritesOrdering", _INT),
        ("memoryPoolSupportedHandleTypes", _UNSIGNED), ("deferredMappingCudaArraySupported", _INT),
        ("ipcEventSupported", _INT), ("clusterLaunch", _INT), ("unifiedFunctionPointers", _INT),
        ("deviceNumaConfig", _INT), ("deviceNumaId", _INT), ("mpsEnabled", _INT), ("hostNumaId", _INT),
        ("gpuPciDeviceID", _UNSIGNED), ("gpuPciSubsystemID", _UNSIGNED), ("hostNumaMultinodeIpcSupported", _INT),
        ("reserved", _INT * 56),
    ]  # fmt: skip


# Field: the attribute that it is.
_ATTRIBUTES = {
    "sharedMemPerBlock": 8, "regsPerBlock": 12, "warpSize": 10, "memPitch": 11, "maxThreadsPerBlock": 1,
    "totalConstMem": 9, "major": 75, "minor": 76, "textureAlignment": 14, "texturePitchAlignment": 51,
    "multiProcessorCount": 16, "integrated": 18, "canMapHostMemory": 19, "surfaceAlignment": 30,
    "concurrentKernels": 31, "ECCEnabled": 32, "pciBusID": 33, "pciDeviceID": 34, "pciDomainID": 50,
    "tccDriver": 35, "asyncEngineCount": 40, "unifiedAddressing": 41, "memoryBusWidth": 37, "l2CacheSize": 38,
    "persistingL2CacheMaxSize": 108, "maxThreadsPerMultiProcessor": 39, "streamPrioritiesSupported": 78,
    "globalL1CacheSupported": 79, "localL1CacheSupported": 80, "sharedMemPerMultiprocessor": 81,
    "regsPerMultiprocessor": 82, "managedMemory": 83, "pageableMemoryAccess": 88, "concurrentManagedAccess": 89,
    "computePreemptionSupported": 90, "cooperativeLaunch": 95, "sharedMemPerBlockOptin": 97,
    "maxBlocksPerMultiProcessor": 106, "accessPolicyMaxWindowSize": 109, "reservedSharedMemPerBlock": 111,
    "hostRegisterSupported": 99, "memoryPoolsSupported": 115, "clusterLaunch": 120, "unifiedFunctionPointers": 129,
}  # fmt: skip


def properties() -> DeviceProperties:
    """The answer of cudaGetDeviceProperties."""
    of = attributes.ATTRIBUTES
    result = DeviceProperties(
        name=attributes.NAME.encode(),
        uuid=attributes.UUID,
        totalGlobalMem=attributes.TOTAL_BYTES,
        maxThreadsDim=(of[2], of[3], of[4]),
        maxGridSize=(of[5], of[6], of[7]),
    )
    for field, attribute in _ATTRIBUTES.items():
        setattr(result, field, of.get(attribute, 0))
    return result
