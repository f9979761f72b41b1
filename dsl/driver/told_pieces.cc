// What the helper is told of pieces of work, so that it finds races between them: dsl/driver/overlap.py.
#include <dlfcn.h>
#include <stdio.h>

#include "contexts.h"
#include "helper.h"
#include "pieces.h"

namespace driver {
namespace {

// As messages.py reads it.
struct Head {
  u32 type, how, stream, is_blocking, line, lines, known_lines, name_bytes;
  u64 time;
};

// Whether the program calls the CUDA runtime: then reports have its names.
bool has_runtime() {
  static bool has = dlsym(RTLD_DEFAULT, "cudaLaunchKernel") != nullptr;
  return has;
}

const char *direction(const Copy &copy) {
  return copy.is_to_device ? copy.is_from_device ? "DtoD" : "HtoD" : copy.is_from_device ? "DtoH" : "";
}

// The function that adds such a piece.
void name(const Piece &piece, char *text, u64 room) {
  bool is_in_stream = piece.how != How::FOR_PROGRAM;
  const char *async = is_in_stream ? "Async" : "", *prefix = has_runtime() ? "cuda" : "cu";
  const Work &work = piece.work;
  u32 dimensions = work.box.box.depth > 1 ? 3 : 2;
  switch (work.type) {
    case Type::COPY:
      if (work.is_box) snprintf(text, room, "%sMemcpy%uD%s", prefix, dimensions, async);
      else snprintf(text, room, "%sMemcpy%s%s", prefix, has_runtime() ? "" : direction(work.copy), async);
      return;
    case Type::FILL:
      if (work.fill.is_strong) snprintf(text, room, "cuStreamWriteValue%u", work.fill.element_bytes * 8);
      else if (has_runtime()) snprintf(text, room, "cudaMemset%s", async);
      else snprintf(text, room, "cuMemsetD%u%s", work.fill.element_bytes * 8, async);
      return;
    case Type::ALLOCATE: snprintf(text, room, "%s", has_runtime() ? "cudaMallocAsync" : "cuMemAllocAsync"); return;
    case Type::FREE: snprintf(text, room, "%s", has_runtime() ? "cudaFreeAsync" : "cuMemFreeAsync"); return;
    default: text[0] = 0;
  }
}

}  // namespace

void tell_piece(const Piece &piece, bool is_known) {
  static Vector<Access> accesses;
  accesses.clear();
  add_accesses(piece.work, &accesses);
  if (piece.work.type != Type::KERNEL && !accesses.count) return;
  char text[64];
  name(piece, text, sizeof text);
  const Clock nothing, &known = is_known ? program_clock : nothing;
  Head head = {(u32)piece.work.type,  (u32)piece.how | (has_runtime() ? 4u : 0),
               piece.stream,          piece.is_blocking,
               piece.point.line,      (u32)piece.before.done.count,
               (u32)known.done.count, (u32)strlen(text),
               piece.point.time};
  Message message;
  message.put(head);
  message.put(text, head.name_bytes);
  message.put(piece.before.done.data, head.lines * sizeof(u64));
  message.put(known.done.data, head.known_lines * sizeof(u64));
  message.put(accesses.data, accesses.count * sizeof(Access));
  Answer answer;
  Result result = ask(Op::PIECE, message, &answer);
  if (result && piece.context) lose(piece.context, result);
}

}  // namespace driver
