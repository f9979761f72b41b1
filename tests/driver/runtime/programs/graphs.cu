// Graphs: captured from streams and built by hand, launched, updated, with nodes of several kinds.
#include "check.h"

__constant__ float factor;

__global__ void scale(float *p, float a) { p[threadIdx.x] *= a * factor; }
__global__ void add(float *p, float a) { p[threadIdx.x] += a; }

static void count(void *data) { ++*(int *)data; }

static void captured(float *device, float *host) {
  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamCreate(&other));
  CUDA(cudaEventCreate(&fork));
  CUDA(cudaEventCreate(&join));
  int calls = 0;
  for (int i = 0; i < 32; i++) host[i] = i;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaMemcpyAsync(device, host, 128, cudaMemcpyHostToDevice, stream));
  CUDA(cudaEventRecord(fork, stream));
  CUDA(cudaStreamWaitEvent(other, fork, 0));
  CUDA(cudaLaunchHostFunc(other, count, &calls));
  CUDA(cudaEventRecord(join, other));
  scale<<<1, 32, 0, stream>>>(device, 2);
  CUDA(cudaStreamWaitEvent(stream, join, 0));
  add<<<1, 32, 0, stream>>>(device, 1);
  CUDA(cudaMemcpyAsync(host, device, 128, cudaMemcpyDeviceToHost, stream));
  cudaStreamCaptureStatus status;
  CUDA(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  CUDA(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0, roots = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CUDA(cudaGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(nodes == 5 && roots == 1);
  CHECK(calls == 0 && host[5] == 5);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int turn = 0; turn < 3; turn++) CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(calls == 3);
  float expected = 5;
  for (int turn = 0; turn < 3; turn++) expected = expected * 4 + 1;
  CHECK(host[5] == expected);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
}

static void built(float *device, float *host) {
  cudaGraph_t graph;
  cudaGraphNode_t fill, to, kernel, from;
  cudaGraphExec_t exec;
  float a = 3;
  void *arguments[] = {&device, &a};
  CUDA(cudaGraphCreate(&graph, 0));
  cudaMemsetParams zeros = {};
  zeros.dst = device;
  zeros.elementSize = 4;
  zeros.width = 32;
  zeros.height = 1;
  CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zeros));
  for (int i = 0; i < 32; i++) host[i] = i;
  CUDA(cudaGraphAddMemcpyNode1D(&to, graph, &fill, 1, device, host, 64, cudaMemcpyHostToDevice));
  cudaKernelNodeParams parameters = {};
  parameters.func = (void *)add;
  parameters.gridDim = 1;
  parameters.blockDim = 32;
  parameters.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&kernel, graph, &to, 1, &parameters));
  CUDA(cudaGraphAddMemcpyNode1D(&from, graph, &kernel, 1, host, device, 128, cudaMemcpyDeviceToHost));
  cudaGraphNodeType type;
  CUDA(cudaGraphNodeGetType(kernel, &type));
  CHECK(type == cudaGraphNodeTypeKernel);
  cudaKernelNodeParams read = {};
  CUDA(cudaGraphKernelNodeGetParams(kernel, &read));
  CHECK(read.func == (void *)add && read.blockDim.x == 32 && *(float *)read.kernelParams[1] == 3);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaGraphLaunch(exec, 0));
  CUDA(cudaStreamSynchronize(0));
  for (int i = 0; i < 32; i++) CHECK(host[i] == (i < 16 ? i : 0) + 3);

  a = 10;
  CUDA(cudaGraphExecKernelNodeSetParams(exec, kernel, &parameters));
  CUDA(cudaGraphLaunch(exec, 0));
  CUDA(cudaStreamSynchronize(0));
  for (int i = 0; i < 32; i++) CHECK(host[i] == (i < 16 ? i + 3 : 0) + 10);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
}

int main() {
  float *device, host[32], two = 2;
  CUDA(cudaMemcpyToSymbol(factor, &two, 4));
  CUDA(cudaMalloc(&device, 128));
  captured(device, host);
  built(device, host);
  return verdict();
}
