// Kernels and variables that programs know by an address on the host.
#pragma once
#include "runtime.h"

// The kernel of a host address: of a `__global__` function, or a cudaKernel_t itself. Its image is loaded now.
Error kernel_of(const void *host, Kernel *kernel);
// The host address of a kernel; the kernel itself if no `__global__` function is known for it.
const void *host_of(const void *kernel);
// Makes kernel_of accept the kernel, which cudaLibraryGetKernel gave.
void accept_kernel(Kernel kernel);
// Where a `__device__`, `__constant__` or `__managed__` variable is, and its size.
Error variable_of(const void *host, Address *address, size_t *bytes);
// The address of `bytes` of a variable from `offset` on, all of which must be within it.
Error part_of(const void *variable, size_t offset, size_t bytes, void **address);
