#include "order.h"

#include "in_process.h"

namespace driver {
namespace {

struct Line {
  u64 last;
  bool is_free;
};
Vector<Line> lines;  // the first is none
Clock blocking;      // of the streams that the legacy default stream waits for

constexpr u32 NON_BLOCKING = 1;  // CUstream_flags

bool is_blocking(const Stream *stream) { return !stream->is_legacy && !(stream->flags & NON_BLOCKING); }

const char *variable(const char *name, const char *former) {
  const char *text = getenv(name);
  return text && *text ? text : former ? getenv(former) : nullptr;
}

bool names(const char *check) {
  const char *checks = variable("GPU_REPRO_CHECK", "DSL_CHECK");
  return checks && (strstr(checks, check) || !strcmp(checks, "all"));
}

}  // namespace

bool may_overlap;
Clock program_clock, all_clock;

u64 seed() {
  static const char *text = variable("GPU_REPRO_SEED", nullptr);
  static u64 number = text ? strtoull(text, nullptr, 10) : 0;
  return is_in_process() ? 0 : number;
}

bool looks_for_races() {
  static bool are_looked_for = names("race");
  return are_looked_for && !is_in_process();
}

bool follows_writes() {
  static bool are_followed = names("undefined");
  return are_followed && !is_in_process();
}

bool follows_order() { return looks_for_races() || seed(); }

void come_after(Stream *stream, const Clock &clock) {
  catch_up(stream);
  stream->seen.add(clock);
  if (is_blocking(stream)) blocking.add(stream->seen);
}

void catch_up(Stream *stream) {
  stream->seen.add(program_clock);
  if (stream->is_legacy) stream->seen.add(blocking);
  else if (is_blocking(stream)) stream->seen.add(stream_of(nullptr)->seen);
}

Point next_piece(Stream *stream) {
  catch_up(stream);
  if (!stream->line) stream->line = take_line(stream->seen);
  Point point = next_of(stream->line);
  stream->seen.add(point);
  if (is_blocking(stream)) blocking.add(stream->seen);
  return point;
}

u32 take_line(const Clock &clock) {
  if (!lines.count) lines.add({0, false});
  for (u32 line = 1; line < lines.count; ++line)
    if (lines[line].is_free && clock.has({line, lines[line].last})) return lines[line].is_free = false, line;
  lines.add({0, false});
  return (u32)lines.count - 1;
}

void give_line_back(u32 line) {
  if (line) lines[line].is_free = true;
}

Point next_of(u32 line) {
  Point point = {line, ++lines[line].last};
  all_clock.add(point);
  return point;
}

bool is_last(const Point &point) { return lines[point.line].last == point.time; }

}  // namespace driver
