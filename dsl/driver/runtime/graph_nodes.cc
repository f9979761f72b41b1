// Nodes of graphs: what cudaGraphAdd...Node makes, and what a node's parameters are.
#include "graph_nodes.h"

#include <string.h>

#include "registration.h"

DRIVER(cuCtxGetCurrent, Context *)
DRIVER(cuGraphAddKernelNode_v2, Node *, Graph, const Node *, size_t, const DriverKernelNode *)
DRIVER(cuGraphAddMemcpyNode, Node *, Graph, const Node *, size_t, const DriverCopy3D *, Context)
DRIVER(cuGraphAddMemsetNode, Node *, Graph, const Node *, size_t, const FillNode *, Context)
DRIVER(cuGraphAddHostNode, Node *, Graph, const Node *, size_t, const void *)
DRIVER(cuGraphAddChildGraphNode, Node *, Graph, const Node *, size_t, Graph)
DRIVER(cuGraphAddEmptyNode, Node *, Graph, const Node *, size_t)
DRIVER(cuGraphAddEventRecordNode, Node *, Graph, const Node *, size_t, Event)
DRIVER(cuGraphAddEventWaitNode, Node *, Graph, const Node *, size_t, Event)
DRIVER(cuGraphAddMemAllocNode, Node *, Graph, const Node *, size_t, void *)
DRIVER(cuGraphAddMemFreeNode, Node *, Graph, const Node *, size_t, Address)
DRIVER(cuGraphConditionalHandleCreate, Address *, Graph, Context, u32, u32)
DRIVER(cuGraphAddNode_v2, Node *, Graph, const Node *, const void *, size_t, NodeParameters *)
DRIVER(cuGraphNodeSetParams, Node, NodeParameters *)
DRIVER(cuGraphExecNodeSetParams, GraphExec, Node, NodeParameters *)
DRIVER(cuGraphKernelNodeGetParams_v2, Node, DriverKernelNode *)
DRIVER(cuGraphMemcpyNodeGetParams, Node, DriverCopy3D *)
DRIVER(cuGraphMemsetNodeGetParams, Node, FillNode *)
DRIVER(cuGraphHostNodeGetParams, Node, void *)
DRIVER(cuGraphChildGraphNodeGetGraph, Node, Graph *)
DRIVER(cuGraphEventRecordNodeGetEvent, Node, Event *)
DRIVER(cuGraphEventWaitNodeGetEvent, Node, Event *)
DRIVER(cuGraphMemAllocNodeGetParams, Node, void *)
DRIVER(cuGraphMemFreeNodeGetParams, Node, Address *)
DRIVER(cuGraphKernelNodeGetAttribute, Node, Attribute, void *)
DRIVER(cuGraphKernelNodeSetAttribute, Node, Attribute, const void *)
DRIVER(cuGraphKernelNodeCopyAttributes, Node, Node)

Error current_context(Context *context) {
  Error error = ready();
  return error ? error : driver::cuCtxGetCurrent(context);
}

Error convert_kernel_node(const KernelNode *node, DriverKernelNode *converted) {
  if (!node) return INVALID_VALUE;
  *converted = {.node = *node, .kernel = nullptr, .context = nullptr};
  converted->node.function = nullptr;  // the driver takes `kernel` then
  return kernel_of(node->function, &converted->kernel);
}

namespace {

Error add_copy(Node *node, Graph graph, const Node *after, size_t count, const Copy3D &copy) {
  DriverCopy3D converted = {};
  Context context = nullptr;
  if (Error error = convert_copy(copy, &converted)) return error;
  if (Error error = current_context(&context)) return error;
  return driver::cuGraphAddMemcpyNode(node, graph, after, count, &converted, context);
}

// The body of cudaMemcpyNodeParams and of the driver's structure: flags, the context in the driver's, the copy.
struct CopyBody {
  int flags, reserved[3];
  Copy3D copy;
};
struct DriverCopyBody {
  int flags, reserved;
  Context context = nullptr;
  DriverCopy3D copy;
};

// Parameters of any kind of node; those that neither have a kernel nor a copy are the same in both interfaces.
Error convert_parameters(const NodeParameters &from, NodeParameters *to) {
  *to = from;
  Context context = nullptr;
  if (Error error = current_context(&context)) return error;
  if (from.type == KERNEL_NODE) {
    DriverKernelNode kernel = {};
    if (Error error = convert_kernel_node((const KernelNode *)from.body, &kernel)) return error;
    memcpy(to->body, &kernel, sizeof kernel);
  } else if (from.type == COPY_NODE) {
    auto body = (const CopyBody *)from.body;
    DriverCopyBody converted = {.flags = body->flags, .reserved = 0, .context = context, .copy = {}};
    if (Error error = convert_copy(body->copy, &converted.copy)) return error;
    memset(to->body, 0, sizeof to->body);
    memcpy(to->body, &converted, sizeof converted);
  } else if (from.type == FILL_NODE) {
    *(Context *)((char *)to->body + sizeof(FillNode)) = context;
  }
  return SUCCESS;
}

}  // namespace

API Error cudaGraphAddKernelNode(Node *node, Graph graph, const Node *after, size_t count, const KernelNode *kernel) {
  return call([&] {
    DriverKernelNode converted = {};
    Error error = convert_kernel_node(kernel, &converted);
    return error ? error : driver::cuGraphAddKernelNode_v2(node, graph, after, count, &converted);
  });
}

API Error cudaGraphAddMemcpyNode(Node *node, Graph graph, const Node *after, size_t count, const Copy3D *copy) {
  return call([&] { return copy ? add_copy(node, graph, after, count, *copy) : INVALID_VALUE; });
}

API Error cudaGraphAddMemcpyNode1D(Node *node, Graph graph, const Node *after, size_t count, void *target,
                                   const void *source, size_t bytes, CopyKind kind) {
  return call([&] { return add_copy(node, graph, after, count, linear_copy(target, source, bytes, kind)); });
}

API Error cudaGraphAddMemcpyNodeToSymbol(Node *node, Graph graph, const Node *after, size_t count, const void *variable,
                                         const void *source, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] {
    void *target = nullptr;
    if (Error error = part_of(variable, offset, bytes, &target)) return error;
    return add_copy(node, graph, after, count, linear_copy(target, source, bytes, kind));
  });
}

API Error cudaGraphAddMemcpyNodeFromSymbol(Node *node, Graph graph, const Node *after, size_t count, void *target,
                                           const void *variable, size_t bytes, size_t offset, CopyKind kind) {
  return call([&] {
    void *source = nullptr;
    if (Error error = part_of(variable, offset, bytes, &source)) return error;
    return add_copy(node, graph, after, count, linear_copy(target, source, bytes, kind));
  });
}

API Error cudaGraphAddMemsetNode(Node *node, Graph graph, const Node *after, size_t count, const FillNode *fill) {
  return call([&] {
    Context context = nullptr;
    Error error = current_context(&context);
    return error ? error : driver::cuGraphAddMemsetNode(node, graph, after, count, fill, context);
  });
}

API Error cudaGraphAddHostNode(Node *node, Graph graph, const Node *after, size_t count, const void *host) {
  return call([&] { return driver::cuGraphAddHostNode(node, graph, after, count, host); });
}

API Error cudaGraphAddChildGraphNode(Node *node, Graph graph, const Node *after, size_t count, Graph child) {
  return call([&] { return driver::cuGraphAddChildGraphNode(node, graph, after, count, child); });
}

API Error cudaGraphAddEmptyNode(Node *node, Graph graph, const Node *after, size_t count) {
  return call([&] { return driver::cuGraphAddEmptyNode(node, graph, after, count); });
}

API Error cudaGraphAddEventRecordNode(Node *node, Graph graph, const Node *after, size_t count, Event event) {
  return call([&] { return driver::cuGraphAddEventRecordNode(node, graph, after, count, event); });
}

API Error cudaGraphAddEventWaitNode(Node *node, Graph graph, const Node *after, size_t count, Event event) {
  return call([&] { return driver::cuGraphAddEventWaitNode(node, graph, after, count, event); });
}

API Error cudaGraphAddMemAllocNode(Node *node, Graph graph, const Node *after, size_t count, void *allocation) {
  return call([&] { return driver::cuGraphAddMemAllocNode(node, graph, after, count, allocation); });
}

API Error cudaGraphAddMemFreeNode(Node *node, Graph graph, const Node *after, size_t count, void *pointer) {
  return call([&] { return driver::cuGraphAddMemFreeNode(node, graph, after, count, (Address)pointer); });
}

API Error cudaGraphConditionalHandleCreate(Address *handle, Graph graph, u32 value, u32 flags) {
  return call([&] {
    Context context = nullptr;
    Error error = current_context(&context);
    return error ? error : driver::cuGraphConditionalHandleCreate(handle, graph, context, value, flags);
  });
}

static Error add_node(Node *node, Graph graph, const Node *after, const void *edges, size_t count,
                      NodeParameters *parameters) {
  return call([&] {
    NodeParameters converted = {};
    if (!parameters) return (Error)INVALID_VALUE;
    if (Error error = convert_parameters(*parameters, &converted)) return error;
    Error error = driver::cuGraphAddNode_v2(node, graph, after, edges, count, &converted);
    // What the driver answers with: the address of an allocation, a child graph, the body of a condition.
    if (converted.type != KERNEL_NODE && converted.type != COPY_NODE) *parameters = converted;
    return error;
  });
}

#if CUDART_MAJOR == 12
API Error cudaGraphAddNode(Node *node, Graph graph, const Node *after, size_t count, NodeParameters *parameters) {
  return add_node(node, graph, after, nullptr, count, parameters);
}
API Error cudaGraphAddNode_v2(Node *node, Graph graph, const Node *after, const void *edges, size_t count,
                              NodeParameters *parameters) {
  return add_node(node, graph, after, edges, count, parameters);
}
#else
API Error cudaGraphAddNode(Node *node, Graph graph, const Node *after, const void *edges, size_t count,
                           NodeParameters *parameters) {
  return add_node(node, graph, after, edges, count, parameters);
}
#endif

API Error cudaGraphNodeSetParams(Node node, NodeParameters *parameters) {
  return call([&] {
    NodeParameters converted = {};
    Error error = convert_parameters(*parameters, &converted);
    return error ? error : driver::cuGraphNodeSetParams(node, &converted);
  });
}

API Error cudaGraphExecNodeSetParams(GraphExec exec, Node node, NodeParameters *parameters) {
  return call([&] {
    NodeParameters converted = {};
    Error error = convert_parameters(*parameters, &converted);
    return error ? error : driver::cuGraphExecNodeSetParams(exec, node, &converted);
  });
}

// ** parameters of a node

API Error cudaGraphKernelNodeGetParams(Node node, KernelNode *parameters) {
  return call([&] {
    DriverKernelNode kernel = {};
    Error error = driver::cuGraphKernelNodeGetParams_v2(node, &kernel);
    if (error) return error;
    *parameters = kernel.node;
    parameters->function = host_of(kernel.kernel ? (const void *)kernel.kernel : kernel.node.function);
    return (Error)SUCCESS;
  });
}

API Error cudaGraphMemcpyNodeGetParams(Node node, Copy3D *copy) {
  return call([&] {
    DriverCopy3D converted = {};
    Error error = driver::cuGraphMemcpyNodeGetParams(node, &converted);
    if (!error) *copy = convert_copy_back(converted);
    return error;
  });
}

API Error cudaGraphMemsetNodeGetParams(Node node, FillNode *fill) {
  return call([&] { return driver::cuGraphMemsetNodeGetParams(node, fill); });
}

API Error cudaGraphHostNodeGetParams(Node node, void *host) {
  return call([&] { return driver::cuGraphHostNodeGetParams(node, host); });
}

API Error cudaGraphChildGraphNodeGetGraph(Node node, Graph *graph) {
  return call([&] { return driver::cuGraphChildGraphNodeGetGraph(node, graph); });
}

API Error cudaGraphEventRecordNodeGetEvent(Node node, Event *event) {
  return call([&] { return driver::cuGraphEventRecordNodeGetEvent(node, event); });
}

API Error cudaGraphEventWaitNodeGetEvent(Node node, Event *event) {
  return call([&] { return driver::cuGraphEventWaitNodeGetEvent(node, event); });
}

API Error cudaGraphMemAllocNodeGetParams(Node node, void *allocation) {
  return call([&] { return driver::cuGraphMemAllocNodeGetParams(node, allocation); });
}

API Error cudaGraphMemFreeNodeGetParams(Node node, Address *pointer) {
  return call([&] { return driver::cuGraphMemFreeNodeGetParams(node, pointer); });
}

API Error cudaGraphKernelNodeGetAttribute(Node node, Attribute attribute, void *value) {
  return call([&] { return driver::cuGraphKernelNodeGetAttribute(node, attribute, value); });
}

API Error cudaGraphKernelNodeSetAttribute(Node node, Attribute attribute, const void *value) {
  return call([&] { return driver::cuGraphKernelNodeSetAttribute(node, attribute, value); });
}

// CUDA 12 and 13 name the nodes in opposite order; both copy from the first argument of the driver's function.
API Error cudaGraphKernelNodeCopyAttributes(Node first, Node second) {
  return call([&] { return driver::cuGraphKernelNodeCopyAttributes(first, second); });
}
