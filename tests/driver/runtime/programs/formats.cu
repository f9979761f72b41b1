// printf of the device, each line beside the same of the host's.
#include <unistd.h>
#include <string>
#include "check.h"

#define LINES(P) \
  P("%d %i %u %x %X %o|\n", -5, 7, 4000000000u, 255, 255, 8); \
  P("%5d|%-5d|%05d|%+d|% d|\n", 42, 42, 42, 42, 42); \
  P("%ld %lld %lu %llx\n", -1234567890123l, -9223372036854775807ll, 1234567890123ul, 0xfedcba9876543210ull); \
  P("%f %.2f %10.3f|%-10.1f|%e %E %g %G\n", 3.14159, 2.71828, 1.5, 1.5, 12345.678, 0.00012, 1e-10, 1e20); \
  P("%a %.3a %A\n", 1.5, 0.1, 255.0); \
  P("%c%c%c %s %10s|%-10s|%.2s\n", 'a', 'b', 'c', "text", "right", "left", "cut"); \
  P("%% %d%%\n", 50); \
  P("%hd %hhd %hu %zu\n", (short)-3, (char)-4, (unsigned short)65535, (size_t)99); \
  P("%*d|%-*d|%.*f\n", 6, 42, 6, 42, 3, 2.0 / 3); \
  P("%f %f %f\n", 1.0 / 0.0, -1.0 / 0.0, 0.0); \
  P("%p %s\n", (void *)0x1234abcd, "end"); \
  P("%#x %#o %08.3f %+.2e\n", 255, 8, 3.14159, -12345.678); \
  P("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16); \
  P("%s %d %s %lf %c %llu\n", "mixed", 1, "of", 2.5, 'z', 18446744073709551615ull); \
  P("no arguments\n");

__global__ void device(){LINES(printf)} __global__ void results(int *o) {
  o[0] = printf("%d", 5);
  o[1] = printf("");
  o[2] = printf("%d %d\n", 1, 2);
}

int main() {
  char name[] = "/tmp/printedXXXXXX";
  int file = mkstemp(name), own = dup(1);
  fflush(stdout);
  dup2(file, 1);
  device<<<1, 1>>>();
  cudaDeviceSynchronize();
  fflush(stdout);
  dup2(own, 1);
  std::string got, want;
  char buffer[4096];
  lseek(file, 0, SEEK_SET);
  for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;) got.append(buffer, n);
  unlink(name);
#define KEEP(...) snprintf(buffer, sizeof buffer, __VA_ARGS__), want += buffer
  LINES(KEEP)
  if (got != want) printf("got\n%swant\n%s", got.c_str(), want.c_str()), wrong++;
  auto o = managed<int>(3);
  results<<<1, 1>>>(o);
  CUDA(cudaDeviceSynchronize());
  CHECK(o[0] == 1 && o[1] == 0 && o[2] == 2);
  size_t size;
  CUDA(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
  CHECK(size >= 1 << 20);
  return verdict();
}
