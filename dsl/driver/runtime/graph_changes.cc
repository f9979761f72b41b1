// New parameters for nodes of a graph, and for those of an executable graph.
#include "graph_nodes.h"
#include "registration.h"

DRIVER(cuGraphKernelNodeSetParams_v2, Node, const DriverKernelNode *)
DRIVER(cuGraphMemcpyNodeSetParams, Node, const DriverCopy3D *)
DRIVER(cuGraphMemsetNodeSetParams, Node, const FillNode *)
DRIVER(cuGraphHostNodeSetParams, Node, const void *)
DRIVER(cuGraphEventRecordNodeSetEvent, Node, Event)
DRIVER(cuGraphEventWaitNodeSetEvent, Node, Event)
DRIVER(cuGraphExecKernelNodeSetParams_v2, GraphExec, Node, const DriverKernelNode *)
DRIVER(cuGraphExecMemcpyNodeSetParams, GraphExec, Node, const DriverCopy3D *, Context)
DRIVER(cuGraphExecMemsetNodeSetParams, GraphExec, Node, const FillNode *, Context)
DRIVER(cuGraphExecHostNodeSetParams, GraphExec, Node, const void *)
DRIVER(cuGraphExecChildGraphNodeSetParams, GraphExec, Node, Graph)
DRIVER(cuGraphExecEventRecordNodeSetEvent, GraphExec, Node, Event)
DRIVER(cuGraphExecEventWaitNodeSetEvent, GraphExec, Node, Event)

namespace {

// Gives a node the copy: one of an executable graph, unless `exec` is null.
Error set_copy(GraphExec exec, Node node, const Copy3D &copy) {
  DriverCopy3D converted = {};
  Context context = nullptr;
  if (Error error = convert_copy(copy, &converted)) return error;
  if (!exec) return driver::cuGraphMemcpyNodeSetParams(node, &converted);
  if (Error error = current_context(&context)) return error;
  return driver::cuGraphExecMemcpyNodeSetParams(exec, node, &converted, context);
}

Error set_copy_to(GraphExec exec, Node node, const void *variable, const void *source, size_t bytes, size_t offset,
                  CopyKind kind) {
  void *target = nullptr;
  if (Error error = part_of(variable, offset, bytes, &target)) return error;
  return set_copy(exec, node, linear_copy(target, source, bytes, kind));
}

Error set_copy_from(GraphExec exec, Node node, void *target, const void *variable, size_t bytes, size_t offset,
                    CopyKind kind) {
  void *source = nullptr;
  if (Error error = part_of(variable, offset, bytes, &source)) return error;
  return set_copy(exec, node, linear_copy(target, source, bytes, kind));
}

}  // namespace

API Error cudaGraphKernelNodeSetParams(Node node, const KernelNode *kernel) {
  return call([&] {
    DriverKernelNode converted = {};
    Error error = convert_kernel_node(kernel, &converted);
    return error ? error : driver::cuGraphKernelNodeSetParams_v2(node, &converted);
  });
}

API Error cudaGraphMemcpyNodeSetParams(Node node, const Copy3D *copy) {
  return call([&] { return copy ? set_copy(nullptr, node, *copy) : INVALID_VALUE; });
}

API Error cudaGraphMemcpyNodeSetParams1D(Node node, void *target, const void *source, size_t bytes, CopyKind kind) {
  return call([&] { return set_copy(nullptr, node, linear_copy(target, source, bytes, kind)); });
}

API Error cudaGraphMemcpyNodeSetParamsToSymbol(Node node, const void *variable, const void *source, size_t bytes,
                                               size_t offset, CopyKind kind) {
  return call([&] { return set_copy_to(nullptr, node, variable, source, bytes, offset, kind); });
}

API Error cudaGraphMemcpyNodeSetParamsFromSymbol(Node node, void *target, const void *variable, size_t bytes,
                                                 size_t offset, CopyKind kind) {
  return call([&] { return set_copy_from(nullptr, node, target, variable, bytes, offset, kind); });
}

API Error cudaGraphMemsetNodeSetParams(Node node, const FillNode *fill) {
  return call([&] { return driver::cuGraphMemsetNodeSetParams(node, fill); });
}

API Error cudaGraphHostNodeSetParams(Node node, const void *host) {
  return call([&] { return driver::cuGraphHostNodeSetParams(node, host); });
}

API Error cudaGraphEventRecordNodeSetEvent(Node node, Event event) {
  return call([&] { return driver::cuGraphEventRecordNodeSetEvent(node, event); });
}

API Error cudaGraphEventWaitNodeSetEvent(Node node, Event event) {
  return call([&] { return driver::cuGraphEventWaitNodeSetEvent(node, event); });
}

// ** nodes of an executable graph

API Error cudaGraphExecKernelNodeSetParams(GraphExec exec, Node node, const KernelNode *kernel) {
  return call([&] {
    DriverKernelNode converted = {};
    Error error = convert_kernel_node(kernel, &converted);
    return error ? error : driver::cuGraphExecKernelNodeSetParams_v2(exec, node, &converted);
  });
}

API Error cudaGraphExecMemcpyNodeSetParams(GraphExec exec, Node node, const Copy3D *copy) {
  return call([&] { return copy ? set_copy(exec, node, *copy) : INVALID_VALUE; });
}

API Error cudaGraphExecMemcpyNodeSetParams1D(GraphExec exec, Node node, void *target, const void *source, size_t bytes,
                                             CopyKind kind) {
  return call([&] { return set_copy(exec, node, linear_copy(target, source, bytes, kind)); });
}

API Error cudaGraphExecMemcpyNodeSetParamsToSymbol(GraphExec exec, Node node, const void *variable, const void *source,
                                                   size_t bytes, size_t offset, CopyKind kind) {
  return call([&] { return set_copy_to(exec, node, variable, source, bytes, offset, kind); });
}

API Error cudaGraphExecMemcpyNodeSetParamsFromSymbol(GraphExec exec, Node node, void *target, const void *variable,
                                                     size_t bytes, size_t offset, CopyKind kind) {
  return call([&] { return set_copy_from(exec, node, target, variable, bytes, offset, kind); });
}

API Error cudaGraphExecMemsetNodeSetParams(GraphExec exec, Node node, const FillNode *fill) {
  return call([&] {
    Context context = nullptr;
    Error error = current_context(&context);
    return error ? error : driver::cuGraphExecMemsetNodeSetParams(exec, node, fill, context);
  });
}

API Error cudaGraphExecHostNodeSetParams(GraphExec exec, Node node, const void *host) {
  return call([&] { return driver::cuGraphExecHostNodeSetParams(exec, node, host); });
}

API Error cudaGraphExecChildGraphNodeSetParams(GraphExec exec, Node node, Graph child) {
  return call([&] { return driver::cuGraphExecChildGraphNodeSetParams(exec, node, child); });
}

API Error cudaGraphExecEventRecordNodeSetEvent(GraphExec exec, Node node, Event event) {
  return call([&] { return driver::cuGraphExecEventRecordNodeSetEvent(exec, node, event); });
}

API Error cudaGraphExecEventWaitNodeSetEvent(GraphExec exec, Node node, Event event) {
  return call([&] { return driver::cuGraphExecEventWaitNodeSetEvent(exec, node, event); });
}
