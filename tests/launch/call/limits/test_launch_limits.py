"""A warm launch reads no text of its kernel, and what is to be known of a kernel and a block size is found once.

The first is tested by taking all text away after the first launch: traced text, LLVM IR, PTX and what the emulator
parsed become objects that refuse every use. So a launch costs the same whatever the size of its kernel.
"""

import dataclasses

import numpy as np
import pytest

import dsl.quadrants as qd
import dsl.tirx as tvm
from dsl.analysis import uniformity
from dsl.cutlass import Int32, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.launch.call.compiling import compiler as compilation
from dsl.launch.call.limits import launch_limits
from dsl.launch.call.limits.launch_limits import DivergentCollective
from dsl.tirx.script import tirx as T


class Gone:
    """Stands for a text: whoever looks at it fails."""

    def __getattribute__(self, name):
        raise AssertionError(f"a warm launch reads text ({name})")

    __hash__ = __eq__ = __len__ = __iter__ = __contains__ = __str__ = __getattribute__


@pytest.fixture
def running(monkeypatch):
    made, init = [], compilation.Compiled.__init__

    def noted(self, *arguments):
        init(self, *arguments)
        made.append(self)

    monkeypatch.setattr(compilation.Compiled, "__init__", noted)
    monkeypatch.setattr(compilation, "_codes", {})
    run = session.start("emulator")
    run.made = made
    yield run
    session.stop()


@cute.kernel
def barriers(a: cute.Tensor, n: Int32):
    i, _, _ = cute.arch.thread_idx()
    for _ in range(n):
        cute.arch.sync_threads()
        a[i] = a[i] + 1


@cute.jit
def of_any_block(a: cute.Tensor, n: Int32, block: Int32):
    barriers(a, n).launch(grid=1, block=block)


@cute.jit
def of_32_threads(a: cute.Tensor, n: Int32):
    barriers(a, n).launch(grid=1, block=32)


def in_cute(options: str = ""):
    """A call with a block that the launch knows, and one whose kernel knows it."""
    array = np.zeros(64, np.int32)
    a = from_dlpack(array, enable_tvm_ffi=bool(options))
    dynamic = cute.compile(of_any_block, a, 3, 32, options=options)
    static = cute.compile(of_32_threads, a, 3, options=options)
    return lambda: (dynamic(a, 3, 32), static(a, 3), dynamic(a, 3, 64), array.copy())[-1]


def in_quadrants():
    qd.init(arch=qd.cpu)
    x, total = qd.field(qd.i32, shape=64), qd.field(qd.i32, shape=())

    @qd.kernel
    def tasks(a: qd.types.ndarray(), n: int) -> int:
        for i in x:
            x[i] += n
        total[None] = n
        for i in range(n):
            qd.atomic_add(total[None], x[i])
            a[i] = x[i]
        return total[None]

    array = np.zeros(64, np.int32)
    return lambda: (tasks(array, 7), array.copy())[-1]


def in_t():
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32")):
        T.device_entry()
        tx = T.thread_id([64])
        for _ in range(3):
            T.cuda.cta_sync()
            A[tx] = A[tx] + 1

    compiled = tvm.compile(kernel, target="cuda")
    tensor = tvm.runtime.tensor(np.zeros(64, np.int32), device=tvm.cuda(0))
    return lambda: (compiled(tensor), tensor.numpy())[-1]


SURFACES = {"cute": in_cute, "cute, TVM FFI": lambda: in_cute("--enable-tvm-ffi"), "quadrants": in_quadrants, "t": in_t}


def take_texts(running, monkeypatch) -> None:
    """All text of what was compiled, and what the emulator made of it, is gone."""
    for compiled in running.made:
        object.__setattr__(compiled.code, "llvm", Gone())
        object.__setattr__(compiled.code, "ptx", Gone())
        compiled.traced = dataclasses.replace(compiled.traced, host_mlir=Gone(), device_mlir=Gone())
        program = compiled.program(session.current().device)
        for name in ("ptx", "module", "_compiler"):  # a program may be another test's too
            monkeypatch.setattr(program, name, Gone())
    for record in running.kernels:
        record.mlir = record.llvm = record.ptx = Gone()


@pytest.mark.parametrize("checks", ["none", "all"])
@pytest.mark.parametrize("surface", SURFACES)
def test_a_warm_launch_reads_no_text(running, monkeypatch, surface, checks):
    running.look_for(checks)
    call = SURFACES[surface]()
    before = call()
    assert running.made
    take_texts(running, monkeypatch)
    assert (call() != before).any()


@pytest.fixture
def analyses(monkeypatch):
    """The blocks and kernels that were looked at, in order."""
    found, check = [], uniformity.check

    def noted(mlir_text, block=None, name=None):
        found.append((name, block))
        return check(mlir_text, block, name)

    monkeypatch.setattr(uniformity, "check", noted)
    return found


@pytest.mark.parametrize("surface", SURFACES)
def test_collectives_are_looked_at_once_a_kernel_and_block(running, analyses, surface):
    call = SURFACES[surface]()
    for _ in range(5):
        call()
    launches = [block for _, block in analyses if block is not None]
    assert launches == ([(32, 1, 1), (64, 1, 1)] if surface.startswith("cute") else [])


def test_the_same_code_compiled_again_is_not_looked_at_again(running, analyses):
    a = from_dlpack(np.zeros(64, np.int32))
    for _ in range(3):
        cute.compile(of_any_block, a, 3, 32)(a, 3, 32)
        of_any_block(a, 3, 32)
    assert analyses == [(None, None), ("kernel_barriers_0", (32, 1, 1))]


def test_another_process_does_not_look_again(running, analyses, monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_REPRO_CACHE", "1")
    monkeypatch.setenv("GPU_REPRO_CACHE_DIR", str(tmp_path))
    a = from_dlpack(np.zeros(64, np.int32))
    for _ in range(2):
        compilation._codes.clear()
        cute.compile(of_any_block, a, 3, 32)(a, 3, 32)
    assert analyses == [(None, None), ("kernel_barriers_0", (32, 1, 1))]


@cute.kernel
def guarded(a: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i < 32:
        cute.arch.sync_threads()


@cute.jit
def of_guarded(a: cute.Tensor, block: Int32):
    guarded(a).launch(grid=1, block=block)


def test_a_block_that_diverges_is_refused_by_every_launch(running, analyses):
    a = from_dlpack(np.zeros(64, np.int32))
    call = cute.compile(of_guarded, a, 32)
    for _ in range(2):
        call(a, 32)
        with pytest.raises(DivergentCollective, match="waits for all 64 threads of the block, but threads 0 to 31 get"):
            call(a, 64)
    assert [block for _, block in analyses] == [None, (32, 1, 1), (64, 1, 1)]


def test_undecided_are_those_with_an_inner_collective_and_a_block_of_the_launch():
    @cute.kernel
    def outer(a: cute.Tensor):
        cute.arch.sync_threads()

    @cute.jit
    def host(a: cute.Tensor, block: Int32):
        outer(a).launch(grid=1, block=block)
        guarded(a).launch(grid=1, block=block)
        guarded(a).launch(grid=1, block=32)

    session.start("emulator")
    try:
        made = cute.compile(host, from_dlpack(np.zeros(64, np.int32)), 32)
        assert uniformity.undecided(made.compiled.traced.device_mlir) == {"kernel_guarded_1"}
        assert isinstance(made.compiled.code.collectives, launch_limits.Collectives)
    finally:
        session.stop()
