"""Elements of 4 and 6 bits: NVIDIA's compiler's values, what both refuse, and what is here alone."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor
from tests import fork_server

PROGRAM = Path(__file__).with_name("packed_program.py")
TABLE = Path(__file__).with_name("packed_table.txt")  # python -m dsl --compiler nvidia packed_program.py > it
pytestmark = pytest.mark.filterwarnings("ignore:.*NVIDIA's compiler rejects that")
PACKED = [cutlass.Int4, cutlass.Float4E2M1FN, cutlass.Float6E2M3FN, cutlass.Float6E3M2FN]


def output_of(*command: str) -> list[str]:
    done = fork_server.run(["-W", "ignore", "-m", "dsl", *command], env={**os.environ, "CUTE_DSL_ARCH": "sm_100a"})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_values_are_upstreams():
    theirs, ours = TABLE.read_text().splitlines(), output_of(str(PROGRAM))
    assert len(theirs) == len(ours) == 69
    refused = [line for line in theirs if line.endswith("refused")]
    assert [a for a, b in zip(ours, theirs) if a != b and b not in refused] == []
    assert "Float32 to Float4E2M1FN [128, 16, 34, 68, 102, 119, 247, 167, 0, 119, 7, 216, 119, 145, 226, 116]" in theirs


@pytest.mark.slow
def test_the_table_is_what_nvidias_compiler_gives(installed):
    lines = output_of("--compiler", "nvidia", str(PROGRAM), "short")
    assert len(lines) == 8 and set(lines) <= set(TABLE.read_text().splitlines())


def bits_of(codes: np.ndarray, width: int) -> np.ndarray:
    """The bytes that hold numbers of `width` bits one after the other, the first lowest."""
    return np.packbits((codes[:, None] >> np.arange(width)) & 1, bitorder="little")


@pytest.mark.parametrize("dtype", PACKED, ids=str)
def test_a_value_is_unpacked_and_packed_again(run, aligned, dtype):
    codes = np.arange(64) * 29 % (1 << dtype.width)
    src = aligned(64 * dtype.width // 8, np.uint8)
    src[:] = bits_of(codes, dtype.width)
    out, swapped = np.zeros_like(src), np.zeros_like(src)

    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor, swapped: cute.Tensor):
        value = cute.recast_tensor(src, dtype).load()
        cute.recast_tensor(out, dtype).store(value)
        halves = value.reshape((32, 2))
        for half in cutlass.range_constexpr(2):
            start = cute.recast_tensor(swapped, dtype).iterator + 32 * (1 - half)
            cute.make_tensor(start, cute.make_layout(32)).store(halves[None, half])

    run(kernel, src, out, swapped, threads=1)
    assert (out == src).all()
    assert (swapped == bits_of(np.concatenate([codes[32:], codes[:32]]), dtype.width)).all()


def test_a_copy_of_a_value_is_a_copy_of_words(run, aligned, emulator):
    src, out = aligned(32, np.uint8), aligned(32, np.uint8)

    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor):
        cute.recast_tensor(out, cutlass.Float4E2M1FN).store(cute.recast_tensor(src, cutlass.Float4E2M1FN).load())

    run(kernel, src, out, threads=1)
    ptx = emulator.show("ptx")
    assert len(re.findall(r"(?:ld|st)\.global\.v4\.b32", ptx)) == 4 and not re.search(r"\b(shl|shr|and|or)\.b", ptx)


@pytest.mark.parametrize("count", [6, 12, 24])
def test_a_copy_moves_no_more_than_its_elements(run, aligned, count):
    src, out = aligned(32), aligned(32)
    src[:] = np.arange(1, 33)

    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor):
        part = [cute.make_tensor(t.iterator, cute.make_layout(count)) for t in (src, out)]
        cute.autovec_copy(part[0], part[1])

    run(kernel, src, out, threads=1)
    assert out.tolist() == [*range(1, count + 1)] + [0] * (32 - count)


def test_printing_decodes(capfd):
    @cute.jit
    def show(codes: cute.Tensor, n: cutlass.Int32):
        for dtype in PACKED[:3]:
            elements = cute.recast_tensor(codes, dtype)
            cute.print_tensor(cute.make_tensor(elements.iterator, cute.make_layout((2, n))))
            cute.printf("{}", elements.load()[3])

    show(from_dlpack(np.array([0x21, 0xF3, 0x8E], np.uint8)), 2)
    text = re.sub(r"0x[0-9a-f]+", "0x", capfd.readouterr().out)
    assert text.split("data=\n", 1)[1].startswith("       [[ 1,  3, ],\n        [ 2, -1, ]])\n-1\n")
    assert "[[ 0.500000,  1.500000, ],\n        [ 1.000000, -6.000000, ]])\n-6.000000\n" in text
    assert "[[-0.125000, -1.875000, ],\n        [ 1.500000, -0.375000, ]])\n-0.375000\n" in text


def narrow(body):
    @cute.kernel
    def kernel(src: cute.Tensor, n: cutlass.Int32):
        body(cute.recast_tensor(src, cutlass.Float4E2M1FN), n)

    return kernel


REFUSED = {
    "one": (
        lambda t, n: t[3],
        "Sub-byte scalar dereference not supported for type Float4E2M1FN: it has no elements of whole bytes",
        "load or store many at once (`t.load()`), or read bytes: `cute.recast_tensor(t, cutlass.Uint8)`",
    ),
    "inside": (
        lambda t, n: cute.make_tensor(t.iterator + 1, cute.make_layout(8)).load(),
        "this load of Float4E2M1FN begins inside a byte",
        "begin at an even element (every fourth of 6 bits); declare a dynamic offset with `cute.assume(n, divby=...)`",
    ),
    "dynamic": (
        lambda t, n: cute.make_tensor(t.iterator + n, cute.make_layout(8)).load(),
        "this load of Float4E2M1FN may begin inside a byte",
        "begin at an even element (every fourth of 6 bits); declare a dynamic offset with `cute.assume(n, divby=...)`",
    ),
    "twice": (
        lambda t, n: t.iterator + n + 1,
        "moves a pointer to Float4E2M1FN by parts of a byte from a place that may be inside one",
        "add the offsets first, and then the sum to the pointer",
    ),
    "strided": (
        lambda t, n: cute.make_tensor(t.iterator, cute.make_layout(8, stride=2)).load(),
        "this load moves 1 contiguous element of Float4E2M1FN at a time, 4 bits: memory has whole bytes only",
        "move a multiple of 2 contiguous elements",
    ),
    "odd": (
        lambda t, n: cute.autovec_copy(*[cute.make_tensor(t.iterator, cute.make_layout(7))] * 2),
        "this copy moves 1 contiguous element of Float4E2M1FN at a time, 4 bits: memory has whole bytes only",
        "copy tensors whose contiguous mode has whole bytes, or recast them to Uint8",
    ),
    "element": (
        lambda t, n: t.load()[0].to(cutlass.Float32),
        "Unsupported source float type: one Float4E2M1FN is not converted, vectors of them are",
        "convert a whole `t.load()`, in a kernel for sm_100a",
    ),
    "earlier": (
        lambda t, n: t.load().to(cutlass.Float32),
        "converts from or to Float4E2M1FN, which needs sm_100a or later, but this is compiled for sm_90a",
        "--gpu-arch sm_100a, or keep to what sm_90a has",
    ),
    "integers": (
        lambda t, n: t.load().to(cutlass.Int32),
        "Unsupported conversion of Float4E2M1FN to Int32: no instruction does it",
        "go by Float32: `x.to(cutlass.Float32)`",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_accesses_are_refused(refused, aligned, case):
    body, message, fix = REFUSED[case]
    assert refused(narrow(body), aligned(32, np.uint8), 3) == (message, fix)


def test_a_dynamic_offset_of_whole_bytes_is_one(run, aligned):
    src, out = aligned(64, np.uint8), aligned(16, np.uint8)
    src[:] = np.arange(64)

    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor, n: cutlass.Int32):
        start = cute.recast_tensor(src, cutlass.Int4).iterator + cute.assume(n, divby=2)
        cute.autovec_copy(cute.make_tensor(start, cute.make_layout(32)), cute.recast_tensor(out, cutlass.Int4))

    run(kernel, src, out, 18, threads=1)
    assert out.tolist() == list(range(9, 25))


def test_torchs_pairs_are_elements():
    torch = pytest.importorskip("torch")
    pairs = torch.arange(24, dtype=torch.uint8).reshape(4, 6).view(torch.float4_e2m1fn_x2)
    for tensor, shape, stride in (
        (pairs, (4, 12), (12, 1)),
        (pairs.permute(1, 0), (12, 4), (1, 12)),
        (pairs[:, :2], (4, 4), (12, 1)),
        (pairs[:, ::2], (4, 3), (12, 4)),
    ):
        argument = from_dlpack(tensor)
        assert (argument.shape, argument.stride, argument.element_type) == (shape, stride, cutlass.Float4E2M1FN)


def test_bytes_are_read_as_narrower_elements():
    argument = from_dlpack(np.zeros((4, 6), np.uint8))
    argument.element_type = cutlass.Int4
    assert (argument.shape, argument.stride) == ((4, 6), (6, 1))  # as upstream: extents stay
    with pytest.raises(cutlass.DSLUserCodeError, match="elements of Int4 cannot be read as Float32"):
        argument.element_type = cutlass.Float32
    assert str(make_fake_compact_tensor(cutlass.Float6E2M3FN, (8, 4))) == "FakeTensor<Float6E2M3FN, (8, 4), (1, 8)>"


@pytest.mark.parametrize(
    "name, width, exponent, mantissa",
    [("Float4E2M1FNx2", 8, 2, 1), ("Float6E2M3FNx4", 24, 2, 3), ("Float6E3M2FNx4", 24, 3, 2)],
)
def test_a_group_has_no_values_known_while_compiling(name, width, exponent, mantissa):
    dtype = getattr(cutlass, name)
    assert (dtype.width, dtype.bytes, dtype.exponent_width, dtype.mantissa_width) == (
        width,
        width // 8,
        exponent,
        mantissa,
    )
    with pytest.raises(cutlass.DSLUserCodeError, match=f"{name} has no values known while compiling"):
        dtype(1.5)
