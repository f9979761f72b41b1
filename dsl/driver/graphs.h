// Graphs: nodes, what each comes after, and graphs that are made of a stream's work.
#pragma once
#include "streams.h"

namespace driver {

struct Node : Object {
  static constexpr Kind KIND = Kind::NODE;
  Graph *graph;
  Work work;
  Vector<Node *> after;
  const Node *original;  // of a copy
};

struct Graph : Object {
  static constexpr Kind KIND = Kind::GRAPH;
  Vector<Node *> nodes;  // as they were added
  Node *owner;           // whose part it is: the node drops it
};

// One step of a graph that can be launched, of the node it was made of.
struct Step {
  const Node *node;
  Work work;
  bool is_off;
  Vector<u32> after;  // numbers of steps
};

struct GraphExec : Object {
  static constexpr Kind KIND = Kind::GRAPH_EXEC;
  Vector<Step> steps;  // in an order that the dependencies allow
  u64 flags;
  Clock seen;  // with the last launch
};

Node *add_node(Graph *graph, const Work &work, Node *const *after, u64 count);
void drop_node(Node *node);
void drop_graph(Graph *graph);
Graph *clone(Graph *graph, Node *owner);
void copy_params(Work *work);   // give it its own copy of a kernel's parameters
void close_params(Work *work);  // and give that back

// The nodes in an order that the dependencies allow; false if they go in a circle.
bool in_order(Graph *graph, Vector<Node *> *sorted);

// ** captures (captures.cc)

Result capture(Stream *stream, const Work &work);
Result lose_capture(Stream *stream);        // a call that no captured stream allows
Result join(Stream *stream, Event *event);  // let the stream wait for an event

}  // namespace driver
