"""Allocation, copies, fills, pools and what is asked of pointers. None of it starts the helper process."""

CONTEXT = """
  handle context;
  CHECK(cuInit(0)); CHECK(cuDevicePrimaryCtxRetain(&context, 0)); CHECK(cuCtxSetCurrent(context));
"""


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split()]


def test_blocks_are_aligned_apart_and_used_again(run):
    text = run(
        CONTEXT
        + """
      address all[300];
      for (int i = 0; i < 300; i++) CHECK(cuMemAlloc_v2(&all[i], 1 + 37 * i));
      for (int i = 0; i < 300; i++) if (all[i] % 512 || (i && all[i] < all[i - 1] + 37 * (i - 1) + 1)) printf("bad %d\\n", i);
      address middle = all[7];
      for (int i = 0; i < 300; i += 2) CHECK(cuMemFree_v2(all[i]));
      for (int i = 1; i < 300; i += 2) CHECK(cuMemFree_v2(all[i]));
      address big, again;
      CHECK(cuMemAlloc_v2(&big, 300 << 20)); printf("%d ", big == all[0]);
      CHECK(cuMemsetD8_v2(big, 7, 300 << 20)); CHECK(cuMemFree_v2(big));
      CHECK(cuMemAlloc_v2(&again, 300 << 20));
      printf("%d %d\\n", again == big, *(char *)again);
    """
    )
    assert numbers(text) == [1, 1, 0]  # large blocks give their pages back


def test_addresses_outside_of_allocations_are_refused(run):
    text = run(
        CONTEXT
        + """
      address at, other;
      TELL(cuMemAlloc_v2(&at, 0)); TELL(cuMemAlloc_v2(&at, 81ull << 30));
      CHECK(cuMemAlloc_v2(&at, 100));
      TELL(cuMemFree_v2(at + 1)); TELL(cuMemFree_v2(at)); TELL(cuMemFree_v2(at)); TELL(cuMemFree_v2(0));
      char host[200] = {0};
      CHECK(cuMemAlloc_v2(&at, 100));
      TELL(cuMemcpyHtoD_v2(at, host, 101)); TELL(cuMemcpyDtoH_v2(host, at + 1, 100)); TELL(cuMemcpyHtoD_v2(at, host, 100));
      TELL(cuMemcpy(at, (address)host, 100)); TELL(cuMemsetD32_v2(at, 1, 26)); TELL(cuMemsetD32_v2(at + 1, 1, 1));
    """
    )
    assert [int(line.rpartition(" ")[2]) for line in text.splitlines()] == [1, 2, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1]


def test_fills_and_copies_of_boxes(run):
    text = run(
        CONTEXT
        + """
      address from, to; size_t pitch;
      CHECK(cuMemAllocPitch_v2(&from, &pitch, 40, 6, 4));
      CHECK(cuMemsetD2D32_v2(from, pitch, 9, 10, 6)); CHECK(cuMemsetD2D32_v2(from + pitch + 8, pitch, 4, 3, 2));
      int host[6][10] = {{0}};
      struct { size_t x, y; u32 memory; void *host; address device; handle array; size_t pitch, to_x, to_y; u32 to_memory;
        void *to_host; address to_device; handle to_array; size_t to_pitch, width, height; } copy = {
        0, 0, 2, NULL, from, NULL, pitch, 4, 1, 1, host, 0, NULL, 40, 20, 5};
      CHECK(cuMemcpy2D_v2(&copy));
      for (int y = 0; y < 6; y++) for (int x = 0; x < 10; x++) printf("%d ", host[y][x]);
      copy.width = 60; TELL(cuMemcpy2D_v2(&copy)); copy.memory = 3; TELL(cuMemcpy2D_v2(&copy));
    """
    )
    rows = [[0] * 10] + [[0] + [9] * 5 + [0] * 4 for _ in range(5)]
    for y in (2, 3):
        rows[y][3:6] = [4, 4, 4]
    box, _, rest = text.partition("cuMemcpy2D")
    assert numbers(box) == [value for row in rows for value in row]
    assert "): 1\n" in rest and "): 400\n" in rest  # a copy of more than there is; an array that there is not


def test_copies_of_boxes_in_three_dimensions(run):
    text = run(
        CONTEXT
        + """
      address at; CHECK(cuMemAlloc_v2(&at, 4 * 3 * 2)); CHECK(cuMemsetD8_v2(at, 1, 24));
      char host[24]; for (int i = 0; i < 24; i++) host[i] = 10 + i;
      struct { size_t x, y, z, level; u32 memory; void *host; address device; handle array, reserved; size_t pitch, height;
        size_t to_x, to_y, to_z, to_level; u32 to_memory; void *to_host; address to_device; handle to_array, to_reserved;
        size_t to_pitch, to_height, width, height_, depth; } copy = {
        1, 1, 0, 0, 1, host, 0, NULL, NULL, 4, 3, 0, 0, 0, 0, 2, NULL, at, NULL, NULL, 4, 3, 2, 2, 2};
      CHECK(cuMemcpy3D_v2(&copy));
      for (int i = 0; i < 24; i++) printf("%d ", ((char *)at)[i]);
    """
    )
    want = [1] * 24
    for z in range(2):
        for y in range(2):
            for x in range(2):
                want[z * 12 + y * 4 + x] = 10 + z * 12 + (y + 1) * 4 + x + 1
    assert numbers(text) == want


def test_kinds_of_memory_by_their_pointers(run):
    text = run(
        CONTEXT
        + """
      address device, managed, start; void *host; size_t bytes; u32 value; int local;
      CHECK(cuMemAlloc_v2(&device, 100)); CHECK(cuMemAllocManaged(&managed, 100, 1)); CHECK(cuMemHostAlloc(&host, 100, 0));
      address all[] = {device, managed, (address)host};
      for (int i = 0; i < 3; i++) {
        CHECK(cuPointerGetAttribute(&value, 2, all[i] + 5)); printf("%u ", value);
        CHECK(cuPointerGetAttribute(&value, 8, all[i] + 5)); printf("%u ", value);
      }
      CHECK(cuMemGetAddressRange_v2(&start, &bytes, device + 99)); printf("%d %zu ", start == device, bytes);
      printf("%u %u ", cuMemGetAddressRange_v2(&start, &bytes, device + 100), cuPointerGetAttribute(&value, 2, (address)&local));
      size_t free_bytes, total; CHECK(cuMemGetInfo_v2(&free_bytes, &total)); printf("%d ", free_bytes < total);
      *(int *)host = 3; *(int *)managed = 4; printf("%u\\n", cuMemFreeHost((void *)device));
    """
    )
    assert numbers(text) == [2, 0, 2, 1, 1, 0, 1, 100, 500, 1, 1, 1]


def test_pools_count_what_is_in_use(run):
    text = run(
        CONTEXT
        + """
      handle pool; address a, b; u64 used, high;
      CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
      CHECK(cuMemAllocAsync(&a, 1000, NULL)); CHECK(cuMemAllocAsync(&b, 24, NULL)); CHECK(cuMemFreeAsync(a, NULL));
      CHECK(cuMemPoolGetAttribute(pool, 7, &used)); CHECK(cuMemPoolGetAttribute(pool, 8, &high));
      printf("%llu %llu\\n", used, high);
    """
    )
    assert numbers(text) == [24, 1024]


def test_memory_of_the_program_that_it_registers(run):
    text = run("""
      handle count = function_of(begin(), "count"); address device; u32 by = 1, type; void *params[] = {&device, &by};
      u32 *host = malloc(100000), *in = host + 5000; memset(host, 0, 100000); host[4999] = 7; *in = 1;
      printf("%u ", cuMemHostGetDevicePointer_v2(&device, in, 0));
      CHECK(cuMemHostRegister_v2(in, 4000, 2)); printf("%u ", cuMemHostRegister_v2(in + 999, 4, 0));
      CHECK(cuPointerGetAttribute(&type, 2, (address)in)); printf("%u ", type);
      CHECK(cuMemHostGetDevicePointer_v2(&device, in, 0));
      CHECK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL)); printf("%u ", *in);
      *in = 100; CHECK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL)); printf("%u ", *in);
      CHECK(cuMemHostUnregister(in)); printf("%u %u %u ", cuMemHostUnregister(in), *in, host[4999]); free(host);
      printf("%u\\n", cuMemHostGetDevicePointer_v2(&device, in, 0));
    """)
    assert numbers(text) == [1, 712, 1, 6, 105, 713, 105, 7, 1]
