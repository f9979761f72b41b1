// What the programs share: each prints what is wrong, and ends with 0 if nothing is.
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static int wrong = 0;

#define CUDA(call) \
  do { \
    cudaError_t error = (call); \
    if (error != cudaSuccess) { \
      printf("%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, cudaGetErrorName(error), cudaGetErrorString(error)); \
      exit(2); \
    } \
  } while (0)

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      wrong++; \
    } \
  } while (0)

#define FAILS(call, expected) \
  do { \
    cudaError_t error = (call); \
    if (error != (expected)) { \
      printf("%s:%d: %s: %s, not %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error), \
             cudaGetErrorName(expected)); \
      wrong++; \
    } \
  } while (0)

template <typename T>
static T *managed(size_t count) {
  T *memory;
  CUDA(cudaMallocManaged(&memory, count * sizeof(T)));
  return memory;
}

static int verdict() {
  printf(wrong ? "%d wrong\n" : "right\n", wrong);
  return wrong != 0;
}
