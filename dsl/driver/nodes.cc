// The nodes of graphs.  CUDA driver API: graph management.
#include "memory.h"
#include "modules.h"
#include "node_params.h"

namespace driver {

Result add(Node **made, Graph *graph, Node *const *after, u64 count, const Work &work) {
  if (!made || (count && !after)) return INVALID_VALUE;
  if (!of<Graph>(graph)) return INVALID_HANDLE;
  for (u64 i = 0; i < count; ++i)
    if (!of<Node>(after[i]) || after[i]->graph != graph) return INVALID_VALUE;
  *made = add_node(graph, work, after, count);
  if (work.type == Type::CHILD) (*made)->work.child.graph = clone(work.child.graph, *made);
  return SUCCESS;
}

namespace {

Result set(Work *to, const Work &work) {
  if (to->type != work.type) return INVALID_VALUE;
  close_params(to);
  *to = work;
  copy_params(to);
  return SUCCESS;
}

Result set_node(Node *node, const Work &work) { return of<Node>(node) ? set(&node->work, work) : INVALID_HANDLE; }

Result set_step(GraphExec *exec, const Node *node, const Work &work) {
  if (!of<GraphExec>(exec)) return INVALID_HANDLE;
  for (Step &each : exec->steps)
    if (each.node == node) return set(&each.work, work);
  return INVALID_VALUE;
}

// Answers with an array of handles ask for the count first.
Result give(Vector<Node *> &found, Node **nodes, u64 *count) {
  if (!count) return INVALID_VALUE;
  u64 room = *count;
  *count = found.count;
  if (!nodes) return SUCCESS;
  for (u64 i = 0; i < room; ++i) nodes[i] = i < found.count ? found[i] : nullptr;
  if (room < found.count) *count = room;
  return SUCCESS;
}

}  // namespace
}  // namespace driver

using namespace driver;

API(cuGraphAddKernelNode_v2)(Node **made, Graph *graph, Node *const *after, u64 count, const KernelParams *params) {
  ENTER_CONTEXT;
  REFUSE_IF(!params, INVALID_VALUE);
  Work work;
  if (Result bad = work_of(*params, &work)) return bad;
  return add(made, graph, after, count, work);
}

// The first version has no kernel of a library.
static KernelParams first_version(const void *params) {
  KernelParams copy = {};
  memcpy(&copy, params, offsetof(KernelParams, kernel));
  return copy;
}

API(cuGraphAddKernelNode)(Node **made, Graph *graph, Node *const *after, u64 count, const void *params) {
  REFUSE_IF(!params, INVALID_VALUE);
  KernelParams whole = first_version(params);
  return cuGraphAddKernelNode_v2(made, graph, after, count, &whole);
}

API(cuGraphAddMemcpyNode)(Node **made, Graph *graph, Node *const *after, u64 count, const void *copy, Context *) {
  ENTER_CONTEXT;
  return copy ? add(made, graph, after, count, box_copy_3d(copy)) : INVALID_VALUE;
}

API(cuGraphAddMemsetNode)(Node **made, Graph *graph, Node *const *after, u64 count, const FillParams *fill, Context *) {
  ENTER_CONTEXT;
  return fill ? add(made, graph, after, count, work_of(*fill)) : INVALID_VALUE;
}

API(cuGraphAddHostNode)(Node **made, Graph *graph, Node *const *after, u64 count, const HostParams *call) {
  ENTER_CONTEXT;
  return call ? add(made, graph, after, count, work_of(*call)) : INVALID_VALUE;
}

API(cuGraphAddEmptyNode)(Node **made, Graph *graph, Node *const *after, u64 count) {
  ENTER_CONTEXT;
  return add(made, graph, after, count, Work{Type::EMPTY});
}

API(cuGraphAddChildGraphNode)(Node **made, Graph *graph, Node *const *after, u64 count, Graph *child) {
  ENTER_CONTEXT;
  return of<Graph>(child) ? add(made, graph, after, count, Child{child}) : INVALID_HANDLE;
}

API(cuGraphAddEventRecordNode)(Node **made, Graph *graph, Node *const *after, u64 count, Event *event) {
  ENTER_CONTEXT;
  return of<Event>(event) ? add(made, graph, after, count, Record{event}) : INVALID_HANDLE;
}

API(cuGraphAddEventWaitNode)(Node **made, Graph *graph, Node *const *after, u64 count, Event *event) {
  ENTER_CONTEXT;
  if (!of<Event>(event)) return INVALID_HANDLE;
  Work work = Type::WAIT;
  work.record.event = event;
  return add(made, graph, after, count, work);
}

API(cuGraphDestroyNode)(Node *node) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  Vector<Node *> &nodes = node->graph->nodes;
  for (u64 i = nodes.count; i--;) {
    for (u64 j = nodes[i]->after.count; j--;)
      if (nodes[i]->after[j] == node) nodes[i]->after.remove(j);
    if (nodes[i] == node) nodes.remove(i);
  }
  drop_node(node);
  return SUCCESS;
}

// ** what a node is

API(cuGraphNodeGetType)(Node *node, u32 *type) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!type, INVALID_VALUE);
  *type = (u32)node->work.type;
  return SUCCESS;
}

API(cuGraphChildGraphNodeGetGraph)(Node *node, Graph **graph) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!graph || node->work.type != Type::CHILD, INVALID_VALUE);
  *graph = node->work.child.graph;
  return SUCCESS;
}

API(cuGraphKernelNodeSetParams_v2)(Node *node, const KernelParams *params) {
  ENTER_CONTEXT;
  REFUSE_IF(!params, INVALID_VALUE);
  Work work;
  if (Result bad = work_of(*params, &work)) return bad;
  return set_node(node, work);
}

API(cuGraphKernelNodeSetParams)(Node *node, const void *params) {
  REFUSE_IF(!params, INVALID_VALUE);
  KernelParams whole = first_version(params);
  return cuGraphKernelNodeSetParams_v2(node, &whole);
}

// The parameters are the node's, and valid until it changes.
API(cuGraphKernelNodeGetParams_v2)(Node *node, KernelParams *params) {
  ENTER_CONTEXT;
  static Vector<void *> pointers;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!params || node->work.type != Type::KERNEL, INVALID_VALUE);
  const Launch &launch = node->work.launch;
  pointers.clear();
  for (Param &each : launch.function->params) pointers.add(launch.params.data + each.offset);
  *params = {launch.function, {}, {}, launch.shape.smem_bytes, pointers.data, nullptr, nullptr, context};
  memcpy(params->grid, launch.shape.grid, sizeof params->grid);
  memcpy(params->block, launch.shape.block, sizeof params->block);
  return SUCCESS;
}

API(cuGraphMemsetNodeSetParams)(Node *node, const FillParams *fill) {
  ENTER;
  return fill ? set_node(node, work_of(*fill)) : INVALID_VALUE;
}

API(cuGraphMemsetNodeGetParams)(Node *node, FillParams *params) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!params || node->work.type != Type::FILL, INVALID_VALUE);
  const Fill &fill = node->work.fill;
  *params = {fill.to, fill.pitch, (u32)fill.value, fill.element_bytes, fill.width, fill.height};
  return SUCCESS;
}

API(cuGraphMemcpyNodeSetParams)(Node *node, const void *copy) {
  ENTER;
  return copy ? set_node(node, box_copy_3d(copy)) : INVALID_VALUE;
}

API(cuGraphHostNodeSetParams)(Node *node, const HostParams *call) {
  ENTER;
  return call ? set_node(node, work_of(*call)) : INVALID_VALUE;
}

API(cuGraphHostNodeGetParams)(Node *node, HostParams *call) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!call || node->work.type != Type::HOST, INVALID_VALUE);
  *call = {node->work.call.function, node->work.call.argument};
  return SUCCESS;
}

// ** nodes of a graph that can be launched

API(cuGraphExecKernelNodeSetParams_v2)(GraphExec *exec, Node *node, const KernelParams *params) {
  ENTER_CONTEXT;
  REFUSE_IF(!params, INVALID_VALUE);
  Work work;
  if (Result bad = work_of(*params, &work)) return bad;
  return set_step(exec, node, work);
}

API(cuGraphExecKernelNodeSetParams)(GraphExec *exec, Node *node, const void *params) {
  REFUSE_IF(!params, INVALID_VALUE);
  KernelParams whole = first_version(params);
  return cuGraphExecKernelNodeSetParams_v2(exec, node, &whole);
}

API(cuGraphExecMemcpyNodeSetParams)(GraphExec *exec, Node *node, const void *copy, Context *) {
  ENTER;
  return copy ? set_step(exec, node, box_copy_3d(copy)) : INVALID_VALUE;
}

API(cuGraphExecMemsetNodeSetParams)(GraphExec *exec, Node *node, const FillParams *fill, Context *) {
  ENTER;
  return fill ? set_step(exec, node, work_of(*fill)) : INVALID_VALUE;
}

API(cuGraphExecHostNodeSetParams)(GraphExec *exec, Node *node, const HostParams *call) {
  ENTER;
  return call ? set_step(exec, node, work_of(*call)) : INVALID_VALUE;
}

// ** what comes after what

API(cuGraphGetNodes)(Graph *graph, Node **nodes, u64 *count) {
  ENTER;
  return of<Graph>(graph) ? give(graph->nodes, nodes, count) : INVALID_HANDLE;
}

API(cuGraphGetRootNodes)(Graph *graph, Node **nodes, u64 *count) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  Vector<Node *> roots;
  for (Node *each : graph->nodes)
    if (!each->after.count) roots.add(each);
  Result result = give(roots, nodes, count);
  roots.close();
  return result;
}

API(cuGraphNodeGetDependencies_v2)(Node *node, Node **nodes, void *, u64 *count) {
  ENTER;
  return of<Node>(node) ? give(node->after, nodes, count) : INVALID_HANDLE;
}

API(cuGraphNodeGetDependencies)(Node *node, Node **nodes, u64 *count) {
  return cuGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

API(cuGraphNodeGetDependentNodes_v2)(Node *node, Node **nodes, void *, u64 *count) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  Vector<Node *> found;
  for (Node *each : node->graph->nodes)
    if (each->after.has(node)) found.add(each);
  Result result = give(found, nodes, count);
  found.close();
  return result;
}

API(cuGraphNodeGetDependentNodes)(Node *node, Node **nodes, u64 *count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

API(cuGraphGetEdges_v2)(Graph *graph, Node **from, Node **to, void *, u64 *count) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  REFUSE_IF(!count, INVALID_VALUE);
  u64 edges = 0, room = *count;
  for (Node *each : graph->nodes)
    for (Node *before : each->after) {
      if (from && to && edges < room) from[edges] = before, to[edges] = each;
      ++edges;
    }
  *count = edges;
  return SUCCESS;
}

API(cuGraphGetEdges)(Graph *graph, Node **from, Node **to, u64 *count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

API(cuGraphAddDependencies_v2)(Graph *graph, Node *const *from, Node *const *to, const void *, u64 count) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  for (u64 i = 0; i < count; ++i) {
    REFUSE_IF(!of<Node>(from[i]) || !of<Node>(to[i]) || to[i]->after.has(from[i]), INVALID_VALUE);
    to[i]->after.add(from[i]);
  }
  return SUCCESS;
}

API(cuGraphAddDependencies)(Graph *graph, Node *const *from, Node *const *to, u64 count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

API(cuGraphRemoveDependencies_v2)(Graph *graph, Node *const *from, Node *const *to, const void *, u64 count) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  for (u64 i = 0; i < count; ++i) {
    REFUSE_IF(!of<Node>(from[i]) || !of<Node>(to[i]) || !to[i]->after.has(from[i]), INVALID_VALUE);
    Vector<Node *> &after = to[i]->after;
    for (u64 j = after.count; j--;)
      if (after[j] == from[i]) after.remove(j);
  }
  return SUCCESS;
}

API(cuGraphRemoveDependencies)(Graph *graph, Node *const *from, Node *const *to, u64 count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}
