// Pitched memory: copies and fills in two and three dimensions.
#include "check.h"

int main() {
  const size_t WIDTH = 37, HEIGHT = 5, DEPTH = 3;
  unsigned char host[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH + 3];
  for (size_t i = 0; i < sizeof host; i++) ((unsigned char *)host)[i] = i * 11;

  void *device;
  size_t pitch;
  CUDA(cudaMallocPitch(&device, &pitch, WIDTH, HEIGHT));
  CHECK(pitch >= WIDTH && pitch % 32 == 0);
  CUDA(cudaMemset2D(device, pitch, 0xEE, WIDTH, HEIGHT));
  CUDA(cudaMemcpy2D(device, pitch, host[1][0] + 2, WIDTH, WIDTH - 2, HEIGHT, cudaMemcpyHostToDevice));
  memset(back, 0x55, sizeof back);
  CUDA(cudaMemcpy2D(back, WIDTH + 3, device, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
  for (size_t y = 0; y < HEIGHT; y++)
    for (size_t x = 0; x < WIDTH + 3; x++)
      CHECK(back[0][y][x] == (x < WIDTH - 2 ? host[1][y][x + 2] : x < WIDTH ? 0xEE : 0x55));
  FAILS(cudaMemcpy2D(back, WIDTH - 1, device, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost),
        cudaErrorInvalidPitchValue);

  cudaPitchedPtr box;
  cudaExtent extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
  CUDA(cudaMalloc3D(&box, extent));
  CUDA(cudaMemset3D(box, 0x77, extent));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host, WIDTH, WIDTH, HEIGHT);
  copy.srcPos = make_cudaPos(3, 1, 1);
  copy.dstPtr = box;
  copy.dstPos = make_cudaPos(0, 2, 0);
  copy.extent = make_cudaExtent(WIDTH - 3, 2, 2);
  copy.kind = cudaMemcpyHostToDevice;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMemcpy3DAsync(&copy, stream));
  CUDA(cudaStreamSynchronize(stream));
  cudaMemcpy3DParms all = {};
  all.srcPtr = box;
  all.dstPtr = make_cudaPitchedPtr(back, WIDTH + 3, WIDTH, HEIGHT);
  all.extent = extent;
  all.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&all));
  for (size_t z = 0; z < DEPTH; z++)
    for (size_t y = 0; y < HEIGHT; y++)
      for (size_t x = 0; x < WIDTH; x++) {
        bool inside = z < 2 && y >= 2 && y < 4 && x < WIDTH - 3;
        CHECK(back[z][y][x] == (inside ? host[z + 1][y - 1][x + 3] : 0x77));
      }
  CUDA(cudaFree(device));
  CUDA(cudaFree(box.ptr));
  return verdict();
}
