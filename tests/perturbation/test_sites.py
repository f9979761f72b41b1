"""The places where a delay can matter."""

import pytest

from dsl.perturbation.sites import sites


def module(*instructions, name="k"):
    return f'.version 8.0\n.target sm_90a\n.file 1 "/a/b.py"\n.entry {name}() {{\n.loc 1 7 3\n{"".join(f"{each};" for each in instructions)}\n}}\n'


@pytest.mark.parametrize(
    ("instruction", "is_site"),
    [
        ("bar.sync 0", True),
        ("barrier.cluster.arrive.aligned", True),
        ("mbarrier.try_wait.parity.shared::cta.b64 %p, [%r1], %r2", True),
        ("@%p ld.global.nc.b32 %r1, [%rd1]", True),
        ("ld.shared::cluster.b32 %r1, [%r2]", True),
        ("ld.b32 %r1, [%rd1]", True),
        ("st.volatile.shared.b32 [%r1], 0", True),
        ("atom.global.add.u32 %r1, [%rd1], 1", True),
        ("red.async.relaxed.cluster.global.add.u64 [%rd1], 1", True),
        ("cp.async.bulk.commit_group", True),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16", True),
        ("fence.proxy.async", True),
        ("wgmma.wait_group.sync.aligned 0", True),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2]", True),
        ("elect.sync %r1|%p, -1", True),
        ("ld.param.b64 %rd1, [p]", False),
        ("ld.const.b32 %r1, [c]", False),
        ("st.local.b32 [%r1], 0", False),
        ("cp.async.bulk.prefetch.L2.global [%rd1], 16", False),
        ("add.s32 %r1, %r1, 1", False),
        ("bra DONE", False),
        ("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1", False),
        ("setmaxnreg.inc.sync.aligned.u32 240", False),
    ],
)
def test_instructions_that_synchronise_or_touch_what_others_see(instruction, is_site):
    assert len(sites(module(instruction))) == is_site


def test_a_run_of_products_is_one_site():
    text = module(
        "wgmma.fence.sync.aligned", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1",
        "ld.shared.b32 %r1, [%r2]", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1",
        "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned 0",
    )  # fmt: skip
    run, wait = sites(text)
    assert text[run.before : run.before + 11] == "wgmma.fence" and text[: run.after].endswith(
        "commit_group.sync.aligned;"
    )
    assert (wait.number, wait.text, wait.place) == (2, "wgmma.wait_group.sync.aligned 0;", "b.py:7")


def test_sites_of_each_function_are_counted_from_one():
    both = module("bar.sync 0", "bar.sync 1") + module("membar.gl", name="l").partition("\n.file")[2].partition("\n")[2]
    assert [(each.function, each.number) for each in sites(both)] == [("k", 1), ("k", 2), ("l", 1)]
