// Compiles only if the structures of dsl/driver/runtime are laid out as NVIDIA's headers of CUDA 13 have them.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

namespace ours {
#include "properties.h"
#include "types.h"
}  // namespace ours

#define SAME(mine, field, theirs, other) \
  static_assert(offsetof(ours::mine, field) == offsetof(theirs, other), #mine "." #field)
#define SIZED(mine, theirs) static_assert(sizeof(ours::mine) == sizeof(theirs), #mine)

SIZED(Dim3, dim3);
SIZED(Location, cudaMemLocation);
SAME(Location, id, cudaMemLocation, id);
SIZED(Location, CUmemLocation);
SIZED(PitchedPointer, cudaPitchedPtr);
SAME(PitchedPointer, pitch, cudaPitchedPtr, pitch);
SAME(PitchedPointer, width, cudaPitchedPtr, xsize);
SAME(PitchedPointer, height, cudaPitchedPtr, ysize);
SIZED(Extent, cudaExtent);
SIZED(Position, cudaPos);

SIZED(Copy3D, cudaMemcpy3DParms);
SAME(Copy3D, source_array, cudaMemcpy3DParms, srcArray);
SAME(Copy3D, source_position, cudaMemcpy3DParms, srcPos);
SAME(Copy3D, source, cudaMemcpy3DParms, srcPtr);
SAME(Copy3D, target_array, cudaMemcpy3DParms, dstArray);
SAME(Copy3D, target_position, cudaMemcpy3DParms, dstPos);
SAME(Copy3D, target, cudaMemcpy3DParms, dstPtr);
SAME(Copy3D, extent, cudaMemcpy3DParms, extent);
SAME(Copy3D, kind, cudaMemcpy3DParms, kind);

SIZED(DriverCopy2D, CUDA_MEMCPY2D);
SAME(DriverCopy2D, source.y, CUDA_MEMCPY2D, srcY);
SAME(DriverCopy2D, source.kind, CUDA_MEMCPY2D, srcMemoryType);
SAME(DriverCopy2D, source.host, CUDA_MEMCPY2D, srcHost);
SAME(DriverCopy2D, source.device, CUDA_MEMCPY2D, srcDevice);
SAME(DriverCopy2D, source.array, CUDA_MEMCPY2D, srcArray);
SAME(DriverCopy2D, source.pitch, CUDA_MEMCPY2D, srcPitch);
SAME(DriverCopy2D, target.x_bytes, CUDA_MEMCPY2D, dstXInBytes);
SAME(DriverCopy2D, target.pitch, CUDA_MEMCPY2D, dstPitch);
SAME(DriverCopy2D, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
SAME(DriverCopy2D, height, CUDA_MEMCPY2D, Height);

SIZED(DriverCopy3D, CUDA_MEMCPY3D);
SAME(DriverCopy3D, source.z, CUDA_MEMCPY3D, srcZ);
SAME(DriverCopy3D, source.level, CUDA_MEMCPY3D, srcLOD);
SAME(DriverCopy3D, source.kind, CUDA_MEMCPY3D, srcMemoryType);
SAME(DriverCopy3D, source.host, CUDA_MEMCPY3D, srcHost);
SAME(DriverCopy3D, source.device, CUDA_MEMCPY3D, srcDevice);
SAME(DriverCopy3D, source.array, CUDA_MEMCPY3D, srcArray);
SAME(DriverCopy3D, source.pitch, CUDA_MEMCPY3D, srcPitch);
SAME(DriverCopy3D, source.height, CUDA_MEMCPY3D, srcHeight);
SAME(DriverCopy3D, target.x_bytes, CUDA_MEMCPY3D, dstXInBytes);
SAME(DriverCopy3D, target.height, CUDA_MEMCPY3D, dstHeight);
SAME(DriverCopy3D, width_bytes, CUDA_MEMCPY3D, WidthInBytes);
SAME(DriverCopy3D, depth, CUDA_MEMCPY3D, Depth);

SIZED(ArrayDescriptor, CUDA_ARRAY3D_DESCRIPTOR);
SAME(ArrayDescriptor, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME(ArrayDescriptor, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
SAME(ArrayDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);

SIZED(LaunchConfig, cudaLaunchConfig_t);
SAME(LaunchConfig, shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
SAME(LaunchConfig, stream, cudaLaunchConfig_t, stream);
SAME(LaunchConfig, attributes, cudaLaunchConfig_t, attrs);
SAME(LaunchConfig, attribute_count, cudaLaunchConfig_t, numAttrs);
SIZED(DriverLaunchConfig, CUlaunchConfig);
SAME(DriverLaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME(DriverLaunchConfig, stream, CUlaunchConfig, hStream);
SAME(DriverLaunchConfig, attributes, CUlaunchConfig, attrs);
SAME(DriverLaunchConfig, attribute_count, CUlaunchConfig, numAttrs);
static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));

SIZED(FunctionAttributes, cudaFuncAttributes);
SAME(FunctionAttributes, local_bytes, cudaFuncAttributes, localSizeBytes);
SAME(FunctionAttributes, values[0], cudaFuncAttributes, maxThreadsPerBlock);
SAME(FunctionAttributes, values[4], cudaFuncAttributes, cacheModeCA);
SAME(FunctionAttributes, values[5], cudaFuncAttributes, maxDynamicSharedSizeBytes);
SAME(FunctionAttributes, values[7], cudaFuncAttributes, clusterDimMustBeSet);
SAME(FunctionAttributes, values[11], cudaFuncAttributes, clusterSchedulingPolicyPreference);
SAME(FunctionAttributes, values[12], cudaFuncAttributes, nonPortableClusterSizeAllowed);

SIZED(PointerAttributes, cudaPointerAttributes);
SAME(PointerAttributes, device, cudaPointerAttributes, device);
SAME(PointerAttributes, device_pointer, cudaPointerAttributes, devicePointer);
SAME(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);

SIZED(KernelNode, cudaKernelNodeParams);
SAME(KernelNode, shared_bytes, cudaKernelNodeParams, sharedMemBytes);
SAME(KernelNode, parameters, cudaKernelNodeParams, kernelParams);
SAME(KernelNode, extra, cudaKernelNodeParams, extra);
SIZED(DriverKernelNode, CUDA_KERNEL_NODE_PARAMS);
SAME(DriverKernelNode, node.shared_bytes, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
SAME(DriverKernelNode, kernel, CUDA_KERNEL_NODE_PARAMS, kern);
SAME(DriverKernelNode, context, CUDA_KERNEL_NODE_PARAMS, ctx);
SIZED(FillNode, cudaMemsetParams);
SIZED(FillNode, CUDA_MEMSET_NODE_PARAMS);
SAME(FillNode, element_bytes, cudaMemsetParams, elementSize);
SAME(FillNode, width, CUDA_MEMSET_NODE_PARAMS, width);
SIZED(NodeParameters, cudaGraphNodeParams);
SIZED(NodeParameters, CUgraphNodeParams);
SAME(NodeParameters, body, cudaGraphNodeParams, kernel);
SIZED(UpdateResult, cudaGraphExecUpdateResultInfo);
SIZED(UpdateResult, CUgraphExecUpdateResultInfo);
static_assert(sizeof(cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS));
static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
static_assert(offsetof(CUDA_MEMCPY_NODE_PARAMS, copyCtx) == 8 && offsetof(CUDA_MEMCPY_NODE_PARAMS, copyParams) == 16);
static_assert(offsetof(CUDA_MEMSET_NODE_PARAMS_v2, ctx) == sizeof(ours::FillNode));

static_assert((int)ours::KERNEL_NODE == cudaGraphNodeTypeKernel && (int)ours::COPY_NODE == cudaGraphNodeTypeMemcpy);
static_assert((int)ours::FILL_NODE == cudaGraphNodeTypeMemset);
static_assert((int)ours::UNIFIED_MEMORY == CU_MEMORYTYPE_UNIFIED && (int)ours::ARRAY_MEMORY == CU_MEMORYTYPE_ARRAY);
static_assert((int)ours::BY_ADDRESS == cudaMemcpyDefault && (int)ours::DEVICE_TO_HOST == cudaMemcpyDeviceToHost);
static_assert(ours::ON_DEVICE == cudaMemLocationTypeDevice && ours::ON_HOST == cudaMemLocationTypeHost);
static_assert(ours::ILLEGAL_ADDRESS == cudaErrorIllegalAddress && ours::ILLEGAL_ADDRESS == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(ours::NO_CONTEXT == CUDA_ERROR_INVALID_CONTEXT && ours::SYMBOL_NOT_FOUND == CUDA_ERROR_NOT_FOUND);
static_assert(ours::NOT_SUPPORTED == cudaErrorNotSupported && ours::INVALID_SYMBOL == cudaErrorInvalidSymbol);

#define PROPERTY(field) SAME(DeviceProperties, field, cudaDeviceProp, field)
SIZED(DeviceProperties, cudaDeviceProp);
PROPERTY(name);
PROPERTY(uuid);
PROPERTY(luid);
PROPERTY(luidDeviceNodeMask);
PROPERTY(totalGlobalMem);
PROPERTY(sharedMemPerBlock);
PROPERTY(regsPerBlock);
PROPERTY(warpSize);
PROPERTY(memPitch);
PROPERTY(maxThreadsPerBlock);
PROPERTY(maxThreadsDim);
PROPERTY(maxGridSize);
PROPERTY(totalConstMem);
PROPERTY(major);
PROPERTY(minor);
PROPERTY(textureAlignment);
PROPERTY(texturePitchAlignment);
PROPERTY(multiProcessorCount);
PROPERTY(integrated);
PROPERTY(canMapHostMemory);
PROPERTY(maxTexture1D);
PROPERTY(maxTexture1DMipmap);
PROPERTY(maxTexture2D);
PROPERTY(maxTexture2DMipmap);
PROPERTY(maxTexture2DLinear);
PROPERTY(maxTexture2DGather);
PROPERTY(maxTexture3D);
PROPERTY(maxTexture3DAlt);
PROPERTY(maxTextureCubemap);
PROPERTY(maxTexture1DLayered);
PROPERTY(maxTexture2DLayered);
PROPERTY(maxTextureCubemapLayered);
PROPERTY(maxSurface1D);
PROPERTY(maxSurface2D);
PROPERTY(maxSurface3D);
PROPERTY(maxSurface1DLayered);
PROPERTY(maxSurface2DLayered);
PROPERTY(maxSurfaceCubemap);
PROPERTY(maxSurfaceCubemapLayered);
PROPERTY(surfaceAlignment);
PROPERTY(concurrentKernels);
PROPERTY(ECCEnabled);
PROPERTY(pciBusID);
PROPERTY(pciDeviceID);
PROPERTY(pciDomainID);
PROPERTY(tccDriver);
PROPERTY(asyncEngineCount);
PROPERTY(unifiedAddressing);
PROPERTY(memoryBusWidth);
PROPERTY(l2CacheSize);
PROPERTY(persistingL2CacheMaxSize);
PROPERTY(maxThreadsPerMultiProcessor);
PROPERTY(streamPrioritiesSupported);
PROPERTY(globalL1CacheSupported);
PROPERTY(localL1CacheSupported);
PROPERTY(sharedMemPerMultiprocessor);
PROPERTY(regsPerMultiprocessor);
PROPERTY(managedMemory);
PROPERTY(isMultiGpuBoard);
PROPERTY(multiGpuBoardGroupID);
PROPERTY(hostNativeAtomicSupported);
PROPERTY(pageableMemoryAccess);
PROPERTY(concurrentManagedAccess);
PROPERTY(computePreemptionSupported);
PROPERTY(canUseHostPointerForRegisteredMem);
PROPERTY(cooperativeLaunch);
PROPERTY(sharedMemPerBlockOptin);
PROPERTY(pageableMemoryAccessUsesHostPageTables);
PROPERTY(directManagedMemAccessFromHost);
PROPERTY(maxBlocksPerMultiProcessor);
PROPERTY(accessPolicyMaxWindowSize);
PROPERTY(reservedSharedMemPerBlock);
PROPERTY(hostRegisterSupported);
PROPERTY(sparseCudaArraySupported);
PROPERTY(hostRegisterReadOnlySupported);
PROPERTY(timelineSemaphoreInteropSupported);
PROPERTY(memoryPoolsSupported);
PROPERTY(gpuDirectRDMASupported);
PROPERTY(gpuDirectRDMAFlushWritesOptions);
PROPERTY(gpuDirectRDMAWritesOrdering);
PROPERTY(memoryPoolSupportedHandleTypes);
PROPERTY(deferredMappingCudaArraySupported);
PROPERTY(ipcEventSupported);
PROPERTY(clusterLaunch);
PROPERTY(unifiedFunctionPointers);
PROPERTY(deviceNumaConfig);
PROPERTY(deviceNumaId);
PROPERTY(mpsEnabled);
PROPERTY(hostNumaId);
PROPERTY(gpuPciDeviceID);
PROPERTY(gpuPciSubsystemID);
PROPERTY(hostNumaMultinodeIpcSupported);
PROPERTY(reserved);
