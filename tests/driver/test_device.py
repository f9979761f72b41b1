"""Kernels in the helper: checks and tensor maps."""

RACE = r"""static const char RACY[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
".visible .entry racy(.param .u64 p) { .shared .align 4 .b8 s[256]; .reg .b32 %r<6>; .reg .b64 %d<3>; ld.param.u64 %d1, [p];\n"
"mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1;\n"
"xor.b32 %r2, %r2, 128; mov.u32 %r4, s; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];\n"
"mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r5; ret; }\n";
"""
BODY = """
  handle context, module, function; address at; void *params[] = {&at};
  CHECK(cuInit(0)); CHECK(cuDevicePrimaryCtxRetain(&context, 0)); CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, RACY)); function = function_of(module, "racy"); CHECK(cuMemAlloc_v2(&at, 256));
  TELL(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL)); TELL(cuCtxSynchronize());
"""


def test_a_race_is_reported_and_fails_the_launch(run, tmp_path):
    report = tmp_path / "report"
    text = run(BODY, RACE, GPU_REPRO_CHECK="race", GPU_REPRO_REPORT=str(report))
    assert "NULL): 0\ncuCtxSynchronize(): 719\n" in text and "RACE" in text and "no barrier between" in text
    assert '"result": 719, "kind": "race"' in report.read_text()
    assert "RACE" not in run(BODY, RACE)


def test_the_emulator_encodes_tensor_maps(run):
    from dsl.emulator.families.tensor_map.tensor_map import Tiled

    text = run("""
      begin(); address at; CHECK(cuMemAlloc_v2(&at, 1 << 16)); u64 extents[] = {64, 32}, strides[] = {256};
      u32 box[] = {32, 8}, steps[] = {1, 1}; unsigned char map[128] __attribute__((aligned(64)));
      CHECK(cuTensorMapEncodeTiled(map, 7, 2, (void *)at, extents, strides, box, steps, 0, 3, 2, 0));
      printf("%llx ", at); for (int i = 0; i < 128; i++) printf("%02x", map[i]);
      box[0] = 300; printf("\\n"); TELL(cuTensorMapEncodeTiled(map, 7, 2, (void *)at, extents, strides, box, steps, 0, 3, 2, 0));
    """)
    first, rest = text.split("\n", 1)
    address, form = first.split()
    assert form == Tiled(7, int(address, 16), (64, 32), (256,), (32, 8), (1, 1), 0, 3, 0, 2).encode().hex()
    assert "): 1\n" in rest and "a tensor map cannot be made: " in rest
