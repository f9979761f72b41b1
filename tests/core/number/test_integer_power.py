"""`a ** b` of run-time integers: Python's power, cut to the type; and what has no value in Python."""

import itertools

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session


@pytest.fixture(autouse=True)
def emulator():
    session.start("emulator")
    yield
    session.stop()


@cute.jit
def powers(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    for i in range(a.shape[0]):
        out[i] = a[i] ** b[i]


def expected(base: int, exponent: int, signed: bool, width: int) -> int:
    if exponent >= 0:
        power = base**exponent
    else:  # by PTX's division: 1 / 0 is all ones
        power = {0: -1, 1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
    power %= 1 << width
    return power - (1 << width) if signed and power >> (width - 1) else power


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.int8])
def test_powers_wrap_as_pythons_cut_to_the_width(dtype):
    facts = np.iinfo(dtype)
    bases = [0, 1, 2, 3, 10, facts.max, *([-1, -2, -7, facts.min] if facts.min else [])]
    exponents = [0, 1, 2, 5, 31, 33, 63, *([-1, -2, -3] if facts.min else [])]
    pairs = np.array(list(itertools.product(bases, exponents)), dtype)
    out = np.zeros(len(pairs), dtype)
    powers(*(from_dlpack(np.ascontiguousarray(column)) for column in pairs.T), from_dlpack(out))
    wanted = [expected(int(a), int(b), facts.min < 0, facts.bits) for a, b in pairs]
    wrong = [(pair.tolist(), int(got), want) for pair, got, want in zip(pairs, out, wanted) if int(got) != want]
    assert wrong == []
    assert cutlass.Int32(3) ** 4 == 81  # folded while compiling
