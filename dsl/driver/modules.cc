// CUDA driver API: module management, library management, linking.
#include "modules.h"

#include <stdio.h>

#include "images.h"
#include "in_process.h"
#include "memory.h"
#include "pieces.h"

namespace driver {
namespace {

enum : u32 { INFO_LOG = 3, INFO_LOG_BYTES = 4, ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };  // CUjit_option

// Where a program wants the compiler's messages.
struct Log {
  char *text;
  u32 room;
};

Log error_log(u32 count, const u32 *options, void *const *values) {
  Log log = {};
  for (u32 i = 0; options && values && i < count; ++i) {
    if (options[i] == ERROR_LOG) log.text = (char *)values[i];
    if (options[i] == ERROR_LOG_BYTES) log.room = (u32)(u64)values[i];
    if (options[i] == INFO_LOG && values[i]) *(char *)values[i] = 0;
  }
  return log;
}

Function *take_function(Module *module, u32 index, Answer &answer) {
  Function *function = make<Function>();
  function->module = module, function->index = index, function->name = answer.take_text();
  for (u32 left = answer.take<u32>(); left; --left) function->params.add(answer.take<Param>());
  function->params_bytes = answer.take<u32>();
  function->static_smem_bytes = answer.take<u32>();
  function->max_threads = answer.take<u32>();
  for (u32 &each : function->threads) each = answer.take<u32>();
  for (u32 &each : function->cluster) each = answer.take<u32>();
  function->most_cluster = answer.take<u32>();
  return function;
}

void drop_module(Module *module) {
  for (Function *each : module->functions) {
    free(each->name);
    each->params.close();
    drop_object(each);
  }
  for (Variable &each : module->variables) {
    remove_variable(each.address);
    free(each.name);
  }
  module->functions.close();
  module->variables.close();
  drop_object(module);
}

Result load(Module **made, const void *image, bool is_library, Log log) {
  if (!made || !image) return INVALID_VALUE;
  Vector<Part> parts;
  Answer known;  // the PTX of an image that the process has compiled
  if (is_in_process())
    if (Result bad = ask_python(Op::IMAGE, (u64)image, 0, &known)) return bad;
  Result result = SUCCESS;
  if (known.bytes.count) parts.add({Packing::PLAIN, known.bytes.count, known.bytes.count, known.bytes.data});
  else result = parts_of(image, &parts);
  if (result) return parts.close(), result;
  Module *module = make<Module>();
  Message message;
  message.put(module->id);
  message.put((u32)parts.count);
  for (Part &part : parts) {
    message.put((u32)part.packing);
    message.put(part.raw_bytes);
    message.put(part.nbytes);
    message.put(part.data, part.nbytes);
  }
  parts.close();
  Answer answer;
  result = ask(Op::LOAD, message, &answer);
  if (result) {
    char *reason = answer.take_text();
    if (log.text && log.room) snprintf(log.text, log.room, "%s", reason);
    if (*reason) tell("%s", reason);
    free(reason);
    return drop_module(module), result;
  }
  module->is_library = is_library;
  u32 count = answer.take<u32>();
  for (u32 index = 0; index < count; ++index) module->functions.add(take_function(module, index, answer));
  for (u32 left = answer.take<u32>(); left; --left) {
    Variable variable = {answer.take_text(), 0, 0};
    variable.address = answer.take<u64>(), variable.nbytes = answer.take<u64>();
    module->variables.add(variable);
    add_variable(variable.address, variable.nbytes);
  }
  *made = module;
  return SUCCESS;
}

Result load_file(Module **made, const char *path, bool is_library, Log log) {
  FILE *file = path ? fopen(path, "rbe") : nullptr;
  if (!file) return FILE_NOT_FOUND;
  Bytes image;
  for (;;) {
    image.reserve(image.count + 65536);
    u64 got = fread(image.data + image.count, 1, 65536, file);
    image.count += got;
    if (!got) break;
  }
  fclose(file);
  u64 end = 0;
  image.append((const u8 *)&end, sizeof end);
  Result result = load(made, image.data, is_library, log);
  image.close();
  return result;
}

Result unload(Module *module) {
  if (!of<Module>(module)) return INVALID_HANDLE;
  wait_for_all(nullptr);
  Message message;
  message.put(module->id);
  drop_module(module);
  if (!helper_runs()) return SUCCESS;
  Answer answer;
  return ask(Op::UNLOAD, message, &answer);
}

Result find_function(Function **found, Module *module, const char *name) {
  if (!found || !name) return INVALID_VALUE;
  if (!of<Module>(module)) return INVALID_HANDLE;
  for (Function *each : module->functions)
    if (!strcmp(each->name, name)) return *found = each, SUCCESS;
  return NOT_FOUND;
}

Result find_variable(Address *address, u64 *nbytes, Module *module, const char *name) {
  if (!name) return INVALID_VALUE;
  if (!of<Module>(module)) return INVALID_HANDLE;
  for (Variable &each : module->variables) {
    if (strcmp(each.name, name) != 0) continue;
    if (address) *address = each.address;
    if (nbytes) *nbytes = each.nbytes;
    return SUCCESS;
  }
  return NOT_FOUND;
}

Result enumerate(Function **functions, u32 room, Module *module) {
  if (!functions) return INVALID_VALUE;
  if (!of<Module>(module)) return INVALID_HANDLE;
  for (u32 i = 0; i < room && i < module->functions.count; ++i) functions[i] = module->functions[i];
  return SUCCESS;
}

Result count_functions(u32 *count, Module *module) {
  if (!count) return INVALID_VALUE;
  if (!of<Module>(module)) return INVALID_HANDLE;
  *count = (u32)module->functions.count;
  return SUCCESS;
}

// Texts that are being linked.
struct Link : Object {
  static constexpr Kind KIND = Kind::LINK;
  Vector<Bytes> texts;
  u8 *image;
};

enum : u32 { INPUT_CUBIN = 0, INPUT_PTX = 1, INPUT_FAT_BINARY = 2 };  // CUjitInputType

Result add_input(Link *link, u32 kind, const u8 *data, u64 nbytes) {
  if (!of<Link>(link)) return INVALID_HANDLE;
  if (!data || !nbytes) return INVALID_VALUE;
  if (kind != INPUT_PTX) return unsupported("cuLinkAddData of other inputs than PTX");
  Bytes text;
  text.append(data, nbytes);
  while (text.count && !text.last()) --text.count;
  link->texts.add(text);
  return SUCCESS;
}

}  // namespace
}  // namespace driver

using namespace driver;

API(cuModuleLoadData)(Module **module, const void *image) {
  ENTER_CONTEXT;
  return load(module, image, false, {});
}

API(cuModuleLoadDataEx)(Module **module, const void *image, u32 count, const u32 *options, void *const *values) {
  ENTER_CONTEXT;
  return load(module, image, false, error_log(count, options, values));
}

API(cuModuleLoadFatBinary)(Module **module, const void *image) { return cuModuleLoadData(module, image); }

API(cuModuleLoad)(Module **module, const char *path) {
  ENTER_CONTEXT;
  return load_file(module, path, false, {});
}

API(cuModuleUnload)(Module *module) {
  ENTER;
  return unload(module);
}

API(cuModuleGetLoadingMode)(u32 *mode) {
  REFUSE_IF(!mode, INVALID_VALUE);
  const char *chosen = getenv("CUDA_MODULE_LOADING");
  *mode = chosen && !strcmp(chosen, "EAGER") ? 1 : 2;  // eager, lazy
  return SUCCESS;
}

API(cuModuleGetFunction)(Function **function, Module *module, const char *name) {
  ENTER_CONTEXT;
  return find_function(function, module, name);
}

API(cuModuleGetGlobal_v2)(Address *address, u64 *nbytes, Module *module, const char *name) {
  ENTER_CONTEXT;
  return find_variable(address, nbytes, module, name);
}

API(cuModuleGetFunctionCount)(u32 *count, Module *module) {
  ENTER_CONTEXT;
  return count_functions(count, module);
}

API(cuModuleEnumerateFunctions)(Function **functions, u32 room, Module *module) {
  ENTER_CONTEXT;
  return enumerate(functions, room, module);
}

// ** libraries, which belong to no context

API(cuLibraryLoadData)(Module **library, const void *image, const u32 *jit_options, void *const *jit_values,
                       u32 jit_count, const u32 *, void *const *, u32) {
  ENTER;
  return load(library, image, true, error_log(jit_count, jit_options, jit_values));
}

API(cuLibraryLoadFromFile)(Module **library, const char *path, const u32 *jit_options, void *const *jit_values,
                           u32 jit_count, const u32 *, void *const *, u32) {
  ENTER;
  return load_file(library, path, true, error_log(jit_count, jit_options, jit_values));
}

API(cuLibraryUnload)(Module *library) {
  ENTER;
  return unload(library);
}

API(cuLibraryGetKernel)(Function **kernel, Module *library, const char *name) {
  ENTER;
  return find_function(kernel, library, name);
}

API(cuLibraryGetKernelCount)(u32 *count, Module *library) {
  ENTER;
  return count_functions(count, library);
}

API(cuLibraryEnumerateKernels)(Function **kernels, u32 room, Module *library) {
  ENTER;
  return enumerate(kernels, room, library);
}

API(cuLibraryGetModule)(Module **module, Module *library) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Module>(library), INVALID_HANDLE);
  REFUSE_IF(!module, INVALID_VALUE);
  *module = library;
  return SUCCESS;
}

API(cuLibraryGetGlobal)(Address *address, u64 *nbytes, Module *library, const char *name) {
  ENTER_CONTEXT;
  return find_variable(address, nbytes, library, name);
}

API(cuLibraryGetManaged)(Address *address, u64 *nbytes, Module *library, const char *name) {
  ENTER;
  return find_variable(address, nbytes, library, name);
}

// ** linking

API(cuLinkCreate_v2)(u32, const u32 *, void *const *, Link **made) {
  ENTER_CONTEXT;
  REFUSE_IF(!made, INVALID_VALUE);
  *made = make<Link>();
  return SUCCESS;
}

API(cuLinkAddData_v2)(Link *link, u32 kind, const u8 *data, u64 nbytes, const char *, u32, const u32 *, void *const *) {
  ENTER_CONTEXT;
  return add_input(link, kind, data, nbytes);
}

API(cuLinkAddFile_v2)(Link *link, u32 kind, const char *path, u32, const u32 *, void *const *) {
  ENTER_CONTEXT;
  FILE *file = path ? fopen(path, "rbe") : nullptr;
  REFUSE_IF(!file, FILE_NOT_FOUND);
  Bytes text;
  u8 part[65536];
  while (u64 got = fread(part, 1, sizeof part, file)) text.append(part, got);
  fclose(file);
  Result result = add_input(link, kind, text.data, text.count);
  text.close();
  return result;
}

API(cuLinkComplete)(Link *link, void **image, u64 *nbytes) {
  ENTER_CONTEXT;
  REFUSE_IF(!of<Link>(link), INVALID_HANDLE);
  REFUSE_IF(!image || !link->texts.count, INVALID_VALUE);
  free(link->image);
  u64 count;
  *image = link->image = linked_image(link->texts, &count);
  if (nbytes) *nbytes = count;
  return SUCCESS;
}

API(cuLinkDestroy)(Link *link) {
  ENTER;
  REFUSE_IF(!of<Link>(link), INVALID_HANDLE);
  for (Bytes &each : link->texts) each.close();
  link->texts.close();
  free(link->image);
  drop_object(link);
  return SUCCESS;
}
