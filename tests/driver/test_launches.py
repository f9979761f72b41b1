"""Launches: values, parameters, shapes that are refused, errors of kernels."""

import numpy as np
import pytest

ADD = """
  handle add = function_of(begin(), "add");
  enum { N = 1000 };
  float h[N], got[N];
  address a, b, c;
  for (int i = 0; i < N; i++) h[i] = i;
  CHECK(cuMemAlloc_v2(&a, sizeof h)); CHECK(cuMemAlloc_v2(&b, sizeof h)); CHECK(cuMemAlloc_v2(&c, sizeof h));
  CHECK(cuMemcpyHtoD_v2(a, h, sizeof h)); CHECK(cuMemcpyHtoD_v2(b, h, sizeof h));
"""
SHOW = """
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH_v2(got, c, sizeof got));
  for (int i = 0; i < N; i++) printf("%g ", got[i]);
"""


def values(text: str) -> np.ndarray:
    return np.array(text.split(), np.float32)


def test_a_program_adds_vectors(run):
    text = run(ADD + "int n = N; void *params[] = {&a, &b, &c, &n};"
               "CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));" + SHOW)  # fmt: skip
    np.testing.assert_array_equal(values(text), 2 * np.arange(1000, dtype=np.float32))


def test_parameters_in_one_buffer(run):
    text = run(ADD + """
      struct { address a, b, c; int n; } all = {a, b, c, N};
      size_t size = sizeof all;
      void *extra[] = {(void *)1, &all, (void *)2, &size, (void *)0};
      CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
      size = 8;
      TELL(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    """ + SHOW)  # fmt: skip
    refused, _, rest = text.partition("\n")
    assert refused.endswith(": 1")  # the buffer is too small for the parameters
    np.testing.assert_array_equal(values(rest), 2 * np.arange(1000, dtype=np.float32))


CONFIG = """
  struct { u32 id, padding, value[16]; } attribute = {4, 0, {2, 1, 1}};
  struct { u32 grid[3], block[3], smem; handle stream; void *attributes; u32 count; } config = {
    {8, 1, 1}, {128, 1, 1}, 0, NULL, &attribute, 1};
  int n = N;
  void *params[] = {&a, &b, &c, &n};
"""


def test_clusters_and_cooperative_launches(run):
    text = run(ADD + CONFIG + """
      CHECK(cuLaunchKernelEx(&config, add, params, NULL));
      attribute.id = 2;
      CHECK(cuLaunchKernelEx(&config, add, params, NULL));
      CHECK(cuLaunchCooperativeKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, params));
    """ + SHOW)  # fmt: skip
    np.testing.assert_array_equal(values(text), 2 * np.arange(1000, dtype=np.float32))


def test_a_function_may_demand_a_cluster(run):
    text = run(ADD + "CHECK(cuFuncSetAttribute(add, 11, 3)); CHECK(cuFuncSetAttribute(add, 12, 1));" + CONFIG + """
      config.count = 0; TELL(cuLaunchKernelEx(&config, add, params, NULL));
      config.grid[0] = 9; CHECK(cuLaunchKernelEx(&config, add, params, NULL));
    """ + SHOW)  # fmt: skip
    refused, _, rest = text.partition("\n")
    assert refused.endswith(": 912")  # 3 does not divide 8
    np.testing.assert_array_equal(values(rest), 2 * np.arange(1000, dtype=np.float32))


def test_attributes_of_launches_that_are_not_known_are_named(run):
    text = run(ADD + CONFIG + "attribute.id = 13; TELL(cuLaunchKernelEx(&config, add, params, NULL));")
    assert "NULL): 801\n" in text and "the emulator does not have: the launch attribute 13" in text


@pytest.mark.parametrize("seed", ["0", "3"])
@pytest.mark.parametrize(
    "shape, code",
    [
        ("0, 1, 1, 32, 1, 1, 0", 1),
        ("1, 1, 1, 0, 1, 1, 0", 1),
        ("1, 1, 1, 1025, 1, 1, 0", 1),
        ("1, 1, 1, 32, 1, 1, 49153", 1),
        ("1, 65536, 1, 32, 1, 1, 0", 1),
    ],
)
def test_shapes_that_no_gpu_accepts_are_refused(run, shape, code, seed):
    """A seed makes launches later, but refuses these at once."""
    text = run(ADD + f"""
      int n = N; void *params[] = {{&a, &b, &c, &n}};
      TELL(cuLaunchKernel(add, {shape}, NULL, params, NULL)); TELL(cuCtxSynchronize());
    """, GPU_REPRO_SEED=seed)  # fmt: skip
    assert f"NULL): {code}\ncuCtxSynchronize(): 0" in text


def test_more_shared_memory_must_be_allowed(run):
    text = run("""
      handle fail = function_of(begin(), "count");
      int bytes;
      CHECK(cuFuncGetAttribute(&bytes, 8, fail)); printf("%d\\n", bytes);
      TELL(cuFuncSetAttribute(fail, 8, 300000));
      TELL(cuFuncSetAttribute(fail, 8, 100000));
      CHECK(cuFuncGetAttribute(&bytes, 8, fail)); printf("%d\\n", bytes);
      address at; u32 by = 2; CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuMemsetD32_v2(at, 0, 1));
      void *params[] = {&at, &by};
      TELL(cuLaunchKernel(fail, 1, 1, 1, 1, 1, 1, 100000, NULL, params, NULL));
      CHECK(cuMemcpyDtoH_v2(&by, at, 4)); printf("%u\\n", by);
    """)
    lines = text.splitlines()
    assert lines[0] == "49152" and lines[1].endswith(": 1") and lines[2].endswith(": 0") and lines[3] == "100000"
    assert lines[4].endswith(": 0") and lines[5] == "10"


def test_an_error_of_a_kernel_stays_until_the_context_is_reset(run):
    text = run("""
      handle fail = function_of(begin(), "fail");
      TELL(cuLaunchKernel(fail, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
      TELL(cuCtxSynchronize());
      address at; TELL(cuMemAlloc_v2(&at, 4));
      handle context; TELL(cuCtxGetCurrent(&context));
      CHECK(cuDevicePrimaryCtxReset_v2(0));
      TELL(cuCtxSynchronize());
    """)
    assert [line.rpartition(": ")[2] for line in text.splitlines()[:5]] == ["0", "715", "715", "0", "0"]
    assert "the kernel executed a trap" in text


def test_an_access_outside_of_memory_is_reported_and_is_error_700(run, tmp_path):
    report = tmp_path / "report"
    text = run(
        ADD + "int n = N + 24; void *params[] = {&a, &b, &c, &n};"
        "CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL)); TELL(cuCtxSynchronize());",
        GPU_REPRO_REPORT=str(report),
    )
    assert "cuCtxSynchronize(): 700" in text and "is just past the end of" in text and "(4000 bytes)" in text
    assert '"result": 700, "kind": "out_of_bounds"' in report.read_text()


def test_memory_that_was_freed_is_not_memory(run):
    text = run(ADD + """
      CHECK(cuMemFree_v2(b));
      int n = N; void *params[] = {&a, &b, &c, &n};
      CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL)); TELL(cuCtxSynchronize());
    """)  # fmt: skip
    assert "cuCtxSynchronize(): 700" in text


@pytest.mark.parametrize("before, text", [
    ("CHECK(cuMemAlloc_v2(&at, 400)); CHECK(cuMemFree_v2(at));", "(400 bytes) was there and is freed\n"),
    ("static u32 own[100]; at = (address)own;", "is in no memory of the device\n"),
])  # fmt: skip
def test_a_first_launch_with_an_address_outside_of_memory(run, before, text):
    """The memory is freed before there is a helper."""
    body = "address at; u32 by = 1; void *params[] = {&at, &by}; handle context; CHECK(cuInit(0));"
    body += "CHECK(cuDevicePrimaryCtxRetain(&context, 0)); CHECK(cuCtxSetCurrent(context));"
    launch = 'handle module = begin(); CHECK(cuLaunchKernel(function_of(module, "count"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));'
    assert text in run(body + before + launch + "TELL(cuCtxSynchronize());")


def test_many_launches_of_one_shape_and_others_between_them(run):
    text = run("""
      handle count = function_of(begin(), "count");
      address at, other; u32 by = 1, got;
      CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuMemsetD32_v2(at, 0, 1));
      void *params[] = {&at, &by};
      for (u32 i = 0; i < 3000; i++) {
        by = i % 7;
        if (i % 500 == 3) { CHECK(cuMemAlloc_v2(&other, 64)); }
        CHECK(cuLaunchKernel(count, 1 + i % 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
      }
      CHECK(cuMemcpyDtoH_v2(&got, at, 4)); printf("%u\\n", got);
    """)
    assert int(text) == sum(5 * (i % 7) * (1 + i % 2) * 32 for i in range(3000))


def test_a_launch_like_many_before_may_fail(run):
    text = run("""
      handle count = function_of(begin(), "count");
      address at, good; u32 by = 1;
      CHECK(cuMemAlloc_v2(&good, 4)); CHECK(cuMemsetD32_v2(good, 0, 1)); at = good;
      void *params[] = {&at, &by};
      for (int i = 0; i < 20; i++) CHECK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
      printf("%u\\n", *(u32 *)good); at += 4;
      TELL(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL)); TELL(cuCtxSynchronize());
    """)
    assert text.startswith("100\n") and "NULL): 0\ncuCtxSynchronize(): 700" in text and "OUT_OF_BOUNDS" in text


def test_the_ring_has_the_same_members_in_python():
    """A Ring in Python and in C++."""
    import re

    from dsl.driver import ring
    from tests.driver.conftest import HERE

    text = (HERE.parents[1] / "dsl/driver/ring.h").read_text()
    members = re.findall(r"^  u(\d\d?) (\w+)(?:\[(\w+)\])?;", text[text.index("struct Ring {") :], re.M)
    sizes = {"MOST_PARAMS": 512, "MOST_MESSAGE_BYTES": 8192, "": 1}
    want = [(name, int(bits) // 8 * (sizes.get(count) or int(count))) for bits, name, count in members]
    assert [(name, getattr(ring._Ring, name).size) for name, _ in ring._Ring._fields_] == want
    assert f"MOST_PARAMS = {sizes['MOST_PARAMS']}, MOST_MESSAGE_BYTES = {sizes['MOST_MESSAGE_BYTES']};" in text
