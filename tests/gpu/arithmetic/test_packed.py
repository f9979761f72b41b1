"""Arithmetic on two numbers in one register: each as if alone, rounded once."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from tests.one_block import run

arch = cute.arch


pytestmark = pytest.mark.usefixtures("emulator")


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
