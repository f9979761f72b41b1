"""A loop that looks at memory with an atomic lets the blocks run that it waits for, in every surface.

One block waits until seven others have counted; on one thread of the host it would keep them from running for ever.
"""

import signal

import numpy as np
import pytest

import dsl.cutlass as cutlass
import dsl.quadrants as qd
import dsl.tirx as tvm
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.tirx.script import tirx as T

arch = cute.arch


@pytest.fixture(autouse=True)
def running(monkeypatch):
    def never_ends(*_):
        raise TimeoutError("the loop keeps the others from running")

    monkeypatch.setenv("GPU_REPRO_WORKERS", "1")
    run = session.start("emulator")
    qd.init(arch=qd.cpu)
    kept = signal.signal(signal.SIGALRM, never_ends)
    signal.alarm(120)
    yield run
    signal.alarm(0)
    signal.signal(signal.SIGALRM, kept)
    session.stop()


# --- Quadrants ---


@qd.kernel
def qd_waits(x: qd.types.ndarray(), look: qd.template()):
    qd.loop_config(block_dim=1)
    for i in range(8):
        if i == 0:
            while look(x) != 7:
                pass
            x[1] = 1
        else:
            qd.atomic_add(x[0], 1)


@qd.kernel
def qd_waits_for_so_long(x: qd.types.ndarray(), look: qd.template()):
    qd.loop_config(block_dim=1)
    for i in range(8):
        if i == 0:
            rounds = 0
            while rounds < 2000000000 and look(x) != 7:
                rounds += 1
            x[1] = rounds < 2000000000
        else:
            qd.atomic_add(x[0], 1)


@qd.kernel
def qd_breaks(x: qd.types.ndarray(), look: qd.template()):
    qd.loop_config(block_dim=1)
    for i in range(8):
        if i == 0:
            seen = 0
            while True:
                seen = look(x)
                if seen == 7:
                    break
            x[1] = 1
        else:
            qd.atomic_add(x[0], 1)


@qd.func
def adds(x: qd.template()):
    return qd.atomic_add(x[0], 0)


@qd.func
def ors(x: qd.template()):
    return qd.atomic_or(x[0], 0)


@qd.func
def takes_the_most(x: qd.template()):
    return qd.atomic_max(x[0], 0)


@qd.func
def takes_the_least(x: qd.template()):
    return qd.atomic_min(x[0], 1000)


@qd.func
def masks(x: qd.template()):
    return qd.atomic_and(x[0], -1)


@qd.func
def subtracts(x: qd.template()):
    return qd.atomic_sub(x[0], 0)


@qd.func
def compares(x: qd.template()):
    return qd.atomic_cas(x[0], 900, 900)


@pytest.mark.parametrize("kernel", [qd_waits, qd_waits_for_so_long, qd_breaks], ids=lambda kernel: kernel.__name__)
def test_quadrants(kernel):
    for look in (adds, ors, takes_the_most, takes_the_least, masks, subtracts, compares):
        x = np.zeros(2, np.int32)
        kernel(x, look)
        assert x.tolist() == [7, 1], look.__name__


@qd.kernel
def qd_next_place(x: qd.types.ndarray()):
    qd.loop_config(block_dim=1)
    for i in range(4):
        if i == 0:
            k = 0
            while k < 3:
                if qd.atomic_add(x[k], 0) > 0:
                    k += 1
        else:
            x[i - 1] = 1


def test_a_wait_that_moves_on():
    x = np.zeros(3, np.int32)
    qd_next_place(x)
    assert x.tolist() == [1, 1, 1]


# --- CuTe ---


@cute.kernel
def cute_waits(x: cute.Tensor, look: cutlass.Constexpr, most: cutlass.Constexpr):
    block, _, _ = arch.block_idx()
    if block == 0:
        rounds = cutlass.Int32(0)
        while look(x) != 7 and rounds < most:
            rounds += 1
        x[1] = cutlass.Int32(rounds < most)
    else:
        arch.atomic_add(x.iterator, cutlass.Int32(1))


@cute.jit
def cute_run(x: cute.Tensor, look: cutlass.Constexpr, most: cutlass.Constexpr):
    cute_waits(x, look, most).launch(grid=(8, 1, 1), block=(1, 1, 1))


def test_cute():
    for look in (
        lambda x: arch.atomic_add(x.iterator, cutlass.Int32(0)),
        lambda x: arch.atomic_or(x.iterator, cutlass.Int32(0)),
        lambda x: arch.atomic_max(x.iterator, cutlass.Int32(-1)),
    ):
        x = np.zeros(2, np.int32)
        cute_run(from_dlpack(x), look, 2000000000)
        assert x.tolist() == [7, 1]


# --- TIRx ---


@T.prim_func
def tirx_waits(X: T.Buffer((2,), "int32")):
    T.device_entry()
    bx = T.cta_id([8])
    tx = T.thread_id([1])
    if bx == 0:
        n: T.int32 = 0
        while n < 2000000000:
            n += 1
            if T.cuda.atomic_add(X.ptr_to([0]), 0) == 7:
                X[1] = 1
                n = 2000000000
    else:
        T.cuda.atomic_add(X.ptr_to([0]), 1)


def test_tirx():
    x = np.zeros(2, np.int32)
    tvm.compile(tirx_waits, target="cuda")(x)
    assert x.tolist() == [7, 1]
