// Libraries of kernels that a program loads by itself.
#include "registration.h"

DRIVER(cuLibraryLoadData, Library *, const void *, void *, void *, u32, void *, void *, u32)
DRIVER(cuLibraryLoadFromFile, Library *, const char *, void *, void *, u32, void *, void *, u32)
DRIVER(cuLibraryUnload, Library)
DRIVER(cuLibraryGetKernel, Kernel *, Library, const char *)
DRIVER(cuLibraryGetGlobal, Address *, size_t *, Library, const char *)
DRIVER(cuLibraryGetManaged, Address *, size_t *, Library, const char *)
DRIVER(cuLibraryGetUnifiedFunction, void **, Library, const char *)
DRIVER(cuLibraryGetKernelCount, u32 *, Library)
DRIVER(cuLibraryEnumerateKernels, Kernel *, u32, Library)

API Error cudaLibraryLoadData(Library *library, const void *code, void *jit_options, void *jit_values, u32 jit_count,
                              void *options, void *values, u32 count) {
  return call([&] {
    return driver::cuLibraryLoadData(library, code, jit_options, jit_values, jit_count, options, values, count);
  });
}

API Error cudaLibraryLoadFromFile(Library *library, const char *path, void *jit_options, void *jit_values,
                                  u32 jit_count, void *options, void *values, u32 count) {
  return call([&] {
    return driver::cuLibraryLoadFromFile(library, path, jit_options, jit_values, jit_count, options, values, count);
  });
}

API Error cudaLibraryUnload(Library library) {
  return call([&] { return driver::cuLibraryUnload(library); });
}

API Error cudaLibraryGetKernel(Kernel *kernel, Library library, const char *name) {
  return call([&] {
    Error error = driver::cuLibraryGetKernel(kernel, library, name);
    if (!error) accept_kernel(*kernel);
    return error;
  });
}

API Error cudaLibraryGetGlobal(void **address, size_t *bytes, Library library, const char *name) {
  return call([&] { return driver::cuLibraryGetGlobal((Address *)address, bytes, library, name); });
}

API Error cudaLibraryGetManaged(void **address, size_t *bytes, Library library, const char *name) {
  return call([&] { return driver::cuLibraryGetManaged((Address *)address, bytes, library, name); });
}

API Error cudaLibraryGetUnifiedFunction(void **address, Library library, const char *name) {
  return call([&] { return driver::cuLibraryGetUnifiedFunction(address, library, name); });
}

API Error cudaLibraryGetKernelCount(u32 *count, Library library) {
  return call([&] { return driver::cuLibraryGetKernelCount(count, library); });
}

API Error cudaLibraryEnumerateKernels(Kernel *kernels, u32 count, Library library) {
  return call([&] {
    Error error = driver::cuLibraryEnumerateKernels(kernels, count, library);
    for (u32 i = 0; i < count && !error; i++) accept_kernel(kernels[i]);
    return error;
  });
}
