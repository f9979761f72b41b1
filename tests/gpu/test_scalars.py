"""Atomics, packed and long numbers, PTX text: against NVIDIA's compiler, numpy and Python's integers;
what is refused."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from tests import fork_server

PROGRAM = Path(__file__).with_name("scalar_program.py")
TABLE = Path(__file__).with_name("scalar_table.txt")  # python -m dsl --compiler nvidia scalar_program.py > it
arch = cute.arch


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


def output_of() -> str:
    done = fork_server.run(["-W", "ignore", "-m", "dsl", str(PROGRAM)], env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_values_are_upstreams():
    theirs = TABLE.read_text()
    assert len(theirs.splitlines()) == 11
    assert output_of() == theirs


def run(kernel, *arrays, threads=1, options=""):
    @cute.jit
    def host(*tensors):
        kernel(*tensors).launch(grid=(1, 1, 1), block=(threads, 1, 1))

    arguments = [from_dlpack(array) for array in arrays]
    cute.compile(host, *arguments, options=options)(*arguments)


# --- atomics --------------------------------------------------------------------------------------------------------

ORDERS = [{}, {"scope": "cta"}, {"sem": "acq_rel", "scope": "sys"}, {"sem": "release"}]
COMBINED = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_every_combination_of_integers(dtype, order):
    names = list(COMBINED)

    @cute.kernel
    def kernel(values: cute.Tensor, out: cute.Tensor):
        i = arch.thread_idx()[0]
        for k in cutlass.range_constexpr(len(names)):
            getattr(arch, f"atomic_{names[k]}")(out.iterator + k, values[i], **order)

    values = np.random.default_rng(0).integers(0, 1 << 62, 32).astype(dtype) * 3
    out = np.arange(len(names)).astype(dtype) * 12345
    wanted = [COMBINED[name].reduce(values, initial=start, dtype=dtype) for name, start in zip(names, out)]
    run(kernel, values, out, threads=32)
    assert out.tolist() == [int(number) for number in wanted]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(width=32), min_size=8, max_size=8), st.floats(width=32, allow_nan=False))
def test_float_extremes_are_those_of_the_numbers(values, start):
    compiled = float_extremes()
    numbers, out = np.array(values, np.float32), np.array([start, start], np.float32)
    compiled(from_dlpack(numbers), from_dlpack(out))
    signless = [number for number in numbers if not (np.isnan(number) and np.signbit(number))]
    if len(signless) < 8:
        return  # a NaN with a sign is not ordered
    present = np.append(numbers, np.float32(start))
    known = present[~np.isnan(present)]
    assert out[1] == known.min()
    assert np.isnan(out[0]) if np.isnan(present).any() else out[0] == known.max()


_compiled: list = []


def float_extremes():
    @cute.kernel
    def kernel(values: cute.Tensor, out: cute.Tensor):
        i = arch.thread_idx()[0]
        arch.atomic_fmax(out.iterator, values[i])
        arch.atomic_fmin(out.iterator + 1, values[i])

    @cute.jit
    def host(values: cute.Tensor, out: cute.Tensor):
        kernel(values, out).launch(grid=(1, 1, 1), block=(8, 1, 1))

    if not _compiled:
        _compiled.append(cute.compile(host, from_dlpack(np.zeros(8, np.float32)), from_dlpack(np.zeros(2, np.float32))))
    return _compiled[0]


def test_an_order_and_a_scope_are_in_the_instruction(emulator):
    @cute.kernel
    def kernel(out: cute.Tensor):
        shared = cutlass.memory.SmemAllocator().allocate_array(cutlass.Int32, 1)
        arch.atomic_add(out.iterator, 1)
        arch.atomic_add(out.iterator, 1, scope="sys")
        arch.atomic_max(shared, 1, sem="acquire", scope="cta")
        arch.atomic_cas(out.iterator, cmp=cutlass.Int32(0), val=cutlass.Int32(1), sem="release")
        arch.red(out.iterator, cutlass.Int32(1), op="add", dtype="u32", sem="release", scope="cluster")

    run(kernel, np.zeros(1, np.int32))
    for instruction in (
        "atom.global.add.u32",
        "atom.relaxed.sys.global.add.u32",
        "atom.acquire.cta.shared.max.s32",
        "atom.release.gpu.global.cas.b32",
        "red.release.cluster.global.add.u32",
    ):
        assert emulator.show("ptx").count(instruction) == 1


def test_the_type_of_the_value_decides():
    @cute.kernel
    def kernel(out: cute.Tensor):
        arch.atomic_add(out.iterator, cutlass.Int64(1 << 32))

    out = np.array([5, 6], np.int32)
    with pytest.warns(UserWarning, match="atomic_add of a Int64 in memory of Int32 works on 64 bits as Int64"):
        run(kernel, out)
    assert out.tolist() == [5, 7]


# --- packed and long numbers ----------------------------------------------------------------------------------------


def halves_of(words: np.ndarray, dtype) -> np.ndarray:
    return words.view(np.uint16).view(dtype).astype(np.float64)


def test_packed_halves_are_two_operations_rounded_once():
    @cute.kernel
    def kernel(words: cute.Tensor, out: cute.Tensor):
        i = arch.thread_idx()[0]
        a, b, c = words[0, i], words[1, i], words[2, i]
        out[0, i], out[1, i] = arch.add_packed_f16x2(a, b), arch.sub_packed_f16x2(a, b)
        out[2, i] = arch.fma_packed_f16x2(a, b, c)

    halves = np.random.default_rng(1).normal(size=(3, 512)).astype(np.float16)
    out = np.zeros((3, 256), np.int32)
    run(kernel, halves.view(np.int32), out, threads=256)
    a, b, c = halves.astype(np.float64)
    wanted = np.stack([a + b, a - b, a * b + c]).astype(np.float16)
    assert (out.view(np.float16) == wanted).all()


def test_two_floats_at_once_from_sm_100_on():
    @cute.kernel
    def kernel(x: cute.Tensor, out: cute.Tensor):
        a, b, c = (x[0], x[1]), (x[2], x[3]), (x[4], x[5])
        out[0], out[1] = arch.add_packed_f32x2(a, b)
        out[2], out[3] = arch.mul_packed_f32x2(a, b, rnd="rz")
        out[4], out[5] = arch.fma_packed_f32x2(a, b, c)
        out[6], out[7] = arch.sub_packed_f32x2(a, b, ftz=True)

    x, out = np.array([1.1, 3.3, -2.7, 1e-3, 1e9, 7.0], np.float32), np.zeros(8, np.float32)
    run(kernel, x, out, options="--gpu-arch sm_100a")
    a, b, c = x.reshape(3, 2).astype(np.float64)
    cut = (a * b).astype(np.float32)
    cut = np.where(np.abs(cut) > np.abs(a * b), np.nextafter(cut, np.float32(0)), cut)
    wanted = np.concatenate(
        [(a + b).astype(np.float32), cut, (a * b + c).astype(np.float32), (a - b).astype(np.float32)]
    )
    assert out.tolist() == wanted.tolist()
    with pytest.raises(
        cutlass.DSLUserCodeError,
        match="computes with f32x2 \\(add\\), which needs sm_100 or later, but this is compiled for sm_90a",
    ):
        run(kernel, x, out, options="--gpu-arch sm_90a")


WORD = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), WORD, WORD)
def test_two_links_are_a_number_of_two_words(x, y, factor, addend):
    words = np.array([x, x >> 32, y, y >> 32, factor, addend, addend >> 5], np.uint64).astype(np.uint32)
    out = np.zeros(6, np.uint32)
    chains()(from_dlpack(words), from_dlpack(out))
    pairs = (int(high) << 32 | int(low) for low, high in out.reshape(3, 2))
    low_product = int(words[0]) * int(words[4]) & 0xFFFFFFFF
    total = low_product + int(words[5])
    high = int(words[1]) * int(words[4]) + int(words[6]) + (total >> 32)
    assert list(pairs) == [(x + y) % 2**64, (x - y) % 2**64, (high & 0xFFFFFFFF) << 32 | total & 0xFFFFFFFF]


_chains: list = []


def chains():
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        out[0], out[1] = arch.add_cc(a[0], a[2]), arch.addc(a[1], a[3])
        out[2], out[3] = arch.sub_cc(a[0], a[2]), arch.subc(a[1], a[3])
        out[4], out[5] = arch.mad_cc(a[0], a[4], a[5]), arch.madc(a[1], a[4], a[6])

    @cute.jit
    def host(a: cute.Tensor, out: cute.Tensor):
        kernel(a, out).launch(grid=(1, 1, 1), block=(1, 1, 1))

    if not _chains:
        _chains.append(cute.compile(host, from_dlpack(np.zeros(7, np.uint32)), from_dlpack(np.zeros(6, np.uint32))))
    return _chains[0]


# --- what is refused ------------------------------------------------------------------------------------------------

x = cutlass.Int32
REFUSED = {
    "and of a float": (lambda t: arch.atomic_and(t.iterator, cutlass.Float32(1)), "no atomic `and` exists for Float32"),
    "16 bits": (lambda t: arch.atomic_add(t.iterator, cutlass.Int16(1)), "no atomic `add` exists for Int16"),
    "no pointer": (
        lambda t: arch.atomic_add(t, x(1)),
        "atomic_add takes a pointer and a number, got Tensor of Int32 (8):(1) and Int32",
    ),
    "scope": (
        lambda t: arch.atomic_add(t.iterator, x(1), scope="block"),
        "scope must be one of gpu, cta, cluster, sys, got 'block'",
    ),
    "registers": (
        lambda t: arch.atomic_add(cute.make_rmem_tensor(1, x).iterator, x(1), scope="sys"),
        "no other thread sees rmem memory: an atomic operation works on global or shared memory",
    ),
    "8 bits": (
        lambda t: arch.atomic_cas(t.iterator, cmp=cutlass.Int8(0), val=cutlass.Int8(1)),
        "no atomic compare-and-swap exists for Int8",
    ),
    "red and": (
        lambda t: arch.red(t.iterator, x(1), op="and", dtype="s32", sem="relaxed"),
        "no reduction `and` exists for s32",
    ),
    "red order": (
        lambda t: arch.red(t.iterator, x(1), op="add", dtype="s32"),
        "sem of red must be relaxed or release, got None",
    ),
    "no scope": (
        lambda t: arch.load(t.iterator, x, sem="acquire"),
        'sem="acquire" needs the scope of the threads it is for',
    ),
    "cop": (lambda t: arch.store(t.iterator, x(1), cop="ca"), "cop of a store must be one of wb, cg, cs, wt, got 'ca'"),
    "ss": (lambda t: arch.load(t.iterator, x, ss="cta"), "ss is for shared memory, but the pointer is to gmem memory"),
    "two types": (
        lambda t: arch.add_cc(t[0], cutlass.Uint32(1)),
        "add_cc takes 2 integers of one type of 32 or 64 bits, got Int32, Uint32",
    ),
    "one half": (
        lambda t: arch.add_packed_f16x2((t[0],), (t[1],)),
        "packed operand must be a tuple of two numbers, got tuple of 1",
    ),
    "no operand": (
        lambda t: arch.inline_ptx("mov.b32 {$w0}, {$r1};", write_only_types=[x], read_only_args=[t[0]]),
        "the PTX text names {$r1}, but there is no such operand",
    ),
    "read and written": (
        lambda t: arch.inline_ptx("add.s32 {$rw0}, {$rw0}, 1;", read_write_args=[t[0]]),
        "a number here is a value, which PTX text cannot change: read_write_args has none to write to",
    ),
    "another": (lambda t: arch.issue_clc_query(), "cutlass.cute.arch.issue_clc_query is not part of this compiler yet"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    body, message = REFUSED[case]

    @cute.kernel
    def kernel(t: cute.Tensor):
        body(t)

    with pytest.raises(cutlass.DSLUserCodeError) as error:
        run(kernel, np.zeros(8, np.int32))
    assert error.value.message == message
    assert error.value.fix
