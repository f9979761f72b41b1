// Conditional nodes of graphs: if, else, while, switch, nested, with bodies that are built and captured.
#include "check.h"

__global__ void set(cudaGraphConditionalHandle handle, unsigned *value) { cudaGraphSetConditional(handle, *value); }
__global__ void add(int *p, int by) { *p += by; }
__global__ void count_down(cudaGraphConditionalHandle handle, int *left, int *turns) {
  ++*turns;
  cudaGraphSetConditional(handle, --*left > 0);
}

static cudaGraph_t *body(cudaGraph_t graph, cudaGraphNode_t *after, cudaGraphConditionalHandle handle,
                         cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t *node) {
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = size;
  CUDA(cudaGraphAddNode(node, graph, after, nullptr, after != nullptr, &params));
  cudaGraphNodeType found;
  CUDA(cudaGraphNodeGetType(*node, &found));
  CHECK(found == cudaGraphNodeTypeConditional);
  return params.conditional.phGraph_out;
}

static void add_kernel(cudaGraph_t graph, int *p, int by) {
  cudaGraphNode_t node;
  void *arguments[] = {&p, &by};
  cudaKernelNodeParams launch = {};
  launch.func = (void *)add, launch.gridDim = 1, launch.blockDim = 1, launch.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
}

static cudaGraphNode_t setter(cudaGraph_t graph, cudaGraphConditionalHandle handle, unsigned *value) {
  cudaGraphNode_t node;
  void *arguments[] = {&handle, &value};
  cudaKernelNodeParams launch = {};
  launch.func = (void *)set, launch.gridDim = 1, launch.blockDim = 1, launch.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &launch));
  return node;
}

int main() {
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  int *o;
  unsigned *value;
  CUDA(cudaMallocHost(&o, 64));
  CUDA(cudaMallocHost(&value, 4));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphConditionalHandle handle, inner;
  cudaGraphNode_t node, first;

  // if and else
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  first = setter(graph, handle, value);
  auto bodies = body(graph, &first, handle, cudaGraphCondTypeIf, 2, &node);
  add_kernel(bodies[0], o, 1);
  add_kernel(bodies[1], o, 100);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  *o = 0;
  unsigned values[] = {1, 0, 7, 0, 0};
  for (unsigned each : values) {
    *value = each;
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
  }
  CHECK(*o == 302);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  // switch, with a value past the last body
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  first = setter(graph, handle, value);
  bodies = body(graph, &first, handle, cudaGraphCondTypeSwitch, 3, &node);
  for (int i = 0; i < 3; i++) add_kernel(bodies[i], o, i == 0 ? 1 : i == 1 ? 10 : 100);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  *o = 0;
  unsigned cases[] = {2, 0, 1, 2, 3, 99};
  for (unsigned each : cases) {
    *value = each;
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
  }
  CHECK(*o == 211);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  // while, with a default value at each launch and a captured body that has a condition itself
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraph_t loop = body(graph, nullptr, handle, cudaGraphCondTypeWhile, 1, &node)[0];
  CUDA(cudaStreamBeginCaptureToGraph(stream, loop, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  count_down<<<1, 1, 0, stream>>>(handle, o, o + 1);
  CUDA(cudaMemcpyAsync(o + 2, o + 1, 4, cudaMemcpyDefault, stream));
  CUDA(cudaStreamEndCapture(stream, nullptr));  // the graph exists
  CUDA(cudaGraphConditionalHandleCreate(&inner, loop, 1, cudaGraphCondAssignDefault));
  add_kernel(body(loop, nullptr, inner, cudaGraphCondTypeIf, 1, &node)[0], o + 3, 2);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  o[1] = o[3] = 0;
  for (int turns = 1; turns < 4; turns++) {
    o[0] = turns;
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
  }
  CHECK(o[0] == 0 && o[1] == 6 && o[2] == 6 && o[3] == 12);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  CUDA(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 2;
  CUDA(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 0, 0));
  FAILS(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params), cudaErrorInvalidValue);
  cudaGetLastError();
  CUDA(cudaGraphDestroy(graph));
  return verdict();
}
