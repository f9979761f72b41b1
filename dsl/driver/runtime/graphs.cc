// Graphs: creation, edges, instantiation, launch, update, user objects.
#include "runtime.h"

DRIVER(cuGraphCreate, Graph *, u32)
DRIVER(cuGraphDestroy, Graph)
DRIVER(cuGraphDestroyNode, Node)
DRIVER(cuGraphClone, Graph *, Graph)
DRIVER(cuGraphNodeFindInClone, Node *, Node, Graph)
DRIVER(cuGraphDebugDotPrint, Graph, const char *, u32)
DRIVER(cuGraphGetNodes, Graph, Node *, size_t *)
DRIVER(cuGraphGetRootNodes, Graph, Node *, size_t *)
DRIVER(cuGraphGetEdges, Graph, Node *, Node *, size_t *)
DRIVER(cuGraphGetEdges_v2, Graph, Node *, Node *, void *, size_t *)
DRIVER(cuGraphNodeGetDependencies, Node, Node *, size_t *)
DRIVER(cuGraphNodeGetDependencies_v2, Node, Node *, void *, size_t *)
DRIVER(cuGraphNodeGetDependentNodes, Node, Node *, size_t *)
DRIVER(cuGraphNodeGetDependentNodes_v2, Node, Node *, void *, size_t *)
DRIVER(cuGraphAddDependencies, Graph, const Node *, const Node *, size_t)
DRIVER(cuGraphAddDependencies_v2, Graph, const Node *, const Node *, const void *, size_t)
DRIVER(cuGraphRemoveDependencies, Graph, const Node *, const Node *, size_t)
DRIVER(cuGraphRemoveDependencies_v2, Graph, const Node *, const Node *, const void *, size_t)
DRIVER(cuGraphNodeGetType, Node, int *)
DRIVER(cuGraphNodeGetEnabled, GraphExec, Node, u32 *)
DRIVER(cuGraphNodeSetEnabled, GraphExec, Node, u32)
DRIVER(cuGraphInstantiateWithFlags, GraphExec *, Graph, ULong)
DRIVER(cuGraphInstantiateWithParams, GraphExec *, Graph, void *)
DRIVER(cuGraphLaunch, GraphExec, Stream)
DRIVER(cuGraphUpload, GraphExec, Stream)
DRIVER(cuGraphExecDestroy, GraphExec)
DRIVER(cuGraphExecGetFlags, GraphExec, ULong *)
DRIVER(cuGraphExecUpdate_v2, GraphExec, Graph, UpdateResult *)
DRIVER(cuUserObjectCreate, UserObject *, void *, HostFunction, u32, u32)
DRIVER(cuUserObjectRetain, UserObject, u32)
DRIVER(cuUserObjectRelease, UserObject, u32)
DRIVER(cuGraphRetainUserObject, Graph, UserObject, u32, u32)
DRIVER(cuGraphReleaseUserObject, Graph, UserObject, u32)

API Error cudaGraphCreate(Graph *graph, u32 flags) {
  return call([&] { return driver::cuGraphCreate(graph, flags); });
}

API Error cudaGraphDestroy(Graph graph) {
  return call([&] { return driver::cuGraphDestroy(graph); });
}

API Error cudaGraphDestroyNode(Node node) {
  return call([&] { return driver::cuGraphDestroyNode(node); });
}

API Error cudaGraphClone(Graph *clone, Graph graph) {
  return call([&] { return driver::cuGraphClone(clone, graph); });
}

API Error cudaGraphNodeFindInClone(Node *node, Node original, Graph clone) {
  return call([&] { return driver::cuGraphNodeFindInClone(node, original, clone); });
}

API Error cudaGraphDebugDotPrint(Graph graph, const char *path, u32 flags) {
  return call([&] { return driver::cuGraphDebugDotPrint(graph, path, flags); });
}

API Error cudaGraphGetNodes(Graph graph, Node *nodes, size_t *count) {
  return call([&] { return driver::cuGraphGetNodes(graph, nodes, count); });
}

API Error cudaGraphGetRootNodes(Graph graph, Node *nodes, size_t *count) {
  return call([&] { return driver::cuGraphGetRootNodes(graph, nodes, count); });
}

API Error cudaGraphNodeGetType(Node node, int *type) {
  return call([&] { return driver::cuGraphNodeGetType(node, type); });
}

API Error cudaGraphNodeGetEnabled(GraphExec exec, Node node, u32 *enabled) {
  return call([&] { return driver::cuGraphNodeGetEnabled(exec, node, enabled); });
}

API Error cudaGraphNodeSetEnabled(GraphExec exec, Node node, u32 enabled) {
  return call([&] { return driver::cuGraphNodeSetEnabled(exec, node, enabled); });
}

// ** edges. Without data about edges, the driver's functions that have none do.

static Error get_edges(Graph graph, Node *from, Node *to, void *edges, size_t *count) {
  return call([&] {
    if (!edges) return driver::cuGraphGetEdges(graph, from, to, count);
    return driver::cuGraphGetEdges_v2(graph, from, to, edges, count);
  });
}

static Error get_dependencies(Node node, Node *nodes, void *edges, size_t *count) {
  return call([&] {
    if (!edges) return driver::cuGraphNodeGetDependencies(node, nodes, count);
    return driver::cuGraphNodeGetDependencies_v2(node, nodes, edges, count);
  });
}

static Error get_dependents(Node node, Node *nodes, void *edges, size_t *count) {
  return call([&] {
    if (!edges) return driver::cuGraphNodeGetDependentNodes(node, nodes, count);
    return driver::cuGraphNodeGetDependentNodes_v2(node, nodes, edges, count);
  });
}

static Error add_edges(Graph graph, const Node *from, const Node *to, const void *edges, size_t count) {
  return call([&] {
    if (!edges) return driver::cuGraphAddDependencies(graph, from, to, count);
    return driver::cuGraphAddDependencies_v2(graph, from, to, edges, count);
  });
}

static Error remove_edges(Graph graph, const Node *from, const Node *to, const void *edges, size_t count) {
  return call([&] {
    if (!edges) return driver::cuGraphRemoveDependencies(graph, from, to, count);
    return driver::cuGraphRemoveDependencies_v2(graph, from, to, edges, count);
  });
}

// In CUDA 12 the functions with data about edges have names that end in _v2; in CUDA 13 they are the only ones.
#if CUDART_MAJOR == 12
#define WITH_EDGES(name) name##_v2
API Error cudaGraphGetEdges(Graph graph, Node *from, Node *to, size_t *count) {
  return get_edges(graph, from, to, nullptr, count);
}
API Error cudaGraphNodeGetDependencies(Node node, Node *nodes, size_t *count) {
  return get_dependencies(node, nodes, nullptr, count);
}
API Error cudaGraphNodeGetDependentNodes(Node node, Node *nodes, size_t *count) {
  return get_dependents(node, nodes, nullptr, count);
}
API Error cudaGraphAddDependencies(Graph graph, const Node *from, const Node *to, size_t count) {
  return add_edges(graph, from, to, nullptr, count);
}
API Error cudaGraphRemoveDependencies(Graph graph, const Node *from, const Node *to, size_t count) {
  return remove_edges(graph, from, to, nullptr, count);
}
#else
#define WITH_EDGES(name) name
#endif

API Error WITH_EDGES(cudaGraphGetEdges)(Graph graph, Node *from, Node *to, void *edges, size_t *count) {
  return get_edges(graph, from, to, edges, count);
}
API Error WITH_EDGES(cudaGraphNodeGetDependencies)(Node node, Node *nodes, void *edges, size_t *count) {
  return get_dependencies(node, nodes, edges, count);
}
API Error WITH_EDGES(cudaGraphNodeGetDependentNodes)(Node node, Node *nodes, void *edges, size_t *count) {
  return get_dependents(node, nodes, edges, count);
}
API Error WITH_EDGES(cudaGraphAddDependencies)(Graph graph, const Node *from, const Node *to, const void *edges,
                                               size_t count) {
  return add_edges(graph, from, to, edges, count);
}
API Error WITH_EDGES(cudaGraphRemoveDependencies)(Graph graph, const Node *from, const Node *to, const void *edges,
                                                  size_t count) {
  return remove_edges(graph, from, to, edges, count);
}

// ** executable graphs

API Error cudaGraphInstantiateWithFlags(GraphExec *exec, Graph graph, ULong flags) {
  return call([&] { return driver::cuGraphInstantiateWithFlags(exec, graph, flags); });
}

API Error cudaGraphInstantiate(GraphExec *exec, Graph graph, ULong flags) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

API Error cudaGraphInstantiateWithParams(GraphExec *exec, Graph graph, void *parameters) {
  return call([&] { return driver::cuGraphInstantiateWithParams(exec, graph, parameters); });
}
PER_THREAD(cudaGraphInstantiateWithParams);

API Error cudaGraphLaunch(GraphExec exec, Stream stream) {
  return call([&] { return driver::cuGraphLaunch(exec, stream); });
}
PER_THREAD(cudaGraphLaunch);

API Error cudaGraphUpload(GraphExec exec, Stream stream) {
  return call([&] { return driver::cuGraphUpload(exec, stream); });
}
PER_THREAD(cudaGraphUpload);

API Error cudaGraphExecDestroy(GraphExec exec) {
  return call([&] { return driver::cuGraphExecDestroy(exec); });
}

API Error cudaGraphExecGetFlags(GraphExec exec, ULong *flags) {
  return call([&] { return driver::cuGraphExecGetFlags(exec, flags); });
}

API Error cudaGraphExecUpdate(GraphExec exec, Graph graph, UpdateResult *result) {
  return call([&] { return driver::cuGraphExecUpdate_v2(exec, graph, result); });
}

// ** objects that graphs keep alive

API Error cudaUserObjectCreate(UserObject *object, void *data, HostFunction destroy, u32 count, u32 flags) {
  return call([&] { return driver::cuUserObjectCreate(object, data, destroy, count, flags); });
}

API Error cudaUserObjectRetain(UserObject object, u32 count) {
  return call([&] { return driver::cuUserObjectRetain(object, count); });
}

API Error cudaUserObjectRelease(UserObject object, u32 count) {
  return call([&] { return driver::cuUserObjectRelease(object, count); });
}

API Error cudaGraphRetainUserObject(Graph graph, UserObject object, u32 count, u32 flags) {
  return call([&] { return driver::cuGraphRetainUserObject(graph, object, count, flags); });
}

API Error cudaGraphReleaseUserObject(Graph graph, UserObject object, u32 count) {
  return call([&] { return driver::cuGraphReleaseUserObject(graph, object, count); });
}
