"""Collectives that provably not all of their threads reach, in pairs: the program differs by one number, `k`."""

import warnings

import numpy as np
import pytest

import dsl.tirx as tvm
from dsl.cutlass import Constexpr, Float16, Float32, Int32, const_expr, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.launch.call.compiling import compiler as compiling
from dsl.launch.call.limits.launch_limits import DivergentCollective
from dsl.tirx.script import tirx as T

PAIRS = []


class Checked(Exception):
    """Raised after the check: the rest of the compilation is not needed."""


@pytest.fixture(autouse=True)
def only_the_check(monkeypatch):
    def stop(*_arguments, **_options):
        raise Checked

    session.start("emulator")
    monkeypatch.setattr(compiling, "compile_modules", stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    session.stop()


def pair(wrong, right, block=64):
    """Collect a kernel with the values of `k` that make it wrong and right."""

    def collect(kernel):
        PAIRS.append(pytest.param(kernel, wrong, right, block, id=kernel.__name__))
        return kernel

    return collect


def compiled(kernel, k, block=64, n=8):
    @cute.jit
    def host(a: cute.Tensor, n: Int32, k: Constexpr, block: Constexpr):
        kernel(a, n, k).launch(grid=2, block=block)

    with pytest.raises(Checked):
        cute.compile(host, from_dlpack(np.zeros(1024, np.int32)), n, k, block)


@pair(16, 64)
@cute.kernel
def a_guard_of_threads(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx < k:
        cute.arch.sync_threads()


@pair(1, 2)
@cute.kernel
def a_guard_of_warps(a: cute.Tensor, n: Int32, k: Constexpr):
    if cute.arch.warp_idx() < k:
        cute.arch.sync_threads()


@pair(16, 0)
@cute.kernel
def an_else(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx < k:
        a[tx] = 1
    else:
        cute.arch.sync_threads()


@pair(48, 64)
@cute.kernel
def an_early_return(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx >= k:
        return
    a[tx] = 1
    cute.arch.sync_threads()


@pair(3, 64)
@cute.kernel
def a_break_before_it(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    for i in range(n):
        if tx == k:
            break
        cute.arch.sync_threads()


@pair(3, 64)
@cute.kernel
def a_continue_before_it(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    for i in range(n):
        if tx == k:
            continue
        cute.arch.sync_threads()


@pair(1, 0)
@cute.kernel
def as_many_trips_as_the_thread_says(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    for i in range(tx * k + 3):
        cute.arch.sync_threads()


@pair(1, 0)
@cute.kernel
def a_while_that_starts_at_the_thread(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    i = tx * k
    while i < 48:
        cute.arch.sync_threads()
        i += 1


@pair(16, 32)
@cute.kernel
def a_shuffle_of_all_lanes(a: cute.Tensor, n: Int32, k: Constexpr):
    lane = cute.arch.lane_idx()
    if lane < k:
        a[lane] = cute.arch.shuffle_sync(a[lane], 0)


@pair(40, 32)
@cute.kernel
def a_matrix_product(a: cute.Tensor, n: Int32, k: Constexpr):
    mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)))
    d, x, y = (
        make(shape)
        for make, shape in (
            (mma.make_fragment_C, ((2, 2), 1, 1)),
            (mma.make_fragment_A, ((2, 2, 2), 1, 1)),
            (mma.make_fragment_B, ((2, 2), 1, 1)),
        )
    )
    tx, _, _ = cute.arch.thread_idx()
    if tx < k:
        cute.gemm(mma, d, x, y, d)


@pair(16, 32)
@cute.kernel
def a_vote_of_all_lanes(a: cute.Tensor, n: Int32, k: Constexpr):
    lane = cute.arch.lane_idx()
    if lane < k:
        a[lane] = cute.arch.vote_ballot_sync(a[lane] > 3)


@pair(31, 32)
@cute.kernel
def sync_warp_of_all_lanes(a: cute.Tensor, n: Int32, k: Constexpr):
    if cute.arch.lane_idx() < k:
        cute.arch.sync_warp()


@pair(0x1FFFF, 0xFFFF)
@cute.kernel
def a_mask_with_a_lane_too_many(a: cute.Tensor, n: Int32, k: Constexpr):
    lane = cute.arch.lane_idx()
    if lane < 16:
        a[lane] = cute.arch.shuffle_sync_bfly(a[lane], 1, mask=k)


@pair(16, 64)
@cute.kernel
def beside_a_condition_on_data(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if n > 3 and tx < k:
        cute.arch.sync_threads()


@pair(16, 60)
@cute.kernel
def two_ends_of_the_block(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx < k or tx >= 60:
        cute.arch.sync_threads()


@pair(16, 64)
@cute.kernel
def inside_a_condition_on_data(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if a[0] > 3:
        if tx < k:
            cute.arch.sync_threads()


@pair(1, 0)
@cute.kernel
def one_thread_of_the_grid(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    if bx * 64 + tx * k == n:
        cute.arch.sync_threads()


@pair(32, 64)
@cute.kernel
def a_barrier_that_counts_more_than_come(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx < k:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)


@pair(96, 64)
@cute.kernel
def one_warp_arrives_and_another_waits(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx < 32:
        cute.arch.barrier(barrier_id=2, number_of_threads=k)
    else:
        cute.arch.barrier_arrive(barrier_id=2, number_of_threads=k)


@pair(128, 96)
@cute.kernel
def a_warp_arrives_and_then_waits_itself(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    cute.arch.barrier_arrive(barrier_id=2, number_of_threads=k)
    if tx < 32:
        cute.arch.barrier(barrier_id=2, number_of_threads=k)


@pair(1, 2)
@cute.kernel
def every_other_thread(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx % 2 < k:
        cute.arch.sync_threads()


@pair(4, 8, block=(8, 8, 1))
@cute.kernel
def rows_of_the_block(a: cute.Tensor, n: Int32, k: Constexpr):
    _, ty, _ = cute.arch.thread_idx()
    if ty < k:
        cute.arch.sync_threads()


@pair(16, 64)
@cute.kernel
def a_condition_in_a_variable(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    mine = tx < k
    a[tx] = 1
    if mine:
        cute.arch.sync_threads()


@pair(1, 0)
@cute.kernel
def a_number_that_a_branch_has_set(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    step = Int32(0)
    if tx < 16:
        step = Int32(k)
    if step == 0:
        cute.arch.sync_threads()


@pair(True, False)
@cute.kernel
def one_elected_lane(a: cute.Tensor, n: Int32, k: Constexpr):
    with cute.arch.elect_one():
        a[0] = 1
        if const_expr(k):
            cute.arch.sync_warp()


@pair(16, 64)
@cute.kernel
def in_a_helper(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx < k:
        joined()


@cute.jit
def joined():
    cute.arch.sync_threads()


@pytest.mark.parametrize("kernel, wrong, right, block", PAIRS)
def test_a_pair(kernel, wrong, right, block):
    with pytest.raises(DivergentCollective) as raised:
        compiled(kernel, wrong, block)
    assert raised.value.also and raised.value.fix
    compiled(kernel, right, block)


# --- what must stay allowed ------------------------------------------------------------------------------------------


@cute.kernel
def arms_meet(a: cute.Tensor, n: Int32, k: Constexpr):
    if cute.arch.warp_idx() == 0:
        a[0] = 1
        cute.arch.sync_threads()
    else:
        cute.arch.sync_threads()


@cute.kernel
def a_warp_by_itself(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if cute.arch.warp_idx() == 0:
        cute.arch.sync_warp()
        a[tx] = cute.arch.shuffle_sync(a[tx], 0)


@cute.kernel
def data_decides(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if a[tx] > 3:
        cute.arch.sync_threads()
    if tx < n:
        cute.arch.sync_threads()


@cute.kernel
def after_a_loop_that_threads_leave(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    for i in range(n):
        if tx == 3:
            break
        a[tx] = i
    cute.arch.sync_threads()


@cute.kernel
def a_guard_that_all_pass(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    if tx < 1024:
        cute.arch.sync_threads()


@cute.kernel
def as_many_trips_for_each(a: cute.Tensor, n: Int32, k: Constexpr):
    tx, _, _ = cute.arch.thread_idx()
    for i in range(tx, tx + 64, 32):
        cute.arch.sync_threads()


@pytest.mark.parametrize("block", [64, 48])
@pytest.mark.parametrize(
    "kernel",
    [
        arms_meet,
        a_warp_by_itself,
        data_decides,
        after_a_loop_that_threads_leave,
        a_guard_that_all_pass,
        as_many_trips_for_each,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_no_false_alarm(kernel, block):
    compiled(kernel, 0, block)


def test_a_launch_of_one_thread_has_no_others():
    compiled(a_guard_of_threads, 1, 1)


def test_a_block_known_at_launch_only_is_checked_there(monkeypatch):
    monkeypatch.undo()

    @cute.jit
    def host(a: cute.Tensor, n: Int32, block: Int32):
        a_guard_of_threads(a, n, 16).launch(grid=1, block=block)

    tensor = from_dlpack(np.zeros(1024, np.int32))
    cute.compile(host, tensor, 8, 16)(tensor, 8, 16)
    with pytest.raises(DivergentCollective, match="waits for all 64 threads"):
        cute.compile(host, tensor, 8, 16)(tensor, 8, 64)


# --- the messages ----------------------------------------------------------------------------------------------------


def told(kernel, k) -> list[str]:
    with pytest.raises(DivergentCollective) as raised:
        compiled(kernel, k)
    return [line.split(": ", 1)[-1] if line.startswith("tests") else line for line in str(raised.value).splitlines()]


def test_both_lines_and_the_fix():
    assert told(a_guard_of_threads, 16) == [
        "DIVERGENT_COLLECTIVE",
        "    cute.arch.sync_threads()",
        "    ^^^^^^^^^^^^^^^^^^^^^^^^ waits for all 64 threads of the block, but threads 0 to 15 get here",
        "see",
        "    if tx < k:",
        "       ^^^^^^ is true in threads 0 to 15 only",
        "fix: move it out of the condition, so that every thread gets to it",
    ]


def test_the_condition_of_an_early_exit():
    assert told(an_early_return, 48)[3:6] == [
        "see",
        "    if tx >= k:",
        "       ^^^^^^^ is false in threads 0 to 47 only",
    ]


def test_the_mask_that_fits():
    lines = told(a_shuffle_of_all_lanes, 16)
    assert lines[2].endswith("shfl.sync.idx waits for the lanes of its mask 0xffffffff, but 16 of its lanes get here")
    assert lines[-1] == "fix: name the lanes that get here: mask=0xffff; or move it out of the condition"


def test_the_count_that_fits():
    assert told(a_barrier_that_counts_more_than_come, 32)[-1] == "fix: count the threads that meet: 32"


# --- T ---------------------------------------------------------------------------------------------------------------


def test_the_page_of_tirx():
    """`if wg_id == 0:` round a cta_sync, and the warpgroup's own barrier."""

    @T.prim_func
    def wrong(A: T.Buffer((256,), "float32")):
        T.device_entry()
        wg = T.warpgroup_id([2])
        tx = T.thread_id([256])
        if wg == 0:
            T.cuda.cta_sync()
        A[tx] = T.float32(1.0)

    @T.prim_func
    def right(A: T.Buffer((256,), "float32")):
        T.device_entry()
        wg = T.warpgroup_id([2])
        tx = T.thread_id([256])
        if wg == 0:
            T.cuda.warpgroup_sync(1)
        A[tx] = T.float32(1.0)

    both(wrong, right)


def both(wrong, right):
    with pytest.raises(DivergentCollective):
        tvm.compile(wrong, target="cuda")
    with pytest.raises(Checked):
        tvm.compile(right, target="cuda")


def test_cta_sync_under_a_thread_guard():
    @T.prim_func
    def wrong(A: T.Buffer((256,), "float32")):
        T.device_entry()
        tx = T.thread_id([256])
        if tx < 128:
            A[tx] = A[tx] * T.float32(2.0)
            T.cuda.cta_sync()

    @T.prim_func
    def right(A: T.Buffer((256,), "float32")):
        T.device_entry()
        tx = T.thread_id([256])
        if tx < 128:
            A[tx] = A[tx] * T.float32(2.0)
        T.cuda.cta_sync()

    both(wrong, right)


def test_cta_sync_in_a_loop_that_a_thread_leaves():
    @T.prim_func
    def wrong(A: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        for i in T.serial(8):
            if tx == 5:
                break
            T.cuda.cta_sync()

    @T.prim_func
    def right(A: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        for i in T.serial(8):
            if A[0] > T.float32(5.0):
                break
            T.cuda.cta_sync()

    both(wrong, right)
