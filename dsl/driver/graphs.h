// Graphs: nodes, what each comes after, and graphs that are made of a stream's work.
#pragma once
#include "streams.h"

namespace driver {

struct Node : Object {
  static constexpr Kind KIND = Kind::NODE;
  Graph *graph;
  Work work;
  Vector<Node *> after;
};

struct Graph : Object {
  static constexpr Kind KIND = Kind::GRAPH;
  Vector<Node *> nodes;  // as they were added
};

Node *add_node(Graph *graph, const Work &work, Node *const *after, u64 count);
void drop_graph(Graph *graph);
void copy_params(Work *work);  // give it its own copy of a kernel's parameters

// ** captures (captures.cc)

Result capture(Stream *stream, const Work &work);
Result join(Stream *stream, Event *event);  // let the stream wait for an event

}  // namespace driver
