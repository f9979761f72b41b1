// Declarations of the CUDA driver API that the programs of these tests call, so that they need no toolkit.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef void *handle;
typedef u64 address;
typedef u32 result;

result cuInit(u32), cuDriverGetVersion(int *), cuDeviceGet(int *, int), cuDeviceGetCount(int *);
result cuDeviceGetAttribute(int *, u32, int), cuDeviceGetName(char *, int, int);
result cuDevicePrimaryCtxRetain(handle *, int), cuDevicePrimaryCtxRelease_v2(int), cuDevicePrimaryCtxReset_v2(int);
result cuCtxCreate_v2(handle *, u32, int), cuCtxDestroy_v2(handle), cuCtxSetCurrent(handle), cuCtxGetCurrent(handle *);
result cuCtxPushCurrent_v2(handle), cuCtxPopCurrent_v2(handle *), cuCtxSynchronize(void), cuCtxGetDevice(int *);
result cuGetErrorName(result, const char **);
result cuModuleLoadData(handle *, const void *), cuModuleLoad(handle *, const char *), cuModuleUnload(handle);
result cuModuleLoadDataEx(handle *, const void *, u32, u32 *, void **);
result cuModuleGetFunction(handle *, handle, const char *);
result cuModuleGetGlobal_v2(address *, size_t *, handle, const char *);
result cuLibraryLoadData(handle *, const void *, u32 *, void **, u32, u32 *, void **, u32), cuLibraryUnload(handle);
result cuLibraryGetKernel(handle *, handle, const char *), cuKernelGetFunction(handle *, handle);
result cuLibraryGetKernelCount(u32 *, handle), cuFuncGetName(const char **, handle);
result cuFuncGetAttribute(int *, u32, handle), cuFuncSetAttribute(handle, u32, int);
result cuFuncGetParamInfo(handle, size_t, size_t *, size_t *);
result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, handle, int, size_t);
result cuOccupancyMaxPotentialBlockSize(int *, int *, handle, size_t (*)(int), size_t, int);
result cuLinkCreate_v2(u32, u32 *, void **, handle *), cuLinkComplete(handle, void **, size_t *), cuLinkDestroy(handle);
result cuLinkAddData_v2(handle, u32, void *, size_t, const char *, u32, u32 *, void **);
result cuMemAlloc_v2(address *, size_t), cuMemFree_v2(address), cuMemHostAlloc(void **, size_t, u32);
result cuMemFreeHost(void *), cuMemAllocManaged(address *, size_t, u32), cuMemGetInfo_v2(size_t *, size_t *);
result cuMemAllocPitch_v2(address *, size_t *, size_t, size_t, u32);
result cuMemAllocAsync(address *, size_t, handle), cuMemFreeAsync(address, handle);
result cuDeviceGetDefaultMemPool(handle *, int), cuMemPoolGetAttribute(handle, u32, void *);
result cuMemGetAddressRange_v2(address *, size_t *, address), cuPointerGetAttribute(void *, u32, address);
result cuMemcpyHtoD_v2(address, const void *, size_t), cuMemcpyDtoH_v2(void *, address, size_t);
result cuMemcpyDtoD_v2(address, address, size_t), cuMemcpy(address, address, size_t);
result cuMemcpyHtoDAsync_v2(address, const void *, size_t, handle), cuMemcpyDtoHAsync_v2(void *, address, size_t, handle);
result cuMemcpy2D_v2(const void *), cuMemcpy3D_v2(const void *);
result cuMemsetD8_v2(address, unsigned char, size_t), cuMemsetD32_v2(address, u32, size_t);
result cuMemsetD16_v2(address, unsigned short, size_t), cuMemsetD2D32_v2(address, size_t, u32, size_t, size_t);
result cuMemsetD32Async(address, u32, size_t, handle);
result cuStreamCreate(handle *, u32), cuStreamDestroy_v2(handle), cuStreamSynchronize(handle), cuStreamQuery(handle);
result cuStreamWaitEvent(handle, handle, u32), cuLaunchHostFunc(handle, void (*)(void *), void *);
result cuEventCreate(handle *, u32), cuEventRecord(handle, handle), cuEventSynchronize(handle), cuEventQuery(handle);
result cuEventElapsedTime_v2(float *, handle, handle), cuEventDestroy_v2(handle);
result cuStreamBeginCapture_v2(handle, u32), cuStreamEndCapture(handle, handle *), cuStreamIsCapturing(handle, u32 *);
result cuGraphInstantiateWithFlags(handle *, handle, u64), cuGraphLaunch(handle, handle), cuGraphExecDestroy(handle);
result cuGraphCreate(handle *, u32), cuGraphDestroy(handle), cuGraphGetNodes(handle, handle *, size_t *);
result cuGraphGetEdges(handle, handle *, handle *, size_t *), cuGraphNodeGetType(handle, u32 *);
result cuGraphAddKernelNode_v2(handle *, handle, const handle *, size_t, const void *);
result cuGraphAddMemsetNode(handle *, handle, const handle *, size_t, const void *, handle);
result cuGraphAddHostNode(handle *, handle, const handle *, size_t, const void *);
result cuGraphAddChildGraphNode(handle *, handle, const handle *, size_t, handle);
result cuGraphExecKernelNodeSetParams_v2(handle, handle, const void *), cuGraphExecUpdate_v2(handle, handle, void *);
result cuGraphAddDependencies(handle, const handle *, const handle *, size_t);
result cuLaunchKernel(handle, u32, u32, u32, u32, u32, u32, u32, handle, void **, void **);
result cuLaunchCooperativeKernel(handle, u32, u32, u32, u32, u32, u32, u32, handle, void **);
result cuLaunchKernelEx(const void *, handle, void **, void **);
result cuGetProcAddress_v2(const char *, void **, int, u64, u32 *), cuGetExportTable(const void **, const void *);
result cuMemHostRegister_v2(void *, size_t, u32), cuMemHostUnregister(void *);
result cuMemHostGetDevicePointer_v2(address *, void *, u32), cuGraphNodeSetEnabled(handle, handle, u32);
result cuGraphAddNode_v2(handle *, handle, const handle *, const void *, size_t, const void *);
result cuUserObjectCreate(handle *, void *, void (*)(void *), u32, u32), cuUserObjectRelease(handle, u32);
result cuGreenCtxCreate(void *, void *, int, u32), cuArrayCreate_v2(handle *, const void *);
result cuTensorMapEncodeTiled(void *, u32, u32, void *, const u64 *, const u64 *, const u32 *, const u32 *, u32, u32,
                              u32, u32);

static result told(result code, const char *call) {
  const char *name = "?";
  if (code) cuGetErrorName(code, &name), printf("%s: %u %s\n", call, code, name), fflush(stdout);
  return code;
}
#define CHECK(call) do { if (told(call, #call)) exit(1); } while (0)
#define TELL(call) printf("%s: %u\n", #call, call)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char PTX[] =
  ".version 8.0\n.target sm_90\n.address_size 64\n"
  ".visible .global .align 4 .u32 counter = 5;\n"
  ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {\n"
  ".reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<8>;\n"
  "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r1, [n];\n"
  "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;\n"
  "setp.ge.s32 %p, %r5, %r1; @%p ret; mul.wide.s32 %rd4, %r5, 4;\n"
  "add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;\n"
  "ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6]; add.f32 %f3, %f1, %f2; st.global.f32 [%rd7], %f3; ret; }\n"
  ".visible .entry count(.param .u64 at, .param .u32 by) {\n"
  ".reg .b32 %r<4>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [by];\n"
  "ld.global.u32 %r2, [counter]; mad.lo.u32 %r3, %r1, %r2, 0; red.global.add.u32 [%rd1], %r3; ret; }\n"
  ".visible .entry fail() { trap; }\n"
  ".visible .entry spin(.param .u64 at) { .reg .b64 %rd; .reg .b32 %r; .reg .pred %p;\n"
  "ld.param.u64 %rd, [at]; L: ld.volatile.global.u32 %r, [%rd]; add.u32 %r, %r, 1; st.volatile.global.u32 [%rd], %r;\n"
  "setp.ne.u32 %p, %r, 0; @%p bra L; ret; }\n";

// The primary context of the device, current; the module of PTX.
static handle begin(void) {
  handle context, module;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, PTX));
  return module;
}
static handle function_of(handle module, const char *name) {
  handle function;
  CHECK(cuModuleGetFunction(&function, module, name));
  return function;
}
