// More of graphs: nodes of any type, nodes that are switched off, events, attributes.  CUDA driver API: graph
// management.
#include <stdio.h>

#include "launch_config.h"
#include "modules.h"
#include "node_params.h"

namespace driver {
namespace {

// CUgraphNodeParams: the type, then the parameters of that type at 16.
struct AnyParams {
  u32 type, reserved[3];
  union {
    KernelParams kernel;
    FillParams fill;
    HostParams host;
    struct {
      u32 flags, reserved;
      void *context;
      u8 copy[200];
    } copy;
    struct { Graph *graph; } child;
    struct { Event *event; } event;
    AllocationParams allocation;
    Address freed;
    ConditionParams condition;
    u8 room[232];
  };
};

Result work_of(const AnyParams &params, Work *work) {
  switch ((Type)params.type) {
    case Type::KERNEL: return work_of(params.kernel, work);
    case Type::COPY: return *work = box_copy_3d(params.copy.copy), SUCCESS;
    case Type::FILL: return *work = work_of(params.fill), SUCCESS;
    case Type::HOST: return *work = work_of(params.host), SUCCESS;
    case Type::EMPTY: return *work = Work{Type::EMPTY}, SUCCESS;
    case Type::WAIT: return *work = Work{Type::WAIT}, work->record.event = params.event.event, SUCCESS;
    case Type::RECORD: return *work = Record{params.event.event}, SUCCESS;
    case Type::CHILD:
      if (!of<Graph>(params.child.graph)) return INVALID_HANDLE;
      return *work = Child{params.child.graph}, SUCCESS;
    default: return unsupported("graph nodes of semaphores, changes of nodes of memory and conditions");
  }
}

Step *step_of(GraphExec *exec, const Node *node) {
  for (Step &each : exec->steps)
    if (each.node == node) return &each;
  return nullptr;
}

}  // namespace
}  // namespace driver

using namespace driver;

API(cuGraphAddNode_v2)(Node **made, Graph *graph, Node *const *after, const void *, u64 count, AnyParams *params) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  REFUSE_IF(!made || !params || (count && !after), INVALID_VALUE);
  if ((Type)params->type == Type::ALLOCATE) return add_allocation(made, graph, after, count, &params->allocation);
  if ((Type)params->type == Type::CONDITION) return add_condition(made, graph, after, count, &params->condition);
  if ((Type)params->type == Type::FREE) return add_free(made, graph, after, count, params->freed);
  Work work;
  if (Result bad = work_of(*params, &work)) return bad;
  *made = add_node(graph, work, after, count);
  if (work.type == Type::CHILD) (*made)->work.child.graph = clone(work.child.graph, *made);
  return SUCCESS;
}

API(cuGraphAddNode)(Node **made, Graph *graph, Node *const *after, u64 count, AnyParams *params) {
  return cuGraphAddNode_v2(made, graph, after, nullptr, count, params);
}

static Result change(Work *to, const AnyParams *params) {
  if (!params || params->type != (u32)to->type || to->type == Type::CHILD) return INVALID_VALUE;
  Work work;
  if (Result bad = work_of(*params, &work)) return bad;
  close_params(to);
  *to = work;
  copy_params(to);
  return SUCCESS;
}

API(cuGraphNodeSetParams)(Node *node, const AnyParams *params) {
  ENTER_CONTEXT;
  return of<Node>(node) ? change(&node->work, params) : INVALID_HANDLE;
}

API(cuGraphExecNodeSetParams)(GraphExec *exec, Node *node, const AnyParams *params) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<GraphExec>(exec), INVALID_HANDLE);
  Step *step = step_of(exec, node);
  return step ? change(&step->work, params) : INVALID_VALUE;
}

API(cuGraphNodeSetEnabled)(GraphExec *exec, Node *node, u32 is_on) {
  ENTER;
  REFUSE_IF(!of<GraphExec>(exec), INVALID_HANDLE);
  Step *step = step_of(exec, node);
  REFUSE_IF(!step, INVALID_VALUE);
  step->is_off = !is_on;
  return SUCCESS;
}

API(cuGraphNodeGetEnabled)(GraphExec *exec, Node *node, u32 *is_on) {
  ENTER;
  REFUSE_IF(!of<GraphExec>(exec), INVALID_HANDLE);
  Step *step = step_of(exec, node);
  REFUSE_IF(!step || !is_on, INVALID_VALUE);
  *is_on = !step->is_off;
  return SUCCESS;
}

API(cuGraphNodeFindInClone)(Node **found, Node *original, Graph *copy) {
  ENTER;
  REFUSE_IF(!of<Node>(original) || !of<Graph>(copy), INVALID_HANDLE);
  REFUSE_IF(!found, INVALID_VALUE);
  for (Node *each : copy->nodes)
    if (each->original == original) return *found = each, SUCCESS;
  return INVALID_VALUE;
}

// ** events

API(cuGraphEventRecordNodeGetEvent)(Node *node, Event **event) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!event || node->work.type != Type::RECORD, INVALID_VALUE);
  *event = node->work.record.event;
  return SUCCESS;
}

API(cuGraphEventRecordNodeSetEvent)(Node *node, Event *event) {
  ENTER;
  REFUSE_IF(!of<Node>(node) || !of<Event>(event), INVALID_HANDLE);
  REFUSE_IF(node->work.type != Type::RECORD, INVALID_VALUE);
  node->work.record.event = event;
  return SUCCESS;
}

API(cuGraphExecEventRecordNodeSetEvent)(GraphExec *exec, Node *node, Event *event) {
  ENTER;
  REFUSE_IF(!of<GraphExec>(exec) || !of<Event>(event), INVALID_HANDLE);
  Step *step = step_of(exec, node);
  REFUSE_IF(!step || step->work.type != Type::RECORD, INVALID_VALUE);
  step->work.record.event = event;
  return SUCCESS;
}

// A wait has nothing to wait for: which event it is makes no difference.
API(cuGraphEventWaitNodeSetEvent)(Node *node, Event *event) {
  ENTER;
  return of<Node>(node) && of<Event>(event) ? SUCCESS : INVALID_HANDLE;
}
API(cuGraphExecEventWaitNodeSetEvent)(GraphExec *exec, Node *, Event *event) {
  ENTER;
  return of<GraphExec>(exec) && of<Event>(event) ? SUCCESS : INVALID_HANDLE;
}

// ** attributes of kernels, as those of launches

API(cuGraphKernelNodeSetAttribute)(Node *node, u32 id, const void *value) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!value || node->work.type != Type::KERNEL, INVALID_VALUE);
  LaunchAttribute attribute = {id, 0, {}};
  memcpy(attribute.words, value, sizeof attribute.words);
  Shape &shape = node->work.launch.shape, changed;
  LaunchConfig config = {{}, {}, shape.smem_bytes, nullptr, &attribute, 1};
  memcpy(config.grid, shape.grid, sizeof config.grid);
  memcpy(config.block, shape.block, sizeof config.block);
  if (Result bad = shape_of(config, &changed)) return bad;
  if (id == CLUSTER_ATTRIBUTE) memcpy(shape.cluster, changed.cluster, sizeof shape.cluster);
  shape.flags |= changed.flags;
  return SUCCESS;
}

API(cuGraphKernelNodeGetAttribute)(Node *node, u32 id, u32 *value) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!value || node->work.type != Type::KERNEL, INVALID_VALUE);
  const Shape &shape = node->work.launch.shape;
  memset(value, 0, sizeof LaunchAttribute{}.words);
  if (id == CLUSTER_ATTRIBUTE) memcpy(value, shape.cluster, sizeof shape.cluster);
  if (id == COOPERATIVE_ATTRIBUTE) *value = shape.flags & COOPERATIVE;
  return SUCCESS;
}

API(cuGraphKernelNodeCopyAttributes)(Node *to, Node *from) {
  ENTER;
  REFUSE_IF(!of<Node>(to) || !of<Node>(from), INVALID_HANDLE);
  memcpy(to->work.launch.shape.cluster, from->work.launch.shape.cluster, sizeof to->work.launch.shape.cluster);
  to->work.launch.shape.flags = from->work.launch.shape.flags;
  return SUCCESS;
}

API(cuGraphDebugDotPrint)(Graph *graph, const char *path, u32) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  FILE *file = path ? fopen(path, "we") : nullptr;
  REFUSE_IF(!file, INVALID_VALUE);
  fprintf(file, "digraph {\n");
  for (Node *each : graph->nodes) {
    const char *name = each->work.type == Type::KERNEL ? each->work.launch.function->name : "";
    fprintf(file, "n%llu [label=\"%u %s\"];\n", (unsigned long long)each->id, (u32)each->work.type, name);
    for (Node *before : each->after)
      fprintf(file, "n%llu -> n%llu;\n", (unsigned long long)before->id, (unsigned long long)each->id);
  }
  fprintf(file, "}\n");
  fclose(file);
  return SUCCESS;
}
