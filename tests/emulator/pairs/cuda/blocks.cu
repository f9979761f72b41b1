// Mistakes within a block, each a kernel that is right with RIGHT defined. `found:` marks the line of each finding.
#define WARP 0xffffffffu

// A sum over the block, as many libraries have it: its shared array is free again only after a barrier.
static __device__ float block_sum(float value) {
  static __shared__ float of_warps[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(WARP, value, step);
#ifdef RIGHT
  __syncthreads();
#endif
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? of_warps[lane] : 0.0f;  // found: variance
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(WARP, value, step);
  return value;
}

// The mean and then the variance of a row: two sums.
extern "C" __global__ void variance(const float* x, float* out) {
  float value = x[blockIdx.x * blockDim.x + threadIdx.x];
  float mean = block_sum(value) / blockDim.x;
  float square = block_sum((value - mean) * (value - mean)) / blockDim.x;
  if (threadIdx.x == 0) out[blockIdx.x] = square;
}

// The last warp of a tree, as it was written before Volta.
extern "C" __global__ void last_warp(const int* x, int* out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];  // found: last_warp
#pragma unroll
    for (int step = 16; step; step /= 2) {
#ifdef RIGHT
      __syncwarp();
      int other = t < step ? s[t + step] : 0;
      __syncwarp();
      s[t] += other;
#else
      if (t < step) s[t] += s[t + step];
#endif
    }
  }
  if (t == 0) *out = s[0];
}

// Rows of a tile that only some threads have: the barrier is inside the condition.
extern "C" __global__ void guarded(const int* x, int* out, int n) {
  __shared__ int s[128];
  int t = threadIdx.x;
  if (t < n) {
    s[t] = x[t];
#ifdef RIGHT
  }
  __syncthreads();
#else
    __syncthreads();  // found: guarded
  }
#endif
  out[t] = t < n ? s[n - 1 - t] : 0;
}

// A sum of the first n lanes that names all lanes in the branch.
extern "C" __global__ void some_lanes(const int* x, int* out, int n) {
  int t = threadIdx.x, value = t < n ? x[t] : 0;
#ifndef RIGHT
  if (t < n)
#endif
    for (int step = 16; step; step /= 2) value += __shfl_down_sync(WARP, value, step);  // found: some_lanes
  if (t == 0) *out = value;
}

// Tiles transposed one after another through one tile of shared memory.
extern "C" __global__ void transposed(const int* x, int* out, int tiles) {
  __shared__ int tile[16][17];
  int column = threadIdx.x % 16, row = threadIdx.x / 16;
  for (int i = 0; i < tiles; i++) {
    tile[row][column] = x[i * 256 + row * 16 + column];
    __syncthreads();
    out[i * 256 + row * 16 + column] = tile[column][row];  // found: transposed
#ifdef RIGHT
    __syncthreads();
#endif
  }
}

// A stencil with a halo of one: nobody fills the cell after the last one.
extern "C" __global__ void halo(const float* x, float* out, int n) {
  __shared__ float s[130];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t + 1] = x[i];
  if (t == 0) s[0] = i ? x[i - 1] : 0.0f;
#ifdef RIGHT
  if (t == blockDim.x - 1) s[t + 2] = i + 1 < n ? x[i + 1] : 0.0f;
#else
  if (t == blockDim.x - 1 && i + 1 < n) s[t + 2] = x[i + 1];
#endif
  __syncthreads();
  out[i] = s[t] + s[t + 1] + s[t + 2];  // found: halo
}

// Vectors of four in rows of a width that four does not divide.
extern "C" __global__ void vectors(const float* x, float* out, int width) {
  int row = blockIdx.x, t = threadIdx.x;
#ifdef RIGHT
  for (int i = 4 * t; i < 4 * t + 4 && i < width; i++) out[row * width + i] = 2.0f * x[row * width + i];
#else
  if (4 * t + 3 < width) {
    float4 v = reinterpret_cast<const float4*>(x + row * width)[t];  // found: vectors
    for (int k = 0; k < 4; k++) out[row * width + 4 * t + k] = 2.0f * (&v.x)[k];
  }
  for (int i = width / 4 * 4 + t; i < width; i += blockDim.x) out[row * width + i] = 2.0f * x[row * width + i];
#endif
}

// Two arrays in dynamic shared memory; the launch counts one of them. The right one takes half as many words.
extern "C" __global__ void two_arrays(const int* x, int* out) {
  extern __shared__ int space[];
#ifdef RIGHT
  short* keys = reinterpret_cast<short*>(space);
  short* values = keys + blockDim.x;
#else
  int* keys = space;
  int* values = space + blockDim.x;
#endif
  int t = threadIdx.x;
  keys[t] = blockDim.x - 1 - t;
  values[t] = x[t];  // found: two_arrays
  __syncthreads();
  out[t] = values[keys[t]];
}
