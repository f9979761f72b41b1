"""A race shows both of its answers under delays; the cured kernel shows one."""

import numpy as np
import pytest

from dsl import emulator
from dsl.perturbation.delays import BadDelays, parse
from dsl.perturbation.perturbation import Perturbation, of
from tests import fork_server
from tests.perturbation.racy import RACY, ptx

SEEDS = range(1, 13)


def answer(text, blocks, perturbation):
    """The bytes that the kernel `k` writes, under delays."""
    memory, out = emulator.Memory(), np.zeros(512, np.int32)
    memory.register(out.ctypes.data, out.nbytes, "out")
    params = [out.ctypes.data.to_bytes(8, "little")]
    program = emulator.load(perturbation.applied(text))
    emulator.launch(
        program, "k", (blocks, 1, 1), (64, 1, 1), params, memory, seed=perturbation.order, gives_way=True
    )  # fmt: skip
    return out.tobytes()


@pytest.mark.parametrize("name", RACY)
def test_a_race_shows_two_answers_and_its_cure_one(name):
    blocks = RACY[name][2]
    racy = {answer(ptx(name), blocks, Perturbation(seed)) for seed in SEEDS}
    cured = {answer(ptx(name, cured=True), blocks, Perturbation(seed)) for seed in SEEDS}
    assert len(racy) > 1 and len(cured) == 1


@pytest.mark.parametrize("name", RACY)
def test_delays_alone_show_the_race(name):
    """Even seeds change only delays, not the order."""
    even = [seed for seed in range(2, 40, 2)]
    assert all(Perturbation(seed).order == 0 for seed in even)
    assert len({answer(ptx(name), RACY[name][2], Perturbation(seed)) for seed in (0, *even)}) > 1


@pytest.mark.parametrize("seed", [3, 4])
def test_the_list_of_a_seed_gives_what_the_seed_gave(seed):
    by_seed = Perturbation(seed)
    before = answer(ptx("sum"), 1, by_seed)
    by_list = of(by_seed.described())
    assert answer(ptx("sum"), 1, by_list) == before
    assert parse(by_list.described()) == parse(by_seed.described())


def test_one_delay_decides_who_is_late():
    """The two warps change words: the one that sleeps before its store gives the other what nobody wrote."""
    for late in (0, 1):
        out = answer(ptx("exchange"), 1, of(f"k 1 before 6400 ns warp {late}"))
        words = np.frombuffer(out, np.int32)[:64]
        other = slice(32, 64) if late == 0 else slice(0, 32)
        assert (words[other] == -1).all() and np.count_nonzero(words == -1) == 32


def test_a_seed_or_a_list_is_read():
    assert of("seed 5") == Perturbation(5)
    assert of("order 3").order == 3
    with pytest.raises(BadDelays):
        of("seed")


EXCHANGE = """
import numpy as np
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    words = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    words[t] = t + 100
    cute.arch.sync_threads()
    words[t] = t
    out[t] = words[63 - t]

@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(64, 1, 1))

def run():
    out = np.zeros(64, np.int32)
    host(from_dlpack(out))
    return {"least": out.min(), "most": out.max()}
"""


def dsl(folder, *arguments):
    (folder / "exchange.py").write_text(EXCHANGE)
    return fork_server.run(["-m", "dsl", "--device", "emulator", *arguments, "exchange.py"], cwd=folder)


def test_a_program_runs_under_a_list_of_delays(tmp_path):
    name = "kernel_kernel_0"
    assert "most = 63\n" in dsl(tmp_path, "--delays", f"{name} 3 before 64 ns all").stdout
    late = dsl(tmp_path, "--delays", f"{name} 3 before 6400 ns warp 1")
    assert "most = 163\n" in late.stdout, late.stderr
    (tmp_path / "list").write_text(f"{name} 3 before 6400 ns warp 1  # the second store\n")
    assert dsl(tmp_path, "--delays", "@list").stdout == late.stdout


def test_a_list_that_is_none_is_wrong_usage(tmp_path):
    ran = dsl(tmp_path, "--delays", "here 3 before all")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dsl: --delays: a delay must read `KERNEL SITE before|after N ns ")
    lacks = dsl(tmp_path, "--delays", "@nowhere")
    assert (lacks.returncode, lacks.stderr) == (2, "dsl: --delays: [Errno 2] No such file or directory: 'nowhere'\n")


def test_a_list_for_another_kernel_fails_with_its_reason(tmp_path):
    ran = dsl(tmp_path, "--delays", "kernel_kernel_0 99 before 64 ns all")
    assert ran.returncode == 1
    assert "the site of a delay in `kernel_kernel_0` must be 1 to 5, got 99: the list is for other PTX" in ran.stderr
