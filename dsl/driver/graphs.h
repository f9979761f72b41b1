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

// An object of the program whose end it hears of. Graphs hold it, and what is made of them.
struct UserObject {
  void (*end)(void *);
  void *argument;
  u32 count;
};
struct Held {
  UserObject *object;
  u32 count;
};

struct Graph : Object {
  static constexpr Kind KIND = Kind::GRAPH;
  Vector<Node *> nodes;  // as they were added
  Node *owner;           // whose part it is: the node drops it
  Vector<Held> objects;
  Vector<Fill> first_values;  // of conditions, at each launch
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
  Vector<Held> objects;
};

void drop_exec(GraphExec *exec);
Result instantiate(GraphExec **made, Graph *graph, u64 flags);

// ** conditions (conditions.cc)

Graph **clone_bodies(const Condition &condition, Node *owner);
void drop_bodies(const Condition &condition);
Result make_execs(Condition *condition, u64 flags);
void drop_execs(const Condition &condition);
bool has_condition(const GraphExec *exec);

// Do what the word that decides says, each piece of work by `perform`.
Result run(const Condition &condition, Result (*perform)(const Work &, const void *), const void *argument);

Node *add_node(Graph *graph, const Work &work, Node *const *after, u64 count);
void drop_node(Node *node);
void drop_graph(Graph *graph);
Graph *clone(Graph *graph, Node *owner);
void copy_params(Work *work);         // give it its own copy of a kernel's parameters, or a hold on memory
void close_params(Work *work);        // and give that back
Result take_memory(GraphExec *exec);  // for a launch

void hold_objects(Vector<Held> *objects, const Vector<Held> &more);
void release(UserObject *object, u32 count);
void release_objects(Vector<Held> *objects);  // the program's functions run without the lock

// The nodes in an order that the dependencies allow; false if they go in a circle.
bool in_order(Graph *graph, Vector<Node *> *sorted);

// ** captures (captures.cc)

Result capture(Stream *stream, const Work &work);
Result lose_capture(Stream *stream);        // a call that no captured stream allows
Result join(Stream *stream, Event *event);  // let the stream wait for an event

}  // namespace driver
