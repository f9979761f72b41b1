"""Initialisation, contexts and the device."""

from tests.driver.numbers import ATTRIBUTES


def test_before_initialisation_and_without_a_context(run):
    text = run("""
      int count; handle context, module; address at;
      TELL(cuDeviceGetCount(&count)); TELL(cuCtxGetCurrent(&context));
      CHECK(cuInit(0)); TELL(cuInit(1)); TELL(cuDeviceGetCount(&count)); printf("count: %d\\n", count);
      TELL(cuMemAlloc_v2(&at, 4)); TELL(cuCtxGetDevice(&count)); TELL(cuDeviceGet(&count, 1));
      TELL(cuCtxSetCurrent((handle)0x1234)); TELL(cuCtxSynchronize());
    """)
    got = [int(line.rpartition(" ")[2]) for line in text.splitlines()]
    assert got == [3, 3, 1, 0, 1, 201, 201, 101, 201, 201]


def test_a_thread_has_a_stack_of_contexts(run):
    text = run("""
      handle a, b, got;
      CHECK(cuInit(0)); CHECK(cuCtxCreate_v2(&a, 0, 0)); CHECK(cuCtxCreate_v2(&b, 0, 0));
      CHECK(cuCtxGetCurrent(&got)); printf("%d ", got == b);
      CHECK(cuCtxPopCurrent_v2(&got)); printf("%d ", got == b);
      CHECK(cuCtxGetCurrent(&got)); printf("%d ", got == a);
      CHECK(cuCtxPushCurrent_v2(b)); CHECK(cuCtxDestroy_v2(b));
      CHECK(cuCtxGetCurrent(&got)); printf("%d ", got == a);
      printf("%u ", cuCtxPushCurrent_v2(b));
      CHECK(cuCtxDestroy_v2(a)); CHECK(cuCtxGetCurrent(&got)); printf("%d\\n", got == NULL);
    """)
    assert text.split() == ["1", "1", "1", "1", "201", "1"]


def test_contexts_are_of_threads(run):
    text = run(
        """
      pthread_t thread; handle context;
      CHECK(cuInit(0)); CHECK(cuCtxCreate_v2(&context, 0, 0));
      pthread_create(&thread, NULL, work, context); pthread_join(thread, NULL);
    """,
        before="""
#include <pthread.h>
void *work(void *context) {
  handle got = context; address at;
  CHECK(cuCtxGetCurrent(&got)); printf("%d ", got == NULL);
  CHECK(cuCtxSetCurrent(context)); CHECK(cuMemAlloc_v2(&at, 4)); printf("ok\\n");
  return NULL;
}
""",
    )
    assert text.split() == ["1", "ok"]


def test_a_context_takes_its_memory_with_it(run):
    text = run("""
      handle context; address at, start; size_t bytes;
      CHECK(cuInit(0)); CHECK(cuCtxCreate_v2(&context, 0, 0)); CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuCtxDestroy_v2(context));
      CHECK(cuCtxCreate_v2(&context, 0, 0)); TELL(cuMemGetAddressRange_v2(&start, &bytes, at));
    """)
    assert text.endswith(": 500\n")


def test_the_device_is_an_h100(run):
    text = run("""
      char name[64]; int values[4];
      CHECK(cuInit(0)); CHECK(cuDeviceGetName(name, 64, 0));
      CHECK(cuDeviceGetAttribute(&values[0], 75, 0)); CHECK(cuDeviceGetAttribute(&values[1], 76, 0));
      CHECK(cuDeviceGetAttribute(&values[2], 16, 0)); CHECK(cuDeviceGetAttribute(&values[3], 97, 0));
      printf("%s: %d.%d %d %d\\n", name, values[0], values[1], values[2], values[3]);
    """, GPU_REPRO_GPU_MODEL="h200")  # fmt: skip
    assert text == "PTX emulator (h200): 9.0 132 232448\n"


def test_each_attribute_has_its_row(run):
    text = run("""
      int value; CHECK(cuInit(0));
      for (int i = 1; i < 149; i++) { CHECK(cuDeviceGetAttribute(&value, i, 0)); printf("%d ", value); }
      printf("%u", cuDeviceGetAttribute(&value, 149, 0));
    """)
    assert [int(each) for each in text.split()] == [ATTRIBUTES.get(i, 0) for i in range(1, 149)] + [1]


def test_the_device_can_be_hidden(run):
    body = "int count; TELL(cuInit(0)); cuDeviceGetCount(&count);"
    assert run(body, CUDA_VISIBLE_DEVICES="").endswith(": 100\n")
    assert run(body, CUDA_VISIBLE_DEVICES="1").endswith(": 100\n")
    assert run(body, CUDA_VISIBLE_DEVICES="0,1").endswith(": 0\n")
