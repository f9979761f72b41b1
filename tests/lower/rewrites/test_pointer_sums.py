"""Steps of one pointer after another: which are summed, and that addresses stay what they are."""

import pytest
import torch

from dsl.cutlass import cute
from dsl.lower.rewrites.pointer_sums import with_pointer_sums

HEAD = "define void @k(ptr addrspace(1) %0, i64 %1, i64 %2, i64 %3) {\n"


def body(*lines):
    text = HEAD + "\n".join(f"  {line}" if not line.endswith(":") else line for line in lines) + "\n  ret void\n}"
    return [line.strip() for line in with_pointer_sums(text).splitlines()[1:-2]]


STEP = "getelementptr float, ptr addrspace(1)"


def test_steps_are_one_sum_the_last_first():
    lines = f"%5 = {STEP} %0, i64 %1", f"%6 = {STEP} %5, i64 %2", f"%7 = {STEP} %6, i64 %3", "store i32 0, ptr %7"
    assert body(*lines)[-5:] == [
        "%6 = bitcast ptr addrspace(1) %0 to ptr addrspace(1)",
        "%sum.7.1 = add i64 %3, %2",
        "%sum.7.2 = add i64 %sum.7.1, %1",
        "%7 = getelementptr i32, ptr addrspace(1) %0, i64 %sum.7.2",
        "store i32 0, ptr %7",
    ]


def test_bytes_are_elements_where_they_were_shifted():
    lines = "%5 = shl nsw i64 %1, 9", "%6 = getelementptr i8, ptr addrspace(1) %0, i64 %5", f"%7 = {STEP} %6, i64 %2"
    assert body(*lines)[-3:] == [
        "%step.7.1 = shl i64 %1, 7",
        "%sum.7.1 = add i64 %2, %step.7.1",
        "%7 = getelementptr i32, ptr addrspace(1) %0, i64 %sum.7.1",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        (f"%5 = {STEP} %0, i64 %1", f"%6 = {STEP} %5, i64 %2", "store i32 0, ptr %5"),  # used elsewhere
        (f"%5 = {STEP} %0, i64 %1", "7:", f"%6 = {STEP} %5, i64 %2"),  # another block: a loop may be between them
        ("%5 = getelementptr i8, ptr addrspace(1) %0, i64 %1", f"%6 = {STEP} %5, i64 %2"),  # bytes: no multiple
        (f"%5 = {STEP} %0, i64 %1", "%6 = getelementptr i8, ptr addrspace(1) %5, i64 4"),  # LLVM folds constants
        ("%5 = getelementptr {i32, i8}, ptr addrspace(1) %0, i64 %1", f"%6 = {STEP} %5, i64 %2"),
        (f"%5 = {STEP.replace('(1)', '(3)')} %0, i64 %1", f"%6 = {STEP.replace('(1)', '(3)')} %5, i64 %2"),
    ],
)
def test_lines_that_stay_as_they_are(lines):
    assert body(*lines) == [line.strip() for line in lines]


@cute.kernel
def sliced(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    row = x[block, None, None]
    part = row[thread % 4, None]
    out[block * 8 + thread] = part[thread // 4 + 1] + part[0]


@cute.jit
def slice_twice(x: cute.Tensor, out: cute.Tensor):
    sliced(x, out).launch(grid=(3, 1, 1), block=(8, 1, 1))


def test_a_tensor_sliced_twice_reads_the_same_elements():
    x = torch.arange(3 * 4 * 5 * 2, dtype=torch.int32).view(3, 4, 10)[:, :, ::2]  # strides 40, 10, 2
    out = torch.zeros(24, dtype=torch.int32)
    slice_twice(x, out)
    wanted = [
        x[block, thread % 4, thread // 4 + 1] + x[block, thread % 4, 0] for block in range(3) for thread in range(8)
    ]
    assert out.tolist() == wanted
