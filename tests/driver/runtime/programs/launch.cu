// `<<<>>>`: one to three dimensions, arguments of several sizes, a struct, templates, a launch inside an argument.
#include "check.h"

struct Line {
  double slope;
  float offset;
  char sign;
};

template <typename T, int STEP>
__global__ void axpy(T a, const T *x, T *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += STEP * gridDim.x * blockDim.x) y[i] += a * x[i];
}

__global__ void apply(Line line, short shift, float *out) {
  int i = threadIdx.x;
  out[i] = line.sign * (float)(line.slope * i) + line.offset + shift;
}

__global__ void index3(int *out) {
  dim3 at(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
          blockIdx.z * blockDim.z + threadIdx.z);
  int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(at.z * height + at.y) * width + at.x] = at.x + 100 * at.y + 10000 * at.z;
}

static int threads_after_a_launch(int *memory) {
  index3<<<1, 1>>>(memory);
  return 8;
}

int main() {
  const int N = 1000;
  float *x, *y, host[N];
  CUDA(cudaMalloc(&x, sizeof host));
  CUDA(cudaMalloc(&y, sizeof host));
  for (int i = 0; i < N; i++) host[i] = i;
  CUDA(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(y, host, sizeof host, cudaMemcpyHostToDevice));
  axpy<float, 1><<<4, 64>>>(2.f, x, y, N);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++) CHECK(host[i] == 3.f * i);

  double doubles[N], *dx, *dy;
  for (int i = 0; i < N; i++) doubles[i] = i / 8.;
  CUDA(cudaMalloc(&dx, sizeof doubles));
  CUDA(cudaMalloc(&dy, sizeof doubles));
  CUDA(cudaMemcpy(dx, doubles, sizeof doubles, cudaMemcpyDefault));
  CUDA(cudaMemset(dy, 0, sizeof doubles));
  axpy<double, 1><<<3, 128>>>(-1., dx, dy, N);
  CUDA(cudaMemcpy(doubles, dy, sizeof doubles, cudaMemcpyDefault));
  for (int i = 0; i < N; i++) CHECK(doubles[i] == -i / 8.);

  apply<<<1, 32>>>(Line{0.5, 3.f, -1}, 7, x);
  CUDA(cudaMemcpy(host, x, 32 * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) CHECK(host[i] == -0.5f * i + 10);

  int *out, boxes[8 * 6 * 4];
  CUDA(cudaMalloc(&out, sizeof boxes));
  index3<<<dim3(2, 3, 2), dim3(4, 2, 2)>>>(out);
  CUDA(cudaMemcpy(boxes, out, sizeof boxes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8 * 6 * 4; i++) CHECK(boxes[i] == i % 8 + 100 * (i / 8 % 6) + 10000 * (i / 48));

  index3<<<1, threads_after_a_launch(out)>>>(out);
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(boxes, out, 32, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; i++) CHECK(boxes[i] == i);
  for (void *each : {(void *)x, (void *)y, (void *)dx, (void *)dy, (void *)out}) CUDA(cudaFree(each));
  return verdict();
}
