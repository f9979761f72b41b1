// Nodes of graphs whose graphs run by a condition: once, again and again, or one of several. Kernels set the condition by
// cudaGraphSetConditional, which stores a word at its handle (images.py).  CUDA driver API: graph management.
#include "memory.h"
#include "node_params.h"

namespace driver {

Graph **clone_bodies(const Condition &condition, Node *owner) {
  Graph **bodies = (Graph **)calloc(condition.count, sizeof(Graph *));
  if (!bodies) abort();
  for (u32 i = 0; i < condition.count; ++i) bodies[i] = clone(condition.bodies[i], owner);
  return bodies;
}

void drop_bodies(const Condition &condition) {
  for (u32 i = 0; i < condition.count; ++i) drop_graph(condition.bodies[i]);
  free(condition.bodies);
}

Result make_execs(Condition *condition, u64 flags) {
  condition->execs = (GraphExec **)calloc(condition->count, sizeof(GraphExec *));
  if (!condition->execs) abort();
  for (u32 i = 0; i < condition->count; ++i)
    if (Result bad = instantiate(&condition->execs[i], condition->bodies[i], flags)) return bad;
  return SUCCESS;
}

void drop_execs(const Condition &condition) {
  for (u32 i = 0; condition.execs && i < condition.count; ++i)
    if (condition.execs[i]) drop_exec(condition.execs[i]);
  free(condition.execs);
}

bool has_condition(const GraphExec *exec) {
  for (u64 i = 0; i < exec->steps.count; ++i)
    if (exec->steps.data[i].work.type == Type::CONDITION) return true;
  return false;
}

static Result run_body(GraphExec *exec, Result (*perform)(const Work &, const void *), const void *argument) {
  if (Result bad = take_memory(exec)) return bad;
  for (Step &each : exec->steps) {
    const Work &work = each.work;
    Result bad = each.is_off                    ? SUCCESS
                 : work.type == Type::CONDITION ? run(work.condition, perform, argument)
                                                : perform(work, argument);
    if (bad) return bad;
  }
  return SUCCESS;
}

Result run(const Condition &condition, Result (*perform)(const Work &, const void *), const void *argument) {
  auto value = [&] { return *(const volatile u32 *)condition.value; };
  if (condition.kind == SWITCH)
    return value() < condition.count ? run_body(condition.execs[value()], perform, argument) : SUCCESS;
  if (condition.kind == IF) {
    u32 which = !value();
    return which < condition.count ? run_body(condition.execs[which], perform, argument) : SUCCESS;
  }
  while (value())
    if (Result bad = run_body(condition.execs[0], perform, argument)) return bad;
  return SUCCESS;
}

Result add_condition(Node **made, Graph *graph, Node *const *after, u64 count, ConditionParams *params) {
  bool is_possible = params->kind == IF      ? params->count - 1 < 2
                     : params->kind == WHILE ? params->count == 1
                                             : params->count;
  if (params->kind > SWITCH || !is_possible || !holds(params->value, sizeof(u32))) return INVALID_VALUE;
  Condition condition = {params->value, params->kind, params->count, nullptr, nullptr};
  if (Result bad = add(made, graph, after, count, Work{Type::EMPTY})) return bad;
  condition.bodies = (Graph **)calloc(condition.count, sizeof(Graph *));
  if (!condition.bodies) abort();
  for (u32 i = 0; i < condition.count; ++i) condition.bodies[i] = make<Graph>(), condition.bodies[i]->owner = *made;
  (*made)->work = condition;
  params->bodies = condition.bodies;
  return SUCCESS;
}

}  // namespace driver

using namespace driver;

constexpr u32 ASSIGN_DEFAULT = 1;  // CU_GRAPH_COND_ASSIGN_DEFAULT

API(cuGraphConditionalHandleCreate)(Address *made, Graph *graph, Context *, u32 value, u32 flags) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Graph>(graph), INVALID_HANDLE);
  REFUSE_IF(!made || flags > ASSIGN_DEFAULT, INVALID_VALUE);
  if (Result bad = allocate(made, sizeof(u32), Memory::DEVICE, 0)) return bad;
  *(u32 *)*made = value;
  note_written(*made, sizeof(u32));
  if (flags & ASSIGN_DEFAULT) graph->first_values.add({*made, sizeof(u32), 1, 1, value, sizeof(u32), true});
  return SUCCESS;
}
