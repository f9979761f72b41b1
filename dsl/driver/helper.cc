#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arena.h"
#include "helper_process.h"
#include "in_process.h"
#include "memory.h"
#include "order.h"

namespace driver {
namespace {

enum class Frame : u32 { ANSWER, OUTPUT, REPORT };  // an answer, what a kernel prints, what is reported
struct Head { u32 what, bytes; };
struct Row {
  Address address;
  u64 nbytes;
};
// Of a size: it is known which bytes were written; the next row has the address of the pages to show there; it has the
// address of the memory of these multimem addresses.
constexpr u64 FOLLOWED = 1ull << 63, SHOWN = 1ull << 62, MULTIMEM = 1ull << 61;

int channel = -1, wake = -1;
bool has_failed;
Vector<Row> pending;  // memory that the helper has not heard of
const u64 MOST_FREED = 64;
Row freed[MOST_FREED];  // the last memory that was freed before there was a helper, in a circle
u64 freed_count;

bool send_all(const void *data, u64 count) {
  for (const u8 *at = (const u8 *)data; count;) {
    ssize_t sent = send(channel, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent, count -= (u64)sent;
  }
  return true;
}

bool receive_all(void *data, u64 count) {
  for (u8 *at = (u8 *)data; count;) {
    ssize_t got = recv(channel, at, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got, count -= (u64)got;
  }
  return true;
}

bool send_message(Op op, const Bytes &bytes) {
  Head head = {(u32)op, (u32)bytes.count};
  return send_all(&head, sizeof head) && send_all(bytes.data, bytes.count);
}

// Wait for the answer; the first word of it is the result.
Result receive_answer(Answer *answer) {
  for (;;) {
    Head head;
    if (!receive_all(&head, sizeof head)) return UNKNOWN;
    answer->bytes.clear();
    answer->bytes.reserve(head.bytes + 1ull);
    answer->bytes.count = head.bytes, answer->at = 0;
    if (!receive_all(answer->bytes.data, head.bytes)) return UNKNOWN;
    if ((Frame)head.what == Frame::ANSWER) return answer->take<u32>();
    if ((Frame)head.what == Frame::OUTPUT) {
      fwrite(answer->bytes.data, 1, head.bytes, stdout);
      fflush(stdout);
    } else {
      fflush(stdout);
      if (write(2, answer->bytes.data, head.bytes) < 0) continue;  // nobody reads it
    }
  }
}

// No kernel runs from now on. The helper adds what it finds to the report (report.py); this it cannot add.
void fail() {
  has_failed = true;
  const char *path = getenv("GPU_REPRO_REPORT");
  int file = path && *path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (file < 0) return;
  dprintf(file,
          "{\"process\": %d, \"command\": [\"?\"], \"level\": \"error\", \"result\": %u, \"kind\": \"no_helper\", "
          "\"text\": \"kernels did not run: the helper process has ended, or could not be started\"}\n",
          getpid(), (u32)LAUNCH_FAILED);
  close(file);
}

Result lost() {
  tell("the helper process, which runs the kernels, has ended");
  close(channel);
  channel = -1;
  fail();
  return LAUNCH_FAILED;
}

Row row_of(const Block &block) { return {block.start, block.bytes | (is_followed(block) ? FOLLOWED : 0)}; }

void add_mapping(Address start, u64 bytes, Address source) {
  pending.add({start, bytes | SHOWN});
  pending.add({source, 0});
}

void add_multimem(Address start, u64 bytes, Address target) {
  pending.add({start, bytes | MULTIMEM});
  pending.add({target, 0});
}

bool start() {
  if (channel >= 0) return true;
  if (has_failed) return false;
  channel = start_helper(&wake);
  if (channel < 0) fail();
  pending.clear();
  for (u64 i = freed_count < MOST_FREED ? 0 : freed_count - MOST_FREED; i < freed_count; ++i) {
    pending.add(freed[i % MOST_FREED]);
    pending.add({freed[i % MOST_FREED].address, 0});
  }
  for_each_mapping(add_mapping);
  for (const Block &each : blocks())
    if (!each.is_away) pending.add(row_of(each));
  for_each_multimem(add_multimem);
  return !has_failed;
}

Result exchange(Op op, const Bytes &bytes, Answer *answer) {
  if (!send_message(op, bytes)) return lost();
  Result result = receive_answer(answer);
  return result == UNKNOWN ? lost() : result;
}

Result tell_memory() {
  if (!pending.count) return SUCCESS;
  Message message;
  message.put(pending.data, pending.count * sizeof(Row));
  pending.clear();
  Answer answer;
  return exchange(Op::MEMORY, message.bytes, &answer);
}

}  // namespace

char *Answer::take_text() {
  u32 count = take<u32>();
  if (at + count > bytes.count) count = 0;
  char *text = strndup((const char *)bytes.data + at, count);
  at += count;
  return text;
}

Result ask(Op op, const Message &message, Answer *answer) {
  if (is_in_process()) return ask_python(op, message.bytes, answer);
  if (!start()) return OPERATING_SYSTEM;
  if (Result failed = tell_memory()) return failed;
  return exchange(op, message.bytes, answer);
}

// Whether the launch ends while this looks at the ring. Else the program is going to sleep, and an answer will come.
static bool ends_soon(Ring *ring) {
  static Patience patience;
  if (patience.wait([=] { return __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == DONE; })) return true;
  u32 posted = POSTED;
  return !__atomic_compare_exchange_n(&ring->state, &posted, (u32)AWAITED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

Result ask_by_ring(void (*fill)(Ring *ring, const void *launch), const void *launch, Answer *answer) {
  if (Result failed = tell_memory()) return failed;
  Ring *ring = (Ring *)arena();
  fill(ring, launch);
  __atomic_store_n(&ring->state, (u32)POSTED, __ATOMIC_SEQ_CST);
  u64 one = 1;
  if (__atomic_load_n(&ring->helper_sleeps, __ATOMIC_SEQ_CST) && write(wake, &one, sizeof one) < 0) return lost();
  if (ends_soon(ring) && !ring->has_frame) return ring->result;
  Result result = receive_answer(answer);
  return result == UNKNOWN ? lost() : result;
}

bool helper_runs() { return channel >= 0 || python_answers(); }

void note_memory(const Block &block) {
  if (channel >= 0) pending.add(row_of(block));
}

void note_mapping(Address start, u64 bytes, Address source) {
  if (channel >= 0) add_mapping(start, bytes, source);
}

void note_multimem(Address start, u64 bytes, Address target) {
  if (channel >= 0) add_multimem(start, bytes, target);
}

void forget_multimem(Address start) {
  if (channel >= 0) pending.add({start, 0});
}

void note_freed(Address address, u64 nbytes) {
  if (channel >= 0) pending.add({address, 0});
  else freed[freed_count++ % MOST_FREED] = {address, nbytes};
}

void leave_helper() {
  if (channel >= 0) close(channel);
  channel = -1, has_failed = true;
  leave_arena();
}

}  // namespace driver
