// A clock: how many pieces of each line of work come before something.
#pragma once
#include "api.h"

namespace driver {

// The how manieth piece of which line; lines and pieces are counted from 1.
struct Point {
  u32 line;
  u64 time;
};

struct Clock {
  Vector<u64> done;  // by line

  u64 of(u32 line) const { return line < done.count ? done.data[line] : 0; }
  bool has(const Point &point) const { return of(point.line) >= point.time; }
  void add(const Point &point) {
    while (done.count <= point.line) done.add(0);
    if (done[point.line] < point.time) done[point.line] = point.time;
  }
  void add(const Clock &other) {
    for (u64 line = 1; line < other.done.count; ++line) add(Point{(u32)line, other.done.data[line]});
  }
  Clock copy() const {
    Clock made;
    made.done.append(done.data, done.count);
    return made;
  }
  void close() { done.close(); }
};

}  // namespace driver
