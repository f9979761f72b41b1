// Streams and events. pieces.h has when their work is done.
#pragma once
#include "clock.h"
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
  bool is_of_program;  // the graph, which exists already
  pthread_t thread;    // that began it
};

// What must not be called while streams are captured. The captures that forbid it are lost.
Result captures_allow();                // calls that may add work by themselves: allocations, frees
Result captures_allow_synchronizing();  // waiting for all work
Result captures_allow_legacy_stream();  // any use of it: it stands for all blocking streams
void drop_capture(Stream *stream);      // its origin ends

struct Stream : Object {
  static constexpr Kind KIND = Kind::STREAM;
  u32 flags;
  int priority;
  Context *context;
  Capture *capture;
  Vector<Node *> last;  // what the next node of the capture comes after
  bool is_legacy;       // the default stream of all threads
  u32 number;           // for reports
  u32 line;             // of its pieces; 0: none yet
  Clock seen;           // what the next piece comes after
};
enum : u32 { LEGACY_NUMBER, OF_THREAD_NUMBER, FIRST_NUMBER };  // then in the order of their creation

struct Event : Object {
  static constexpr Kind KIND = Kind::EVENT;
  u32 flags;
  bool is_recorded;
  u64 at_ns;
  Capture *capture;  // of the stream that it was recorded in
  Vector<Node *> after;
  Clock seen;  // what has ended when the event has come
};

// How a function of the API adds work: it returns at once if it can, or waits where CUDA does; or launches a graph.
enum class How : u32 { IN_STREAM, FOR_PROGRAM, IN_GRAPH };

// The stream of a handle; the null stream and its like are streams too. nullptr if it is none.
Stream *stream_of(void *handle);

// Do a piece of work, or note it where the stream is captured. The program's callback runs without the lock, which the
// caller holds once.
Result enqueue(void *stream, const Work &work, How how = How::IN_STREAM);

Result record(Event *event, Stream *stream);    // in a stream that is not captured
void expect(Event *event, const Clock &clock);  // it was recorded, and comes after what the clock has

}  // namespace driver
