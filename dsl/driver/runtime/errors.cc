// Error codes: the last error of a thread, names and texts.
#include <string.h>

#include "runtime.h"

namespace {

struct ErrorName {
  Error code;
  const char *name, *text;
};

constexpr ErrorName NAMES[] = {
#include "error_names.inc"
};

thread_local Error last_error;
// Errors of a kernel stay: the context cannot be used any more until cudaDeviceReset.
Error context_error;

bool is_final(Error error) {
  return error == ILLEGAL_ADDRESS || error == 702 || error == 710 || (error >= 714 && error <= 719) || error == 214;
}

const ErrorName *row_of(Error error) {
  for (const ErrorName &row : NAMES)
    if (row.code == error) return &row;
  return nullptr;
}

}  // namespace

Error remember(Error error) {
  if (!error) return SUCCESS;
  if (is_final(error)) context_error = error;
  return last_error = error;
}

void forget_context_error() { context_error = SUCCESS; }

API Error cudaGetLastError() {
  Error error = last_error;
  last_error = context_error;
  return error;
}

API Error cudaPeekAtLastError() { return last_error; }

API const char *cudaGetErrorName(Error error) {
  const ErrorName *row = row_of(error);
  return row ? row->name : "unrecognized error code";
}

API const char *cudaGetErrorString(Error error) {
  const ErrorName *row = row_of(error);
  return row ? row->text : "unrecognized error code";
}
