"""Probes of wgmma: types and sizes; products of whole numbers against numpy, from each layout of the operands."""

import functools

import numpy as np
import pytest

from dsl.forms import predict
from dsl.forms.kinds import warpgroup


@functools.cache
def forms() -> dict:
    return {form.name: form for form in warpgroup.forms()}


@pytest.mark.slow
def test_every_type_and_every_size_is_probed():
    names = " ".join(forms())
    assert all(f".{d}.{a}.{b}" in names for a, b, d in warpgroup.TYPES)
    assert all(f"m64n{n}k" in names for n in warpgroup.SIZES)


def operands(image: np.ndarray, at: np.ndarray, kind: str) -> np.ndarray:
    return image[:, at].reshape(len(image), len(at), -1).view(kind).astype(np.int64)


@pytest.mark.parametrize("n", [8, 64])
def test_integers_are_numpys(n):
    form = forms()[f"wgmma.mma_async.sync.aligned.m64n{n}k32.s32.s8.s8"]
    probes = form.count // 128
    b, c, a = (np.frombuffer(each.tobytes(), np.uint8).reshape(probes, -1) for each in form.operands)
    a, b = (operands(each, warpgroup.place("none", rows), "i1") for each, rows in ((a, 64), (b, n)))
    (out,) = predict.predict(form)
    gotten, c = (np.frombuffer(each.tobytes(), np.int32).reshape(probes, 128, n // 2) for each in (out, c))
    thread, index = np.mgrid[:128, : n // 2]
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (index // 2 % 2)
    column = index // 4 * 8 + thread % 4 * 2 + index % 2
    product = np.einsum("pmk,pnk->pmn", a, b)
    assert (gotten == (product[:, row, column] + c).astype(np.int32)).all()


@pytest.mark.parametrize("suffix", [".swizzle32B", ".swizzle64B", ".swizzle128B", ".transposed"])
def test_a_layout_does_not_change_the_product(suffix):
    plain = forms()["wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"]
    other = forms()[plain.name + suffix]
    (want,), (got,) = (predict.predict(each) for each in (plain, other))
    assert got.tobytes() == want[: len(got)].tobytes() and other.operands[0].tobytes() != plain.operands[0].tobytes()
