"""The error of a copy that is not aligned names the cause; and each fix, applied, cures it."""

import re

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Float32, Int32, cute
from dsl.cutlass.cute.runtime import from_dlpack, make_ptr

PREAMBLE = "    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)\n"
COPY = "cute.copy(atom, cute.make_tensor({start}, 4), o)"
ASSUMED = "from_dlpack(a, assumed_align=16)"
DYNAMIC = ".mark_layout_dynamic(leading_dim=1)"
COMPACT = ".mark_compact_shape_dynamic(mode=1, divisibility=4)"
ROW = "cute.copy(atom, cute.local_tile(a, (1, 4), (t, 0))[0, None], o)"
AT_START = COPY.format(start="a.iterator")
SHARED = "s = cute.arch.alloc_smem(Float32, 64{}); cute.copy(atom, cute.make_tensor(s, 4), o)"
TABLE = [  # the copy, how `a` is made, the cause, the fix; and both after the fix
    (
        COPY.format(start="a.iterator + n"), ASSUMED, "`n` is only known to be a multiple of 1",
        "if it is a multiple of 4, declare it: `cute.assume(n, divby=4)`",
        COPY.format(start="a.iterator + cute.assume(n, divby=4)"), ASSUMED,
    ),
    (
        COPY.format(start="a.iterator + 2 * t"), ASSUMED, "an offset is only known to be a multiple of 2",
        "if it is a multiple of 4, declare it: `cute.assume(offset, divby=4)`",
        COPY.format(start="a.iterator + cute.assume(2 * t, divby=4)"), ASSUMED,
    ),
    (
        AT_START, "from_dlpack(a)", "`a` is only known to start at a multiple of 4 bytes",
        "`from_dlpack(t, assumed_align=16)` where `a` is made", AT_START, ASSUMED,
    ),
    (
        COPY.format(start="p"), "make_ptr(Float32, out.ctypes.data, cute.AddressSpace.gmem, assumed_align=4)",
        "`p` is only known to be a multiple of 4 bytes", "`make_ptr(..., assumed_align=16)` where `p` is made",
        COPY.format(start="p"), "make_ptr(Float32, out.ctypes.data, cute.AddressSpace.gmem, assumed_align=16)",
    ),
    (
        ROW, ASSUMED + DYNAMIC, "a stride of `a` is dynamic, and only known to be a multiple of 1",
        "`.mark_compact_shape_dynamic(mode=1, divisibility=4)` of it, if they are multiples of 4",
        ROW, ASSUMED + COMPACT,
    ),
    (
        ROW, "from_dlpack(a)" + DYNAMIC,
        "`a` is only known to start at a multiple of 4 bytes; a stride of `a` is dynamic, and only known to be a "
        "multiple of 1",
        "`from_dlpack(t, assumed_align=16)` where `a` is made; `.mark_compact_shape_dynamic(mode=1, divisibility=4)` "
        "of it, if they are multiples of 4",
        ROW, ASSUMED + COMPACT,
    ),
    (
        COPY.format(start="a.iterator + 2"), ASSUMED, "a static offset or its allocation leaves a multiple of 8 bytes",
        "`byte_alignment=16` where it is allocated, static offsets that are multiples of 16 bytes, or "
        "num_bits_per_copy=64",
        COPY.format(start="a.iterator + 4"), ASSUMED,
    ),
    (
        SHARED.format(""), ASSUMED, "a static offset or its allocation leaves a multiple of 4 bytes",
        "`byte_alignment=16` where it is allocated, static offsets that are multiples of 16 bytes, or "
        "num_bits_per_copy=32",
        SHARED.format(", alignment=16"), ASSUMED,
    ),
]  # fmt: skip


def host_of(copy: str, name: str, tmp_path):
    annotation = "cute.Pointer" if name == "p" else "cute.Tensor"
    source = f"""
@cute.kernel
def kernel({name}: {annotation}, o: cute.Tensor, n: Int32):
    t, _, _ = cute.arch.thread_idx()
{PREAMBLE}    {copy}

@cute.jit
def host({name}: {annotation}, o: cute.Tensor, n: Int32):
    kernel({name}, o, n).launch(grid=1, block=1)
"""
    file = tmp_path / "author.py"
    file.write_text(source)
    names = {"cute": cute, "cutlass": cutlass, "Float32": Float32, "Int32": Int32}
    exec(compile(source, str(file), "exec"), names)
    return names["host"]


@pytest.mark.parametrize("copy, made, cause, fix, cured, made_so", TABLE, ids=[row[2] for row in TABLE])
def test_the_cause_is_named_and_its_fix_cures(copy, made, cause, fix, cured, made_so, tmp_path, aligned):
    a, out = aligned((64, 64)), aligned(4)
    a[:] = np.arange(64 * 64).reshape(64, 64)
    names = {"from_dlpack": from_dlpack, "make_ptr": make_ptr, "a": a, "out": out, "cute": cute, "Float32": Float32}
    name, o = "p" if made.startswith("make_ptr") else "a", from_dlpack(out, assumed_align=16)
    with pytest.raises(DSLUserCodeError) as error:
        host_of(copy, name, tmp_path)(eval(made, names), o, 4)
    assert re.search(r"multiples of \d+; (.*)", error.value.message)[1] == cause
    assert error.value.fix == fix
    host_of(cured, name, tmp_path)(eval(made_so, names), o, 4)
