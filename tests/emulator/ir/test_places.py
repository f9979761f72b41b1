"""Places of the variables of an entry: shared memory in the order of the text, each aligned, then dynamic memory."""

from dsl import emulator

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
TEXT = """
.shared .b8 a[3];
.shared .align 16 .b8 b[20];
.shared .b8 not_used[4096];
.extern .shared .align 128 .b8 dynamic[];
.visible .entry k(.param .u8 x, .param .u64 y) {
  .local .b8 own[5]; .reg .b32 %r;
  mov.u32 %r, a; mov.u32 %r, b; mov.u32 %r, dynamic; mov.u32 %r, own; ret; }"""


def test_offsets_in_each_space():
    places = emulator.load(HEADER + TEXT).code("k", 32).places
    assert {name: places.rows[name] for name in ("a", "b", "dynamic")} == {
        "a": ("shared", 0),
        "b": ("shared", 16),
        "dynamic": ("shared", 128),
    }
    assert places.rows["k", "own"] == ("local", 0) and "not_used" not in places.rows
    assert (places.smem_static, places.local_bytes) == (128, 16)
    assert (places.param_offsets, places.param_bytes) == ([0, 8], 16)
