// The names of errors.  CUDA driver API: error handling.
#include "api.h"

namespace driver {
namespace {

struct Row {
  Result code;
  const char *name, *text;
};
#define ERROR(code, name, text) {code, #name, text},
constexpr Row ROWS[] = {
#include "errors.inc"
};
#undef ERROR

const Row *row_of(Result code) {
  for (const Row &each : ROWS)
    if (each.code == code) return &each;
  return nullptr;
}

}  // namespace
}  // namespace driver

using namespace driver;

API(cuGetErrorName)(Result code, const char **text) {
  REFUSE_IF(!text, INVALID_VALUE);
  const Row *row = row_of(code);
  *text = row ? row->name : nullptr;
  return row ? SUCCESS : INVALID_VALUE;
}

API(cuGetErrorString)(Result code, const char **text) {
  REFUSE_IF(!text, INVALID_VALUE);
  const Row *row = row_of(code);
  *text = row ? row->text : nullptr;
  return row ? SUCCESS : INVALID_VALUE;
}
