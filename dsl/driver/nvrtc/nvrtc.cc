// NVRTC makes machine code where a program asks for a real architecture (sm_90), and that cannot run here. So this
// libnvrtc.so passes calls on to NVIDIA's, and gives the PTX of the same compilation as its cubin. It is a library
// apart from the driver: cuda.bindings takes NVRTC's functions from any library that is loaded for all.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "../api.h"

extern "C" [[gnu::visibility("default")]] u64 nvrtcVersion(u64, u64, u64, u64, u64, u64);

namespace driver {
namespace {

constexpr u64 INTERNAL_ERROR = 11;  // NVRTC_ERROR_INTERNAL_ERROR
constexpr const char *NAMES[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

using Function = u64(u64, u64, u64, u64, u64, u64);

// NVIDIA's library in a folder; null if there is none, or this one.
void *in_folder(const char *folder, const char *inner) {
  for (const char *name : NAMES) {
    char path[4096];
    if ((u64)snprintf(path, sizeof path, "%s%s/%s", folder, inner, name) >= sizeof path) continue;
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library && dlsym(library, "nvrtcVersion") != (void *)nvrtcVersion) return library;
    if (library) dlclose(library);
  }
  return nullptr;
}

// Where the dynamic linker searches for the program, LD_LIBRARY_PATH first; then where toolkits are.
void *search() {
  void *program = dlopen(nullptr, RTLD_LAZY), *found = nullptr;
  Dl_serinfo size;
  if (program && !dlinfo(program, RTLD_DI_SERINFOSIZE, &size)) {
    auto *folders = (Dl_serinfo *)malloc(size.dls_size);
    *folders = size;
    if (!dlinfo(program, RTLD_DI_SERINFOSIZE, folders) && !dlinfo(program, RTLD_DI_SERINFO, folders))
      for (u32 at = 0; at < folders->dls_cnt && !found; ++at) found = in_folder(folders->dls_serpath[at].dls_name, "");
    free(folders);
  }
  constexpr const char *VARIABLES[] = {"CUDA_HOME", "CUDA_PATH"};
  for (const char *variable : VARIABLES)
    if (const char *home = getenv(variable); home && !found) found = in_folder(home, "/lib64");
  if (!found) found = in_folder("/usr/local/cuda", "/lib64");
  if (!found)
    dprintf(2,
            "gpu-repro: NVRTC is not where the dynamic linker searches; fix: add the folder of %s to LD_LIBRARY_PATH\n",
            *NAMES);
  return found;
}

Function *function(const char *name) {
  static void *library = search();
  return library ? (Function *)dlsym(library, name) : nullptr;
}

}  // namespace
}  // namespace driver

// A function of NVRTC, and the one of NVIDIA's library that it calls.
#define PASS_AS(name, other) \
  extern "C" [[gnu::visibility("default")]] u64 nvrtc##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) { \
    driver::Function *function = driver::function("nvrtc" #other); \
    return function ? function(a, b, c, d, e, f) : driver::INTERNAL_ERROR; \
  }
#define PASS(name) PASS_AS(name, name)

PASS_AS(GetCUBIN, GetPTX)
PASS_AS(GetCUBINSize, GetPTXSize)
PASS(AddNameExpression)
PASS(CompileProgram)
PASS(CreateProgram)
PASS(DestroyProgram)
PASS(GetLTOIR)
PASS(GetLTOIRSize)
PASS(GetLoweredName)
PASS(GetNumSupportedArchs)
PASS(GetOptiXIR)
PASS(GetOptiXIRSize)
PASS(GetPCHCreateStatus)
PASS(GetPCHHeapSize)
PASS(GetPCHHeapSizeRequired)
PASS(GetPTX)
PASS(GetPTXSize)
PASS(GetProgramLog)
PASS(GetProgramLogSize)
PASS(GetSupportedArchs)
PASS(GetTileIR)
PASS(GetTileIRSize)
PASS(SetFlowCallback)
PASS(SetPCHHeapSize)
PASS(Version)

extern "C" [[gnu::visibility("default")]] const char *nvrtcGetErrorString(u32 result) {
  driver::Function *function = driver::function("nvrtcGetErrorString");
  return function ? (const char *)function(result, 0, 0, 0, 0, 0) : "NVRTC_ERROR_INTERNAL_ERROR";
}
