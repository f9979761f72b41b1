// Pairs of programs with several streams: `is_right` has what orders the work, the other one lacks it.
static const char KERNELS[] =
  ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"kernels.cu\"\n"
  ".visible .entry produce(.param .u64 out) {\n"
  ".reg .b32 %r<3>; .reg .b64 %rd<4>; .loc 1 3 0\nld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
  "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; add.u32 %r2, %r1, 7;\n"
  ".loc 1 4 5\nst.global.u32 [%rd3], %r2; ret; }\n"
  ".visible .entry consume(.param .u64 in, .param .u64 out) {\n"
  ".reg .b32 %r<3>; .reg .b64 %rd<7>; .loc 1 8 0\nld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
  "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n"
  ".loc 1 9 5\nld.global.u32 %r2, [%rd4];\n.loc 1 10 5\nst.global.u32 [%rd5], %r2; ret; }\n"
  ".visible .entry count(.param .u64 at) { .reg .b64 %rd; .loc 1 14 0\nld.param.u64 %rd, [at];\n"
  ".loc 1 15 5\nred.global.add.u32 [%rd], 1; ret; }\n";

enum { N = 64, BYTES = 4 * N, NON_BLOCKING = 1 };
static handle produce_kernel, consume_kernel, count_kernel, s1, s2, event;
static address a, b;
static u32 *pinned, pageable[N];

static void produce(handle stream, address out) {
  void *params[] = {&out};
  CHECK(cuLaunchKernel(produce_kernel, 1, 1, 1, N, 1, 1, 0, stream, params, NULL));
}
static void consume(handle stream, address in, address out) {
  void *params[] = {&in, &out};
  CHECK(cuLaunchKernel(consume_kernel, 1, 1, 1, N, 1, 1, 0, stream, params, NULL));
}
static void count(handle stream, address at) {
  void *params[] = {&at};
  CHECK(cuLaunchKernel(count_kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}
static void order(handle first, handle then) {
  CHECK(cuEventRecord(event, first)); CHECK(cuStreamWaitEvent(then, event, 0));
}

// ** the pairs. The last call may answer the error already, so it is not checked.

static void two_kernels(int is_right) { produce(s1, a); if (is_right) order(s1, s2); consume(s2, a, b); }
static void synchronized_stream(int is_right) {
  produce(s1, a); CHECK(cuStreamSynchronize(is_right ? s1 : s2)); consume(s2, a, b);
}
static void early_event(int is_right) {
  if (!is_right) order(s1, s2);
  produce(s1, a); if (is_right) order(s1, s2);
  consume(s2, a, b);
}
static void event_that_the_program_waits_for(int is_right) {
  produce(s1, a); CHECK(cuEventRecord(event, is_right ? s1 : s2)); CHECK(cuEventSynchronize(event)); consume(s2, a, b);
}
static void copy_to_a_kernel(int is_right) {
  CHECK(cuMemcpyHtoDAsync_v2(a, pinned, BYTES, s1)); if (is_right) order(s1, s2); consume(s2, a, b);
}
static void copy_that_the_program_waits_for(int is_right) {
  produce(s1, a); if (is_right) CHECK(cuStreamSynchronize(s1)); cuMemcpyDtoH_v2(pageable, a, BYTES);
}
static void blocking_stream(int is_right) {
  handle stream; CHECK(cuStreamCreate(&stream, is_right ? 0 : NON_BLOCKING));
  produce(stream, a); cuMemcpyDtoH_v2(pageable, a, BYTES);
}
static void fill(int is_right) {
  if (is_right) CHECK(cuMemsetD32Async(a, 1, N, s1)); else CHECK(cuMemsetD32_v2(a, 1, N));
  consume(s1, a, b);
}
static void copy_of_pageable_memory(int is_right) {
  CHECK(cuMemcpyHtoD_v2(a, pageable, BYTES)); if (is_right) CHECK(cuStreamSynchronize(NULL)); consume(s1, a, b);
}
static void pinned_buffer(int is_right) {
  CHECK(cuMemcpyDtoHAsync_v2(pinned, a, BYTES, s1)); if (is_right) order(s1, s2);
  cuMemcpyHtoDAsync_v2(b, pinned, BYTES, s2);
}
static void free_in_a_stream(int is_right) {
  address c; CHECK(cuMemAllocAsync(&c, BYTES, s1)); order(s1, s2);
  produce(s2, c); if (is_right) order(s2, s1);
  cuMemFreeAsync(c, s1);
}
static void allocation_in_a_stream(int is_right) {
  address c; CHECK(cuMemAllocAsync(&c, BYTES, s1)); if (is_right) order(s1, s2); produce(s2, c);
}
static void atomics(int is_right) { count(s1, a); if (is_right) count(s2, a); else produce(s2, a); }
static void stream_of_a_thread(int is_right) {
  handle of_thread = (handle)2; produce(is_right ? NULL : s1, a); consume(of_thread, a, b);
}
static void halves(int is_right) { produce(s1, a); produce(s2, a + BYTES / (is_right ? 1 : 2)); }
static void graph(int is_right) {
  struct { handle function; u32 grid[3], block[3], smem; void **params, **extra; handle kernel, context; }
    first = {produce_kernel, {1, 1, 1}, {N, 1, 1}, 0, (void *[]){&a}}, then = {consume_kernel, {1, 1, 1}, {N, 1, 1}, 0, (void *[]){&a, &b}};
  handle made, exec, nodes[2];
  CHECK(cuGraphCreate(&made, 0)); CHECK(cuGraphAddKernelNode_v2(&nodes[0], made, NULL, 0, &first));
  CHECK(cuGraphAddKernelNode_v2(&nodes[1], made, nodes, is_right, &then));
  CHECK(cuGraphInstantiateWithFlags(&exec, made, 0)); cuGraphLaunch(exec, s1);
}
static void captured_streams(int is_right) {
  handle made, exec;
  CHECK(cuStreamBeginCapture_v2(s1, 0));
  if (!is_right) order(s1, s2);
  produce(s1, a); if (is_right) order(s1, s2);
  consume(s2, a, b); order(s2, s1);
  CHECK(cuStreamEndCapture(s1, &made)); CHECK(cuGraphInstantiateWithFlags(&exec, made, 0)); cuGraphLaunch(exec, s1);
}
static void two_launches_of_a_graph(int is_right) {
  handle made, execs[2];
  CHECK(cuStreamBeginCapture_v2(s1, 0)); produce(s1, a); CHECK(cuStreamEndCapture(s1, &made));
  for (int i = 0; i < 2; i++) CHECK(cuGraphInstantiateWithFlags(&execs[i], made, 0));
  CHECK(cuGraphLaunch(execs[0], s1)); cuGraphLaunch(execs[is_right ? 0 : 1], s2);
}

#define PAIR(name) {#name, name}
static const struct { const char *name; void (*run)(int); } PAIRS[] = {
  PAIR(two_kernels), PAIR(synchronized_stream), PAIR(early_event), PAIR(event_that_the_program_waits_for),
  PAIR(copy_to_a_kernel), PAIR(copy_that_the_program_waits_for), PAIR(blocking_stream), PAIR(fill),
  PAIR(copy_of_pageable_memory), PAIR(pinned_buffer), PAIR(free_in_a_stream), PAIR(allocation_in_a_stream),
  PAIR(atomics), PAIR(stream_of_a_thread), PAIR(halves), PAIR(graph), PAIR(captured_streams),
  PAIR(two_launches_of_a_graph),
};

// Everything afresh, so that a finding of one is forgotten in the next.
static void begin_pair(void) {
  handle module;
  CHECK(cuDevicePrimaryCtxReset_v2(0));
  CHECK(cuModuleLoadData(&module, KERNELS));
  produce_kernel = function_of(module, "produce"), consume_kernel = function_of(module, "consume");
  count_kernel = function_of(module, "count");
  CHECK(cuStreamCreate(&s1, NON_BLOCKING)); CHECK(cuStreamCreate(&s2, NON_BLOCKING)); CHECK(cuEventCreate(&event, 0));
  CHECK(cuMemAlloc_v2(&a, 2 * BYTES)); CHECK(cuMemAlloc_v2(&b, BYTES)); CHECK(cuMemHostAlloc((void **)&pinned, BYTES, 0));
  CHECK(cuMemsetD32_v2(a, 0, 2 * N)); CHECK(cuMemsetD32_v2(b, 0, N)); CHECK(cuCtxSynchronize());
}

// The memory of a pair after all of its work.
static u32 sum(void) {
  u32 words[3 * N], sum = 0;
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH_v2(words, a, 2 * BYTES)); CHECK(cuMemcpyDtoH_v2(words + 2 * N, b, BYTES));
  for (int i = 0; i < 3 * N; i++) sum = 31 * sum + words[i];
  return sum;
}
