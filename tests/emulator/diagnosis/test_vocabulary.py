"""Fixes in the words of each language: no instruction where the language has a function, and none of another language."""

import re

import pytest

from dsl.emulator.diagnosis import vocabulary
from dsl.emulator.diagnosis.vocabulary import CUDA, CUTE, QUADRANTS, TIRX, TRITON

FIXES = [
    ("wait there (bar.sync 3, 64), and count them", TIRX, "wait there (`T.ptx.bar.sync(3, 64)`), and count them"),
    ("wait there (bar.sync): bar.arrive there does not wait", CUTE,
     "wait there (`cute.arch.barrier`): `cute.arch.barrier_arrive` there does not wait"),
    ("write cp.async.wait_group 1 at line 3", CUDA, "write `__pipeline_wait_prior(1)` at line 3"),
    ("write cp.async.wait_group 1 at line 3", TRITON, "write cp.async.wait_group 1 at line 3"),
    ("write cp.async.bulk.wait_group.read 0 at line 3", CUDA,
     "write `cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>())` at line 3"),
    ("wait, cp.async.bulk.wait_group (`cute.arch.cp_async_bulk_wait_group(0)`): `.read` waits", CUDA,
     "wait, `cuda::ptx::cp_async_bulk_wait_group`: `.read` waits"),
    ("wait, cp.async.bulk.wait_group (`cute.arch.cp_async_bulk_wait_group(0)`): `.read` waits", CUTE,
     "wait, cp.async.bulk.wait_group (`cute.arch.cp_async_bulk_wait_group(0)`): `.read` waits"),
    ("put wgmma.wait_group 0 (`cute.nvgpu.warpgroup.wait_group`) before line 3", CUDA,
     "put wgmma.wait_group 0 before line 3"),
    ("initialize it (mbarrier.init, `cute.arch.mbarrier_init`) and fence (`cute.arch.mbarrier_init_fence`)", TIRX,
     "initialize it (`T.ptx.mbarrier.init`) and fence"),
    ("make the arrival `mbarrier.arrive.relaxed.cluster.b64 _, [%a];` a release", CUDA,
     "make the arrival `mbarrier.arrive.relaxed.cluster.b64 _, [%a];` a release"),
    ("let this thread wait (`mbarrier.try_wait`) first", CUDA,
     "let this thread wait (`cuda::ptx::mbarrier_try_wait_parity`) first"),
    ("put a barrier of the warp (bar.warp.sync), or of the block if all its threads come by, between line 3 and line 4",
     TRITON, "put a barrier of the block (`tl.debug_barrier()`) between line 3 and line 4"),
    ("arrive there for the last time by mbarrier.arrive_drop, so that", CUDA,
     "arrive there for the last time by `cuda::barrier::arrive_and_drop`, so that"),
    ("the signal (`pipeline.consumer_wait`) before", TRITON, "the signal before"),
    ("the signal (`pipeline.consumer_wait`) before", CUTE, "the signal (`pipeline.consumer_wait`) before"),
    ("a release (a fence before it, or .release)", CUDA,
     "a release (`__threadfence()` before it, or `cuda::memory_order_release`)"),
    ("an acquire (a fence after it, or .acquire)", TRITON, 'an acquire (`sem="acquire"`)'),
    ("make the read of the flag at line 3 an acquire (a fence after it, or .acquire)", QUADRANTS,
     "read it in a later outermost loop: no function of `qd` orders blocks"),
    ("put griddepcontrol.wait (`cute.arch.griddepcontrol_wait()`) before line 3, or launch this kernel without use_pdl",
     CUDA, "put `cudaGridDependencySynchronize()` before line 3, or launch this kernel without programmatic stream "
     "serialization"),
]  # fmt: skip


@pytest.mark.parametrize(("fix", "language", "text"), FIXES)
def test_a_fix_in_the_words_of_a_language(fix, language, text):
    assert vocabulary.said(fix, language) == text


def test_a_warning_names_instructions_and_functions():
    text = (
        "the kernel has no bar.sync of barrier 3: fence.mbarrier_init (`cute.arch.mbarrier_init_fence`) is for copies"
    )
    rest = "the kernel has no bar.sync of barrier 3: {} is for copies"
    assert vocabulary.warned(text, CUTE) == vocabulary.warned(text, None) == text
    assert vocabulary.warned(text, CUDA) == rest.format("`cuda::ptx::fence_mbarrier_init`")
    assert vocabulary.warned(text, TRITON) == rest.format("fence.mbarrier_init")


@pytest.mark.parametrize("fix", sorted({fix for fix, *_ in FIXES}))
def test_ptx_keeps_its_words_and_other_languages_have_none_of_cute(fix):
    assert vocabulary.said(fix, None) == fix
    for language in (QUADRANTS, TIRX, TRITON, CUDA):
        assert not re.search(r"\b(cute|pipeline)\.", vocabulary.said(fix, language))


def test_each_row_has_a_text_or_none_for_each_language():
    assert {len(row) for row in (*vocabulary.FUNCTIONS.values(), *vocabulary.PHRASES.values())} == {5}
    for table in (vocabulary.FUNCTIONS, vocabulary.PHRASES):
        for pattern, row in table.items():
            groups = re.compile(pattern).groups
            used = {int(each) for text in row for each in re.findall(r"\\(\d)", text)}
            assert used <= set(range(1, groups + 1)), pattern
