#include "pieces.h"

#include <signal.h>
#include <unistd.h>

#include "contexts.h"
#include "graphs.h"

namespace driver {
namespace {

constexpr u64 MOST = 128;  // pieces that wait; a GPU's queue has an end too
constexpr u32 LOOK_US = 20'000, IDLE_LOOKS = 5;

Vector<Piece *> waiting;  // in the order they were added
u64 state;

// xorshift64*
u64 random_below(u64 count) {
  if (!state) state = seed() * 0x9e3779b97f4a7c15 | 1;
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return (state * 0x2545f4914f6cdd1d >> 32) % count;
}

void close(Piece *piece) {
  close_params(&piece->work);
  piece->before.close(), piece->staged.close();
  free(piece);
}

// Work of a graph that a condition runs: it comes after what the condition comes after, and after what ran before it.
Result perform_inner(const Work &work, const void *condition) {
  Piece piece = *(const Piece *)condition;
  piece.work = work;
  piece.before = piece.before.copy();
  piece.before.add(piece.point);
  if (looks_for_races() && may_overlap) tell_piece(piece, false);
  Result result = run(work);
  piece.before.close();
  return result;
}

// A call of the program may tell it that all before it in the stream is done.
Result perform(const Piece &piece) {
  bool is_alone = !waiting.count;
  if (looks_for_races() && may_overlap) tell_piece(piece, is_alone);
  Result result =
      piece.work.type == Type::CONDITION ? run(piece.work.condition, perform_inner, &piece) : run(piece.work);
  if (piece.work.type == Type::HOST) program_clock.add(piece.before);
  return result;
}

bool is_ready(const Piece &piece) {
  if (piece.is_running) return false;
  for (Piece *other : waiting)
    if (piece.before.has(other->point)) return false;
  return true;
}

// Do one of those that may come next; false if there is none.
bool perform_one() {
  static Vector<Piece *> ready;
  ready.clear();
  for (Piece *each : waiting)
    if (is_ready(*each)) ready.add(each);
  if (!ready.count) return false;
  Piece *piece = ready[random_below(ready.count)];
  piece->is_running = true;
  if (Result error = perform(*piece)) lose(piece->context, error);
  for (u64 at = waiting.count; at--;)
    if (waiting[at] == piece) waiting.remove(at);
  close(piece);
  return true;
}

bool is_missing(const Clock &clock) {
  for (Piece *each : waiting)
    if (clock.has(each->point)) return true;
  return false;
}

// A program may wait for work without a call: by looking at memory, or for its own function. So work goes on when the
// program has called nothing for a while.
void *go_on(void *) {
  u64 calls = 0;
  for (u32 idle = 0;;) {
    usleep(LOOK_US);
    Guard guard;
    idle = calls == calls_of_program ? idle + 1 : 0;
    if (idle >= IDLE_LOOKS) perform_one();
    calls = calls_of_program;
  }
}

void start_going_on() {
  static bool has_started;
  if (has_started) return;
  has_started = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  if (!pthread_create(&thread, nullptr, go_on, nullptr)) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void keep_for_later(const Piece &piece) {
  Piece *kept = (Piece *)calloc(1, sizeof(Piece));
  if (!kept) abort();
  *kept = piece;
  copy_params(&kept->work);
  if (piece.how != How::IN_GRAPH) stage(&kept->work, &kept->staged);
  waiting.add(kept);
  start_going_on();
  while (waiting.count > MOST && perform_one()) {}
}

Result add(Piece piece) {
  if (seed()) return keep_for_later(piece), SUCCESS;
  Result result = perform(piece);
  piece.before.close();
  return result;
}

Piece piece_of(Stream *stream, const Work &work, How how) {
  return {work, how, {}, {}, current(), stream->number, !(stream->flags & 1), false, {}};
}

}  // namespace

Result add_piece(Stream *stream, const Work &work, How how) {
  if (Result bad = check(work)) return bad;
  Waits waits = waits_of(work, how);
  catch_up(stream);
  if (waits == Waits::BEFORE && how == How::FOR_PROGRAM) wait_for(stream->seen);
  Piece piece = piece_of(stream, work, how);
  piece.before = stream->seen.copy();
  piece.point = next_piece(stream);
  if (Result bad = add(piece)) return bad;
  if (waits != Waits::UNTIL_DONE) return SUCCESS;  // an error of the work is one of the next call
  wait_for(stream->seen);
  return piece.context ? piece.context->lost : SUCCESS;
}

namespace {

// A launch of a graph in a stream. Each step comes after those it depends on, and after what was in the stream.
struct GraphLaunch {
  Stream *stream;
  Clock start = stream->seen.copy();
  Vector<Point> points = {};
  Vector<Clock> ends = {};
  Vector<u32> taken = {};  // lines

  // The line of a step that it comes after, if that is the last of the line, or another line.
  u32 line_of(const Step &step, const Clock &before) {
    for (u64 i = 0; i < step.after.count; ++i) {
      const Point &point = points[step.after.data[i]];
      if (is_last(point)) return point.line;
    }
    return taken.add(take_line(before));
  }

  Result add(const Step &step) {
    Piece piece = piece_of(stream, step.work, How::IN_GRAPH);
    piece.before = start.copy();
    for (u64 i = 0; i < step.after.count; ++i) piece.before.add(ends[step.after.data[i]]);
    Event *event = of<Event>(step.work.record.event);
    if (step.work.type == Type::WAIT && event) piece.before.add(event->seen);
    piece.point = next_of(line_of(step, piece.before));
    points.add(piece.point);
    ends.add(piece.before.copy()).add(piece.point);
    stream->seen.add(ends.last());
    if (step.work.type == Type::RECORD && event) expect(event, ends.last());
    if (step.is_off) piece.work = Type::EMPTY;
    return driver::add(piece);
  }

  void close() {
    for (u32 line : taken) give_line_back(line);
    for (Clock &each : ends) each.close();
    ends.close(), points.close(), taken.close(), start.close();
  }
};

}  // namespace

// A launch comes after the one before of the same graph (CUDA driver API, cuGraphLaunch).
Result add_graph(Stream *stream, GraphExec *exec) {
  catch_up(stream);
  stream->seen.add(exec->seen);
  GraphLaunch launch = {stream};
  Result result = SUCCESS;
  for (u64 i = 0; i < exec->steps.count && !result; ++i) result = launch.add(exec->steps[i]);
  launch.close();
  come_after(stream, exec->seen);
  exec->seen.add(stream->seen);
  return result;
}

void wait_for(const Clock &clock) {
  Clock until = clock.copy();  // the original may grow
  while (is_missing(until)) {
    if (perform_one()) continue;
    Unlocked unlocked;  // another thread is at it
    usleep(100);
  }
  program_clock.add(until);
  until.close();
}

bool has_ended(const Clock &clock) {
  if (is_missing(clock)) perform_one();
  if (is_missing(clock)) return false;
  program_clock.add(clock);
  return true;
}

Result wait_for_all(Context *context) {
  if (follows_order()) wait_for(all_clock);
  return context ? context->lost : SUCCESS;
}

}  // namespace driver
