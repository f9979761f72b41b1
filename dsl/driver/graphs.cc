// CUDA driver API: graph management.
#include "graphs.h"

namespace driver {

Node *add_node(Graph *graph, const Work &work, Node *const *after, u64 count) {
  Node *node = make<Node>();
  node->graph = graph, node->work = work;
  node->after.append(after, count);
  graph->nodes.add(node);
  return node;
}

void copy_params(Work *work) {
  if (work->type != Type::KERNEL) return;
  Bytes own;
  own.append(work->launch.params.data, work->launch.params.count);
  work->launch.params = own;
}

static void drop_node(Node *node) {
  if (node->work.type == Type::KERNEL) node->work.launch.params.close();
  node->after.close();
  drop_object(node);
}

void drop_graph(Graph *graph) {
  for (Node *each : graph->nodes) drop_node(each);
  graph->nodes.close();
  drop_object(graph);
}

}  // namespace driver
