"""T.ptx's functions of upstream 0.26: numbers, named barriers, fences, registers and mbarriers, on the emulator."""

from __future__ import annotations

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.tirx.script import tirx as T

pytestmark = pytest.mark.filterwarnings("ignore:apache-tvm 0.27 has no:DeprecationWarning")


def test_approximations_are_close(run):
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), O: T.Buffer((2, 64), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        O[0, tx] = T.ptx.rcp(A[tx])
        O[1, tx] = T.ptx.exp2(A[tx])

    a = np.concatenate([np.random.default_rng(3).uniform(-9, 9, 60), [0.5, -2, 0, 1e-39]]).astype(np.float32)
    with np.errstate(divide="ignore"):
        want = np.stack([1 / np.where(np.abs(a) < 1e-38, 0, a).astype(np.float64), np.exp2(a.astype(np.float64))])
    np.testing.assert_allclose(run(main, a, np.zeros((2, 64), np.float32))[1], want, rtol=2**-22)


def test_the_larger_of_two_numbers(run):
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), O: T.Buffer((3, 4), "float32")):
        T.device_entry()
        tx = T.thread_id([4])
        O[0, tx] = T.ptx.max_f32(A[tx], B[tx])
        O[1, tx] = T.ptx.max_f32(A[tx], B[tx], nan=True)
        O[2, tx] = T.ptx.max_f32(A[tx], B[tx], ftz=True)

    a, b = np.array([[1, np.nan, 2.0**-140, -3], [2, 5, -1, -4]], np.float32)
    made = run(main, a, b, np.zeros((3, 4), np.float32))[2]
    tiny = 2.0**-140
    np.testing.assert_array_equal(made, np.array([[2, 5, tiny, -3], [2, np.nan, tiny, -3], [2, 5, 0, -3]], np.float32))


def test_producers_arrive_and_consumers_wait_at_a_named_barrier(run):
    @T.prim_func
    def main(A: T.Buffer((32,), "int32"), O: T.Buffer((32,), "int32")):
        T.device_entry()
        tx = T.thread_id([64])
        sm = T.alloc_shared((32,), "int32")
        if tx < 32:
            sm[tx] = A[tx]
            T.ptx.bar.arrive(2, 64)
        else:
            T.ptx.bar.sync(2, 64)
            O[tx - 32] = sm[63 - tx]

    a = np.arange(32, dtype=np.int32)
    np.testing.assert_array_equal(run(main, a, a * 0)[1], a[::-1])


def test_fences_and_registers_are_written_as_ptx(ptx):
    @T.prim_func
    def main(O: T.Buffer((128,), "int32")):
        T.device_entry()
        tx = T.thread_id([128])
        T.ptx.fence()
        T.ptx.fence("sc", "cluster")
        T.ptx.fence.proxy_async()
        T.ptx.fence.proxy_async("shared::cta")
        T.ptx.setmaxnreg(True, 160)
        T.ptx.setmaxnreg(False, 40)
        O[tx] = tx

    lines = [line.strip() for line in ptx(main).splitlines()]
    wanted = ["fence.acq_rel.gpu;", "fence.sc.cluster;", "fence.proxy.async;", "fence.proxy.async.shared::cta;"]
    wanted += ["setmaxnreg.inc.sync.aligned.u32 160;", "setmaxnreg.dec.sync.aligned.u32 40;"]
    text = " ".join(" ".join(line.split()) for line in lines)
    places = [text.find(each) for each in wanted]
    assert -1 not in places and places == sorted(places), dict(zip(wanted, places))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('T.ptx.fence("relaxed", "gpu")', "no fence is called relaxed.gpu"),
        ('T.ptx.fence("sc", "block")', "no fence is called sc.block"),
        ('T.ptx.fence.proxy_async("local")', "no proxy fence is of 'local'"),
        ("T.ptx.bar.arrive(16, 32)", "barrier id must be 0-15, got 16"),
    ],
)
def test_wrong_names_are_refused(tmp_path, call, message):
    path = tmp_path / "program.py"
    text = "from dsl.tirx.script import tirx as T\nimport dsl.tirx as tvm\n@T.prim_func\n"
    text += 'def main(O: T.Buffer((32,), "int32")):\n    T.device_entry()\n    tx = T.thread_id([32])\n'
    path.write_text(f'{text}    {call}\n    O[tx] = tx\ntvm.compile(main, target="cuda")\n')
    with pytest.raises(DSLUserCodeError) as error:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "program"})
    assert message in str(error.value) and "program.py:7:" in str(error.value)


def test_a_phase_ends_with_its_last_arrival(run):
    @T.prim_func
    def main(O: T.Buffer((3,), "int32")):
        T.device_entry()
        tx = T.thread_id([1])
        bars = T.alloc_shared((1,), "uint64")
        T.ptx.mbarrier.init(bars.ptr_to([0]), 2)
        T.ptx.mbarrier.arrive(bars.ptr_to([0]))
        O[0] = T.ptx.mbarrier.try_wait_once(bars.ptr_to([0]), 0)
        T.ptx.mbarrier.arrive.expect_tx(bars.ptr_to([0]), 0)
        O[1] = T.ptx.mbarrier.try_wait_once(bars.ptr_to([0]), 0)
        O[2] = T.ptx.mbarrier.try_wait_once(bars.ptr_to([0]), 1)

    assert run(main, np.zeros(3, np.int32))[0].tolist() == [0, 1, 0]
