// Graphs and how they are launched.  CUDA driver API: graph management.
#include "graphs.h"

#include "memory.h"
#include "pieces.h"

namespace driver {

Node *add_node(Graph *graph, const Work &work, Node *const *after, u64 count) {
  Node *node = make<Node>();
  node->graph = graph, node->work = work;
  node->after.append(after, count);
  copy_params(&node->work);
  graph->nodes.add(node);
  return node;
}

void copy_params(Work *work) {
  if (work->type == Type::ALLOCATE) hold(work->allocation.start);
  if (work->type != Type::KERNEL) return;
  Bytes own;
  own.append(work->launch.params.data, work->launch.params.count);
  work->launch.params = own;
}

void close_params(Work *work) {
  if (work->type == Type::KERNEL) work->launch.params.close();
  if (work->type == Type::ALLOCATE) let_go(work->allocation.start);
}

void drop_node(Node *node) {
  close_params(&node->work);
  if (node->work.type == Type::CHILD) drop_graph(node->work.child.graph);
  if (node->work.type == Type::CONDITION) drop_bodies(node->work.condition);
  node->after.close();
  drop_object(node);
}

void drop_graph(Graph *graph) {
  for (Node *each : graph->nodes) drop_node(each);
  graph->nodes.close(), graph->first_values.close();
  Vector<Held> objects = graph->objects;
  drop_object(graph);
  release_objects(&objects);
}

Graph *clone(Graph *graph, Node *owner) {
  Graph *copy = make<Graph>();
  copy->owner = owner;
  hold_objects(&copy->objects, graph->objects);
  copy->first_values.append(graph->first_values.data, graph->first_values.count);
  for (Node *each : graph->nodes) {
    Node *node = add_node(copy, each->work, nullptr, 0);
    node->original = each;
    if (node->work.type == Type::CHILD) node->work.child.graph = clone(each->work.child.graph, node);
    if (node->work.type == Type::CONDITION) node->work.condition.bodies = clone_bodies(each->work.condition, node);
  }
  for (u64 i = 0; i < graph->nodes.count; ++i)
    for (Node *before : graph->nodes[i]->after)
      for (u64 j = 0; j < graph->nodes.count; ++j)
        if (graph->nodes[j] == before) copy->nodes[i]->after.add(copy->nodes[j]);
  return copy;
}

// Nodes are added after those they depend on, except where cuGraphAddDependencies turns that round.
bool in_order(Graph *graph, Vector<Node *> *sorted) {
  while (sorted->count < graph->nodes.count) {
    u64 before = sorted->count;
    for (Node *each : graph->nodes) {
      bool is_ready = !sorted->has(each);
      for (Node *other : each->after) is_ready = is_ready && sorted->has(other);
      if (is_ready) sorted->add(each);
    }
    if (sorted->count == before) return false;
  }
  return true;
}

namespace {

struct Place {
  const Node *node;
  Vector<u32> ends;  // the steps that come before what depends on it
};

// The steps of one graph, each after `first` or after the steps of the nodes it depends on.
struct Steps {
  GraphExec *exec;
  Vector<Place> places = {};

  // Nodes are in order already as a rule: then one pass is enough.
  bool add(Graph *graph, const Vector<u32> &first, Vector<u32> *all) {
    Vector<Node *> sorted;
    bool is_good = in_order(graph, &sorted);
    for (Node *each : sorted) is_good = add(each, first, all) && is_good;
    sorted.close();
    return is_good;
  }

  bool add(Node *node, const Vector<u32> &first, Vector<u32> *all) {
    Vector<u32> after;
    if (!node->after.count) after.append(first.data, first.count);
    for (Place &place : places)
      if (node->after.has((Node *)place.node)) after.append(place.ends.data, place.ends.count);
    Place place = {node, {}};
    bool is_good = true;
    if (node->work.type == Type::CHILD) {
      Steps inner = {exec};
      is_good = inner.add(node->work.child.graph, after, &place.ends);
      inner.close();
      if (!place.ends.count) place.ends.append(after.data, after.count);
      after.close();
    } else {
      place.ends.add((u32)exec->steps.count);
      exec->steps.add({node, node->work, false, after});
      Work &work = exec->steps.last().work;
      copy_params(&work);
      if (work.type == Type::CONDITION && make_execs(&work.condition, exec->flags)) is_good = false;
    }
    all->append(place.ends.data, place.ends.count);
    places.add(place);
    return is_good;
  }

  void close() {
    for (Place &each : places) each.ends.close();
    places.close();
  }
};

void hold_objects_of(GraphExec *exec, Graph *graph) {
  hold_objects(&exec->objects, graph->objects);
  for (Node *each : graph->nodes)
    if (each->work.type == Type::CHILD) hold_objects_of(exec, each->work.child.graph);
}

bool add_steps(GraphExec *exec, Graph *graph) {
  Vector<u32> all, first;
  for (const Fill &each : graph->first_values) {
    first.add((u32)exec->steps.count);
    exec->steps.add({nullptr, each, false, {}});
  }
  Steps steps = {exec};
  bool is_good = steps.add(graph, first, &all);
  steps.close(), all.close(), first.close();
  return is_good;
}

void close_steps(GraphExec *exec) {
  for (Step &each : exec->steps) {
    if (each.work.type == Type::CONDITION) drop_execs(each.work.condition);
    close_params(&each.work), each.after.close();
  }
  exec->steps.close();
}

// CUgraphExecUpdateResult
enum : u32 { UPDATED = 0, TOPOLOGY_CHANGED = 2, TYPE_CHANGED = 3 };

struct UpdateInfo {
  u32 result;
  const Node *node, *from;
};

}  // namespace

Result instantiate(GraphExec **made, Graph *graph, u64 flags) {
  if (!made) return INVALID_VALUE;
  if (!of<Graph>(graph)) return INVALID_HANDLE;
  GraphExec *exec = make<GraphExec>();
  exec->flags = flags;
  if (add_steps(exec, graph)) {
    hold_objects_of(exec, graph);
    may_overlap = may_overlap || exec->steps.count > 1;
    return *made = exec, SUCCESS;
  }
  close_steps(exec);
  drop_object(exec);
  return INVALID_VALUE;
}

void drop_exec(GraphExec *exec) {
  Vector<Held> objects = exec->objects;
  close_steps(exec);
  exec->seen.close();
  drop_object(exec);
  release_objects(&objects);
}

}  // namespace driver

using namespace driver;

API(cuGraphCreate)(Graph **made, u32) {
  ENTER;
  REFUSE_IF(!made, INVALID_VALUE);
  *made = make<Graph>();
  return SUCCESS;
}

API(cuGraphDestroy)(Graph *graph) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph) || graph->owner, INVALID_HANDLE);
  drop_graph(graph);
  return SUCCESS;
}

API(cuGraphClone)(Graph **made, Graph *graph) {
  ENTER;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  REFUSE_IF(!made, INVALID_VALUE);
  *made = clone(graph, nullptr);
  return SUCCESS;
}

// ** graphs that can be launched

API(cuGraphInstantiateWithFlags)(GraphExec **made, Graph *graph, u64 flags) {
  ENTER_CONTEXT;
  return instantiate(made, graph, flags);
}

API(cuGraphInstantiate_v2)(GraphExec **made, Graph *graph, const Node **, char *, u64) {
  ENTER_CONTEXT;
  return instantiate(made, graph, 0);
}

// CUDA_GRAPH_INSTANTIATE_PARAMS: flags, the stream for the upload, the node that is wrong, the result.
struct InstantiateParams {
  u64 flags;
  void *stream;
  const Node *wrong;
  u32 result;
};

API(cuGraphInstantiateWithParams)(GraphExec **made, Graph *graph, InstantiateParams *params) {
  ENTER_CONTEXT;
  REFUSE_IF(!params, INVALID_VALUE);
  Result result = instantiate(made, graph, params->flags);
  params->wrong = nullptr, params->result = result != SUCCESS;
  return result;
}

API(cuGraphExecDestroy)(GraphExec *exec) {
  ENTER;
  REFUSE_IF(!of<GraphExec>(exec), INVALID_HANDLE);
  if ((exec->objects.count || has_condition(exec)) && follows_order()) wait_for(exec->seen);
  drop_exec(exec);
  return SUCCESS;
}

API(cuGraphExecGetFlags)(GraphExec *exec, u64 *flags) {
  ENTER;
  REFUSE_IF(!of<GraphExec>(exec), INVALID_HANDLE);
  REFUSE_IF(!flags, INVALID_VALUE);
  *flags = exec->flags;
  return SUCCESS;
}

API(cuGraphUpload)(GraphExec *exec, void *stream) {
  ENTER_CONTEXT;
  return of<GraphExec>(exec) && stream_of(stream) ? SUCCESS : INVALID_HANDLE;
}

API(cuGraphLaunch)(GraphExec *exec, void *handle) {
  ENTER_CONTEXT;
  Stream *stream = stream_of(handle);
  REFUSE_IF(!of<GraphExec>(exec) || !stream, INVALID_HANDLE);
  REFUSE_IF(stream->capture, unsupported("cuGraphLaunch in a stream that is captured"));
  if (stream->is_legacy)
    if (Result bad = captures_allow_legacy_stream()) return bad;
  if (Result bad = take_memory(exec)) return bad;
  if (follows_order()) return add_graph(stream, exec);
  for (u64 i = 0; i < exec->steps.count; ++i)
    if (!exec->steps[i].is_off)
      if (Result bad = run(exec->steps[i].work)) return bad;
  return SUCCESS;
}

// Take the parameters of a graph that has the same nodes.
API(cuGraphExecUpdate_v2)(GraphExec *exec, Graph *graph, UpdateInfo *info) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<GraphExec>(exec) || !of<Graph>(graph), INVALID_HANDLE);
  REFUSE_IF(!info, INVALID_VALUE);
  GraphExec *other;
  if (Result bad = instantiate(&other, graph, exec->flags)) return bad;
  *info = {UPDATED, nullptr, nullptr};
  if (other->steps.count != exec->steps.count) info->result = TOPOLOGY_CHANGED;
  for (u64 i = 0; !info->result && i < exec->steps.count; ++i)
    if (other->steps[i].work.type != exec->steps[i].work.type) *info = {TYPE_CHANGED, other->steps[i].node, nullptr};
  if (!info->result) {
    if (has_condition(exec) && follows_order()) wait_for(exec->seen);
    Vector<Step> before = exec->steps;
    exec->steps = other->steps, other->steps = before;
    Vector<Held> held = exec->objects;
    exec->objects = other->objects, other->objects = held;
  }
  drop_exec(other);
  return info->result ? GRAPH_UPDATE_FAILURE : SUCCESS;
}

API(cuGraphExecUpdate)(GraphExec *exec, Graph *graph, const Node **wrong, u32 *result) {
  UpdateInfo info = {};
  Result code = cuGraphExecUpdate_v2(exec, graph, &info);
  if (wrong) *wrong = info.node;
  if (result) *result = info.result;
  return code;
}
