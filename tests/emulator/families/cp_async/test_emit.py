"""cp.async: zero fill, groups, waits, and the checks of both addresses. PTX ISA 9.7.9.25.3.

Modules tested here: dsl/emulator/families/cp_async/cp_async_queue.cc, dsl/emulator/families/cp_async/kept.py,
dsl/emulator/families/cp_async/words.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator


def copy_kernel(copy: str, finish: str = "cp.async.wait_all;", size: int = 16) -> str:
    """Each thread fills its slot with 0x11 bytes, copies with `copy` ([%s] <- [%g]), and gives the slot back."""
    words = range(size // 4)
    fill = "".join(f"st.shared.b32 [%s+{4 * i}], 0x11111111;\n" for i in words)
    back = "".join(f"ld.shared.b32 %v, [%s+{4 * i}]; st.global.b32 [%o+{4 * i}], %v;\n" for i in words)
    return f"""
.visible .entry copy(.param .u64 out, .param .u64 src, .param .u32 given)
{{
  .shared .align 16 .b8 tile[{size * 64}];
  .reg .b32 %t, %s, %v, %n; .reg .b64 %o, %g, %off; .reg .pred %p;
  mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, {size}, %s;
  ld.param.u64 %o, [out]; ld.param.u64 %g, [src]; ld.param.u32 %n, [given];
  setp.ne.s32 %p, %n, 0;
  mul.wide.u32 %off, %t, {size};
  add.s64 %o, %o, %off; add.s64 %g, %g, %off;
{fill}{copy}
{finish}
{back}  ret;
}}
"""


def run(
    machine, copy: str, finish: str = "cp.async.wait_all;", size: int = 16, given: int = 0, threads: int = 4, src=None
):
    src = np.arange(1, 1 + threads * size // 4, dtype=np.uint32) if src is None else src
    out = np.zeros((threads, size // 4), np.uint32)
    machine.run(copy_kernel(copy, finish, size), block=threads, out=out, src=src, given=given)
    return out.view(np.uint8).reshape(threads, size), np.resize(src.view(np.uint8), (threads, size))


@pytest.mark.parametrize("cache, size", [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)])
@pytest.mark.parametrize("given", ["", "all", "register", "immediate"])
def test_bytes_past_src_size_become_zero(machine, cache, size, given):
    counts = {"": [size], "all": [size], "register": range(0, size + 1, 1), "immediate": [0, size // 2]}[given]
    for count in counts:
        operand = {"": "", "all": f", {size}", "register": ", %n", "immediate": f", {count}"}[given]
        got, src = run(machine, f"cp.async.{cache}.shared.global [%s], [%g], {size}{operand};", size=size, given=count)
        np.testing.assert_array_equal(got[:, :count], src[:, :count])
        assert not got[:, count:].any()


@pytest.mark.parametrize("given", [0, 1])
def test_ignore_src_is_src_size_zero(machine, given):
    got, src = run(machine, "cp.async.cg.shared.global [%s], [%g], 16, %p;", given=given)
    np.testing.assert_array_equal(got, src * 0 if given else src)


def test_a_false_guard_leaves_shared_memory_untouched(machine):
    got, _ = run(machine, "@%p cp.async.cg.shared.global [%s], [%g], 16;")
    assert (got == 0x11).all()


def test_size_zero_never_looks_at_the_source(machine):
    null = b"\0" * 8
    out = np.zeros((4, 4), np.uint32)
    text = copy_kernel("mov.u64 %g, 0; cp.async.ca.shared.global [%s], [%g], 16, %n;")
    machine.run(text, block=4, out=out, src=null, given=0)
    assert not out.any()
    with pytest.raises(emulator.Fault, match="copy of 16 bytes at 0x0 is a null pointer"):
        machine.run(text, block=4, out=out, src=null, given=16)


def test_nothing_lands_without_a_wait(machine):
    for finish in ("", "cp.async.commit_group;", "cp.async.commit_group; cp.async.wait_group 1;"):
        got, _ = run(machine, "cp.async.cg.shared.global [%s], [%g], 16;", finish)
        assert (got == 0x11).all()
    got, src = run(
        machine, "cp.async.cg.shared.global [%s], [%g], 16;", "cp.async.commit_group; cp.async.wait_group 0;"
    )
    np.testing.assert_array_equal(got, src)


def test_wait_group_counts_the_youngest_groups(machine):
    copy = """
cp.async.ca.shared.global [%s], [%g], 4; cp.async.commit_group;
cp.async.ca.shared.global [%s+4], [%g+4], 4; cp.async.commit_group;
cp.async.commit_group;
cp.async.ca.shared.global [%s+8], [%g+8], 4; cp.async.commit_group;
cp.async.ca.shared.global [%s+12], [%g+12], 4;"""
    for keep, landed in ((4, 0), (3, 1), (2, 2), (1, 2), (0, 3)):
        got, src = run(machine, copy, f"cp.async.wait_group {keep};")
        np.testing.assert_array_equal(got[:, : 4 * landed], src[:, : 4 * landed])
        assert (got[:, 4 * landed :] == 0x11).all()
    got, src = run(machine, copy)
    np.testing.assert_array_equal(got, src)


def test_a_source_past_its_end_is_a_fault_and_a_shorter_copy_is_not(machine):
    src = np.arange(15, dtype=np.uint32)
    copy = "{ .reg .pred %l; setp.eq.u32 %l, %t, 3; selp.b32 %n, %n, 16, %l; }"
    copy += "cp.async.ca.shared.global [%s], [%g], 16, %n;"
    got, _ = run(machine, copy, given=12, src=src)
    np.testing.assert_array_equal(got.view(np.uint32)[3], [12, 13, 14, 0])
    with pytest.raises(emulator.Fault) as caught:
        run(machine, copy, given=16, src=src)
    assert f"copy of 16 bytes at 0x{src.ctypes.data + 48:x} is across the end of `src` (60 bytes), at byte 48" in str(
        caught.value
    )


@pytest.mark.parametrize("copy, message", [
    ("cp.async.ca.shared.global [%s+2], [%g], 16;", "at smem+0x2 is not aligned to 16 bytes (it is 2 past)"),
    ("cp.async.ca.shared.global [%s], [%g+4], 16, 16;", "is not aligned to 16 bytes"),
    ("cp.async.ca.shared.global [%s+1024], [%g], 16;", "at smem+0x400 is outside shared memory (1024 bytes"),
    ("cp.async.ca.shared.global [%s], [%g], 4, %n;", "cp.async of 4 bytes has src-size 5"),
])  # fmt: skip
def test_bad_copies(machine, copy, message):
    src = np.zeros(64 + 16, np.uint8)
    src = src[-src.ctypes.data % 16 :].view(np.uint32)[:16]
    with pytest.raises(emulator.Fault) as caught:
        run(machine, copy, given=5, src=src)
    assert message in str(caught.value)


def test_ptxas_accepts_what_is_tested_here(ptxas):
    ptxas(copy_kernel("cp.async.ca.shared.global [%s], [%g], 4, %n; cp.async.cg.shared.global [%s], [%g], 16, 8;"
                      "cp.async.cg.shared.global [%s], [%g], 16, %p;"
                      "cp.async.commit_group; cp.async.wait_group 1;"))  # fmt: skip
