// Images of a program, and their kernels and variables: what code that nvcc generates calls before main().
// An image is loaded when its first kernel or variable is used, so a program that uses none needs no device.
#include "registration.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

DRIVER(cuLibraryLoadData, Library *, const void *, void *, void *, u32, void *, void *, u32)
DRIVER(cuLibraryUnload, Library)
DRIVER(cuLibraryGetKernel, Kernel *, Library, const char *)
DRIVER(cuLibraryGetGlobal, Address *, size_t *, Library, const char *)
DRIVER(cuLibraryGetManaged, Address *, size_t *, Library, const char *)

namespace {

struct Image {
  const void *wrapper;
  Library library;
  Error error;
  bool loaded;
};

// A kernel or a variable.
struct Symbol {
  const void *host;
  const char *name;
  Image *image;    // null for a kernel that accept_kernel() was given
  void **managed;  // the host's pointer to a managed variable
  size_t bytes;
  bool variable;
  Kernel kernel = nullptr;
  Address address;
};

// The symbols by host address: open addressing in a table that is at most half full.
struct Table {
  Symbol *rows;
  size_t capacity, used;

  static size_t slot(const void *host) { return (u64)host * 0x9E3779B97F4A7C15ull >> 20; }

  Symbol *row_of(const void *host) const {
    size_t i = slot(host) & (capacity - 1);
    while (rows[i].host && rows[i].host != host) i = (i + 1) & (capacity - 1);
    return &rows[i];
  }

  Symbol *find(const void *host) const {
    if (!capacity || !host) return nullptr;
    Symbol *row = row_of(host);
    return row->host ? row : nullptr;
  }

  void add(const Symbol &symbol) {
    if (2 * used >= capacity) resize(capacity ? 2 * capacity : 64, nullptr);
    Symbol *row = row_of(symbol.host);
    used += !row->host;
    *row = symbol;
  }

  // A table of that capacity without the symbols of `image`.
  void resize(size_t larger, const Image *image) {
    Table before = *this;
    *this = {(Symbol *)calloc(larger, sizeof(Symbol)), larger, 0};
    for (size_t i = 0; i < before.capacity; i++)
      if (before.rows[i].host && (!image || before.rows[i].image != image)) {
        *row_of(before.rows[i].host) = before.rows[i];
        used++;
      }
    free(before.rows);
  }
};

struct Locked {
  static pthread_mutex_t mutex;
  Locked() { pthread_mutex_lock(&mutex); }
  ~Locked() { pthread_mutex_unlock(&mutex); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;
};
pthread_mutex_t Locked::mutex = PTHREAD_MUTEX_INITIALIZER;

Table table;

Error load(Image *image) {
  if (!image->loaded) {
    image->error = driver::cuLibraryLoadData(&image->library, image->wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0);
    image->loaded = true;
  }
  return image->error;
}

Error find_kernel(Symbol *symbol) {
  if (symbol->kernel) return SUCCESS;
  if (Error error = load(symbol->image)) return error;
  Error error = driver::cuLibraryGetKernel(&symbol->kernel, symbol->image->library, symbol->name);
  return error == SYMBOL_NOT_FOUND ? INVALID_DEVICE_FUNCTION : error;
}

Error find_variable(Symbol *symbol) {
  if (symbol->address) return SUCCESS;
  if (Error error = load(symbol->image)) return error;
  auto &get = symbol->managed ? driver::cuLibraryGetManaged : driver::cuLibraryGetGlobal;
  size_t bytes = 0;
  Error error = get(&symbol->address, &bytes, symbol->image->library, symbol->name);
  if (!error && symbol->managed) *symbol->managed = (void *)symbol->address;
  return error == SYMBOL_NOT_FOUND ? INVALID_SYMBOL : error;
}

// The managed variable whose memory has that address: `&variable` is such an address.
Symbol *managed_at(const void *address) {
  for (size_t i = 0; i < table.capacity; i++)
    if (table.rows[i].host && table.rows[i].managed && *table.rows[i].managed == address) return &table.rows[i];
  return nullptr;
}

}  // namespace

Error kernel_of(const void *host, Kernel *kernel) {
  Locked locked;
  Symbol *symbol = table.find(host);
  if (!symbol || symbol->variable) return INVALID_DEVICE_FUNCTION;
  Error error = find_kernel(symbol);
  *kernel = symbol->kernel;
  return error;
}

const void *host_of(const void *kernel) {
  Locked locked;
  for (size_t i = 0; i < table.capacity; i++)
    if (table.rows[i].host && table.rows[i].kernel == kernel) return table.rows[i].host;
  return kernel;
}

void accept_kernel(Kernel kernel) {
  Locked locked;
  table.add({.host = kernel, .kernel = kernel});
}

Error variable_of(const void *host, Address *address, size_t *bytes) {
  Locked locked;
  Symbol *symbol = table.find(host);
  if (!symbol) symbol = managed_at(host);
  if (!symbol || !symbol->variable) return INVALID_SYMBOL;
  if (Error error = find_variable(symbol)) return error;
  *address = symbol->address;
  *bytes = symbol->bytes;
  return SUCCESS;
}

Error part_of(const void *variable, size_t offset, size_t bytes, void **address) {
  Address start = 0;
  size_t size = 0;
  if (Error error = variable_of(variable, &start, &size)) return error;
  if (offset > size || bytes > size - offset) return INVALID_VALUE;
  *address = (void *)(start + offset);
  return SUCCESS;
}

API void **__cudaRegisterFatBinary(void *wrapper) {
  auto image = (Image *)calloc(1, sizeof(Image));
  image->wrapper = wrapper;
  return (void **)image;
}

API void __cudaRegisterFatBinaryEnd(void **) {}

API void __cudaUnregisterFatBinary(void **handle) {
  auto image = (Image *)handle;
  Locked locked;
  if (table.capacity) table.resize(table.capacity, image);
  if (image->library) driver::cuLibraryUnload(image->library);
  free(image);
}

API void __cudaRegisterFunction(void **handle, const void *host, char *, const char *name, int, void *, void *, void *,
                                void *, int *) {
  Locked locked;
  table.add({.host = host, .name = name, .image = (Image *)handle});
}

API void __cudaRegisterVar(void **handle, const void *host, char *, const char *name, int, size_t bytes, int, int) {
  Locked locked;
  table.add({.host = host, .name = name, .image = (Image *)handle, .bytes = bytes, .variable = true});
}

API void __cudaRegisterManagedVar(void **handle, void **pointer, char *host, const char *name, int, size_t bytes, int,
                                  int) {
  Locked locked;
  table.add({.host = host ? (const void *)host : (const void *)pointer,
             .name = name,
             .image = (Image *)handle,
             .managed = pointer,
             .bytes = bytes,
             .variable = true});
}

// Gives the host its pointers to the managed variables of an image.
API char __cudaInitModule(void **handle) {
  if (remember(ready())) return 0;
  Locked locked;
  Error error = load((Image *)handle);
  for (size_t i = 0; i < table.capacity && !error; i++)
    if (table.rows[i].host && table.rows[i].image == (Image *)handle && table.rows[i].managed)
      error = find_variable(&table.rows[i]);
  return (char)!remember(error);
}

API Error __cudaGetKernel(Kernel *kernel, const void *host) {
  return call([&] { return kernel_of(host, kernel); });
}

API Error cudaGetKernel(Kernel *kernel, const void *host) { return __cudaGetKernel(kernel, host); }
