// Arrays, textures and surfaces: copies there and back, fetches of every geometry, filters, types, boundaries.
#include <algorithm>
#include <vector>

#include "check.h"

static cudaTextureObject_t texture_of(cudaResourceDesc &from, cudaTextureFilterMode filter, bool normalized,
                                      cudaTextureAddressMode mode, cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc how = {};
  for (auto &each : how.addressMode) each = mode;
  how.filterMode = filter, how.readMode = read, how.normalizedCoords = normalized;
  cudaTextureObject_t made;
  CUDA(cudaCreateTextureObject(&made, &from, &how, nullptr));
  return made;
}

static cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc of = {};
  of.resType = cudaResourceTypeArray, of.res.array.array = array;
  return of;
}

__global__ void read_flat(cudaTextureObject_t point, cudaTextureObject_t linear, float *out, int width) {
  int x = threadIdx.x, y = threadIdx.y, i = y * blockDim.x + x;
  out[2 * i] = tex2D<float>(point, x - 2 + 0.5f, y - 1 + 0.5f);
  out[2 * i + 1] = tex2D<float>(linear, (x + 0.25f) / width, (y + 0.5f) / 4);
}

static void flat() {
  const int width = 8, height = 4;
  std::vector<float> data(width * height), back(width * height);
  for (int i = 0; i < width * height; i++) data[i] = (float)(i * i % 37);
  cudaArray_t array;
  cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  CUDA(cudaMallocArray(&array, &channels, width, height));
  CUDA(cudaMemcpy2DToArray(array, 0, 0, data.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy2DFromArray(back.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
  CHECK(back == data);
  std::reverse(data.begin(), data.end());
  CUDA(cudaMemcpyToArray(array, 20, 1, data.data() + 13, 60, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpyFromArray(back.data(), array, 20, 1, 60, cudaMemcpyDefault));
  CHECK(std::equal(back.begin(), back.begin() + 15, data.begin() + 13));
  CUDA(cudaMemcpyToArray(array, 0, 0, data.data(), width * height * 4, cudaMemcpyHostToDevice));
  cudaResourceDesc from = resource_of(array);
  auto point = texture_of(from, cudaFilterModePoint, false, cudaAddressModeClamp);
  auto linear = texture_of(from, cudaFilterModeLinear, true, cudaAddressModeWrap);
  float *out = managed<float>(2 * 12 * 6);
  read_flat<<<1, dim3(12, 6)>>>(point, linear, out, width);
  CUDA(cudaDeviceSynchronize());
  for (int y = 0; y < 6; y++)
    for (int x = 0; x < 12; x++) {
      int column = std::min(std::max(x - 2, 0), width - 1), row = std::min(std::max(y - 1, 0), height - 1);
      CHECK(out[2 * (y * 12 + x)] == data[row * width + column]);
      float here = data[y % 4 * width + x % width], before = data[y % 4 * width + (x + width - 1) % width];
      CHECK(fabsf(out[2 * (y * 12 + x) + 1] - (0.75f * here + 0.25f * before)) < 1e-3f);
    }
  CUDA(cudaDestroyTextureObject(point));
  CUDA(cudaDestroyTextureObject(linear));
  CUDA(cudaFreeArray(array));
  CUDA(cudaFree(out));
}

__global__ void read_memory(cudaTextureObject_t line, cudaTextureObject_t rows, float4 *out, int2 *more) {
  int i = threadIdx.x;
  out[i] = tex1Dfetch<float4>(line, i);
  more[i] = tex2D<int2>(rows, i % 5, i / 5);
}

static void memory() {
  uchar4 *bytes = managed<uchar4>(20);
  for (int i = 0; i < 20; i++) bytes[i] = make_uchar4(i, 2 * i, 255, 255 - i);
  cudaResourceDesc from = {};
  from.resType = cudaResourceTypeLinear, from.res.linear.devPtr = bytes;
  from.res.linear.desc = cudaCreateChannelDesc<uchar4>(), from.res.linear.sizeInBytes = 80;
  auto line = texture_of(from, cudaFilterModePoint, false, cudaAddressModeClamp, cudaReadModeNormalizedFloat);
  int2 *pairs;
  size_t pitch;
  std::vector<int2> data(20);
  for (int i = 0; i < 20; i++) data[i] = make_int2(-i, 100 * i);
  CUDA(cudaMallocPitch(&pairs, &pitch, 5 * sizeof(int2), 4));
  CUDA(cudaMemcpy2D(pairs, pitch, data.data(), 40, 40, 4, cudaMemcpyHostToDevice));
  cudaResourceDesc rows = {};
  rows.resType = cudaResourceTypePitch2D, rows.res.pitch2D.devPtr = pairs;
  rows.res.pitch2D.desc = cudaCreateChannelDesc<int2>(), rows.res.pitch2D.width = 5, rows.res.pitch2D.height = 4;
  rows.res.pitch2D.pitchInBytes = pitch;
  float4 *out = managed<float4>(20);
  int2 *more = managed<int2>(20);
  read_memory<<<1, 20>>>(line, texture_of(rows, cudaFilterModePoint, false, cudaAddressModeBorder), out, more);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 20; i++) {
    CHECK(out[i].x == i / 255.f && out[i].y == 2 * i / 255.f && out[i].z == 1 && out[i].w == (255 - i) / 255.f);
    CHECK(more[i].x == -i && more[i].y == 100 * i);
  }
}

__global__ void change(cudaSurfaceObject_t surface) {
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  ushort2 value;
  surf3Dread(&value, surface, x * 4, y, z);
  value.x += 1, value.y = value.x * 2;
  surf3Dwrite(value, surface, x * 4, y, z);
  surf3Dwrite(value, surface, (x + 100) * 4, y, z, cudaBoundaryModeZero);
}

__global__ void read_deep(cudaTextureObject_t texture, unsigned *out) {
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, i = (z * blockDim.y + y) * blockDim.x + x;
  ushort2 value = tex3D<ushort2>(texture, x, y, z);
  out[i] = value.x | value.y << 16;
}

static void deep() {
  cudaExtent extent = make_cudaExtent(6, 3, 4);
  std::vector<ushort2> data(72), back(72);
  for (int i = 0; i < 72; i++) data[i] = make_ushort2(i, 7);
  cudaArray_t array;
  cudaChannelFormatDesc channels = cudaCreateChannelDesc<ushort2>();
  CUDA(cudaMalloc3DArray(&array, &channels, extent, cudaArraySurfaceLoadStore));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(data.data(), 24, 6, 3), copy.dstArray = array, copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  cudaResourceDesc from = resource_of(array);
  cudaSurfaceObject_t surface;
  CUDA(cudaCreateSurfaceObject(&surface, &from));
  change<<<1, dim3(6, 3, 4)>>>(surface);
  unsigned *out = managed<unsigned>(72);
  read_deep<<<1, dim3(6, 3, 4)>>>(texture_of(from, cudaFilterModePoint, false, cudaAddressModeClamp), out);
  cudaMemcpy3DParms home = {};
  home.srcArray = array, home.dstPtr = make_cudaPitchedPtr(back.data(), 24, 6, 3), home.extent = extent;
  home.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&home));
  for (int i = 0; i < 72; i++) {
    CHECK(back[i].x == i + 1 && back[i].y == 2 * (i + 1));
    CHECK(out[i] == (unsigned)(i + 1) * 0x20001u);
  }
  cudaChannelFormatDesc found;
  cudaExtent size;
  unsigned flags;
  CUDA(cudaArrayGetInfo(&found, &size, &flags, array));
  CHECK(found.x == 16 && found.y == 16 && size.width == 6 && size.depth == 4 && flags == cudaArraySurfaceLoadStore);
  CUDA(cudaDestroySurfaceObject(surface));
}

__global__ void read_layers(cudaTextureObject_t layers, cudaTextureObject_t cube, float *out) {
  int i = threadIdx.x;
  out[i] = tex2DLayered<float>(layers, i % 4, i / 4 % 4, i / 16);
  const float3 axes[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  if (i < 6) out[48 + i] = texCubemap<float>(cube, axes[i].x, axes[i].y, axes[i].z);
}

static void layers() {
  std::vector<float> data(16 * 6);
  for (int i = 0; i < 96; i++) data[i] = (float)(i / 16 * 100 + i % 16);
  cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
  cudaArray_t arrays[2];
  CUDA(cudaMalloc3DArray(&arrays[0], &channels, make_cudaExtent(4, 4, 3), cudaArrayLayered));
  CUDA(cudaMalloc3DArray(&arrays[1], &channels, make_cudaExtent(4, 4, 6), cudaArrayCubemap));
  for (int i = 0; i < 2; i++) {
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data.data(), 16, 4, 4), copy.dstArray = arrays[i];
    copy.extent = make_cudaExtent(4, 4, i ? 6 : 3), copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
  }
  cudaResourceDesc first = resource_of(arrays[0]), second = resource_of(arrays[1]);
  float *out = managed<float>(64);
  read_layers<<<1, 48>>>(texture_of(first, cudaFilterModePoint, false, cudaAddressModeClamp),
                         texture_of(second, cudaFilterModePoint, true, cudaAddressModeClamp), out);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 48; i++) CHECK(out[i] == data[i]);
  for (int face = 0; face < 6; face++) CHECK((int)out[48 + face] / 100 == face);
}

static void refused() {
  cudaArray_t array;
  cudaChannelFormatDesc three = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
  FAILS(cudaMallocArray(&array, &three, 4, 4), cudaErrorInvalidChannelDescriptor);
  cudaChannelFormatDesc whole = cudaCreateChannelDesc<int>();
  CUDA(cudaMallocArray(&array, &whole, 4, 4));
  cudaResourceDesc from = resource_of(array);
  cudaTextureDesc how = {};
  how.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t texture;
  FAILS(cudaCreateTextureObject(&texture, &from, &how, nullptr), cudaErrorInvalidValue);
  std::vector<int> data(16);
  FAILS(cudaMemcpy2DToArray(array, 4, 0, data.data(), 16, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  cudaGetLastError();
}

int main() {
  flat();
  memory();
  deep();
  layers();
  refused();
  return verdict();
}
