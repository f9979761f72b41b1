// Memory of graphs: nodes that allocate and free, allocation in captured streams, launches again, what is refused.
#include "check.h"

__global__ void fill(int *p, int n, int x) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = x + i;
}
__global__ void sum(const int *p, int n, int *o) {
  int s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += p[i];
  atomicAdd(o, s);
}

static unsigned long long used(cudaGraphMemAttributeType which) {
  unsigned long long bytes = 0;
  CUDA(cudaDeviceGetGraphMemAttribute(0, which, &bytes));
  return bytes;
}

static void captured(cudaStream_t stream, int *o) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int *p, *q;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaMallocAsync(&p, 4000, stream));
  CUDA(cudaMallocAsync(&q, 4000, stream));
  CHECK(p != q);
  fill<<<1, 64, 0, stream>>>(p, 1000, 1);
  CUDA(cudaMemcpyAsync(q, p, 4000, cudaMemcpyDeviceToDevice, stream));
  CUDA(cudaFreeAsync(p, stream));
  sum<<<1, 64, 0, stream>>>(q, 1000, o);
  CUDA(cudaFreeAsync(q, stream));
  CUDA(cudaStreamEndCapture(stream, &graph));
  size_t count = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 7);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  *o = 0;
  for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(*o == 3 * 500500);
  CHECK(used(cudaGraphMemAttrUsedMemCurrent) == 0);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaDeviceGraphMemTrim(0));
  CHECK(used(cudaGraphMemAttrReservedMemCurrent) == 0);
}

static void built(cudaStream_t stream, int *o) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t allocation, kernel, free_node;
  cudaMemAllocNodeParams params = {};
  params.bytesize = 400;
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params));
  int *p = (int *)params.dptr, n = 100, x = 5;
  void *arguments[] = {&p, &n, &x};
  cudaKernelNodeParams launch = {};
  launch.func = (void *)fill, launch.gridDim = 1, launch.blockDim = 32, launch.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&kernel, graph, &allocation, 1, &launch));
  cudaMemAllocNodeParams read = {};
  CUDA(cudaGraphMemAllocNodeGetParams(allocation, &read));
  CHECK(read.dptr == p && read.bytesize == 400);
  cudaGraphNodeType type;
  CUDA(cudaGraphNodeGetType(allocation, &type));
  CHECK(type == cudaGraphNodeTypeMemAlloc);
  // What the graph does not free, the program does.
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; i++) {
    CUDA(cudaGraphLaunch(exec, stream));
    *o = 0;
    sum<<<1, 32, 0, stream>>>(p, 100, o);
    CUDA(cudaStreamSynchronize(stream));
    CHECK(*o == 500 + 4950);
    if (i == 0) FAILS(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);
    if (i == 0) CUDA(cudaFreeAsync(p, stream));
    else CUDA(cudaFree(p));
  }
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaFree(p));
  CUDA(cudaGraphExecDestroy(exec));
  // A node of the graph frees it.
  cudaGraphNodeParams any = {};
  any.type = cudaGraphNodeTypeMemFree;
  any.free.dptr = p;
  CUDA(cudaGraphAddNode(&free_node, graph, &kernel, nullptr, 1, &any));
  void *address;
  CUDA(cudaGraphMemFreeNodeGetParams(free_node, &address));
  CHECK(address == p);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  FAILS(cudaFree(p), cudaErrorInvalidValue);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  cudaGetLastError();
}

static void refused(cudaStream_t stream, int *o) {
  cudaGraph_t graph;
  int *p, host;
  auto lost = [&] {
    FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  };
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  FAILS(cudaMalloc(&p, 4), cudaErrorStreamCaptureUnsupported);
  lost();
  FAILS(cudaFree(o), cudaErrorStreamCaptureUnsupported);
  lost();
  FAILS(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  lost();
  fill<<<1, 32>>>(o, 1, 1);
  FAILS(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  lost();
  FAILS(cudaMemcpy(&host, o, 4, cudaMemcpyDeviceToHost), cudaErrorStreamCaptureImplicit);
  lost();
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CUDA(cudaMalloc(&p, 400));
  fill<<<1, 32, 0, stream>>>(p, 100, 0);
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphDestroy(graph));
  cudaStream_t apart;
  CUDA(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  CUDA(cudaStreamBeginCapture(apart, cudaStreamCaptureModeRelaxed));
  fill<<<1, 32>>>(p, 100, 7);
  CUDA(cudaStreamEndCapture(apart, &graph));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
  CHECK(host == 7);
  CUDA(cudaFree(p));
}

int main() {
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  int *o;
  CUDA(cudaMallocHost(&o, 4));
  captured(stream, o);
  built(stream, o);
  refused(stream, o);
  return verdict();
}
