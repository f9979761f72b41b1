// Streams. Work is done before the call that adds it returns, so a stream is always empty.
#pragma once
#include "contexts.h"
#include "work.h"

namespace driver {

struct Node;
struct Stream;

// Streams whose work becomes a graph.
struct Capture {
  Graph *graph;
  Stream *origin;
  u64 id;
  u32 mode;
  bool is_lost;
};

struct Stream : Object {
  static constexpr Kind KIND = Kind::STREAM;
  u32 flags;
  int priority;
  Context *context;
  Capture *capture;
  Vector<Node *> last;  // what the next node of the capture comes after
};

struct Event : Object {
  static constexpr Kind KIND = Kind::EVENT;
  u32 flags;
  bool is_recorded;
  u64 at_ns;
  Capture *capture;  // of the stream that it was recorded in
  Vector<Node *> after;
};

// The stream of a handle; the null stream and its like are streams too. nullptr if it is none.
Stream *stream_of(void *handle);

// Do a piece of work, or note it where the stream is captured. The program's callback runs without the lock, which the
// caller holds once.
Result enqueue(void *stream, const Work &work);

void record(Event *event);

}  // namespace driver
