"""Products that a launch leaves open because nobody measured them: its descriptors decide, not the text alone."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.dependence.arrays import Arrays
from tests.emulator.conftest import pack
from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.products import LANES, Case
from tests.emulator.families.tcgen05.test_scaled_products import FORMS, LONG, scaled
from tests.emulator.families.tcgen05.test_sparse_products import Sparse

OPEN = [
    Case("e2m3", "e4m3"), Case("e4m3", "e3m2"), Case("e2m1", "e5m2"), Case(scale_d=1), Case(n=64, stationary=True),
    Sparse(), scaled(FORMS[0], b="e2m1"), scaled(LONG[0]),
]  # fmt: skip
KNOWN = [
    Case(), Case("tf32", "tf32"), Case("e4m3", "e5m2"), Case(scale_d=0), Case("s8", "u8", "s32", n=64, stationary=True),
    Sparse("s8", "s8", "s32"), scaled(FORMS[0]), scaled(FORMS[4]),
]  # fmt: skip


def left_open(case: Case) -> list[str]:
    """What D is open by, after a launch."""
    cells = np.full((LANES, case.columns), 0x44444444, np.uint32)
    image = np.zeros(program.SMEM_BYTES, np.uint8)
    a, b = (program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in case.layouts)
    text = program.ptx(case.operation, case.columns).replace("sm_100a", case.target)
    loaded = emulator.load(f"{text}// {case}\n", gpu_model=program.MODELS[case.target])
    memory, arrays = emulator.Memory(), Arrays()
    for name, array in (("image", image), ("cells", cells)):
        memory.register(array.ctypes.data, array.nbytes, name)
    params = [pack(each) for each in (image, cells, np.uint64(a), np.uint64(b), np.uint32(case.idesc), 1)]
    arrays.launch(loaded, "k", params, memory)
    emulator.launch(loaded, "k", (1, 1, 1), (LANES, 1, 1), params, memory, program.SMEM_BYTES)
    arrays.ended(loaded, "k")
    return [each.leeway.bound for each in arrays.of(cells.ctypes.data, cells.nbytes)]


@pytest.mark.parametrize("case", OPEN)
def test_products_that_nobody_measured_are_open(case):
    assert left_open(case) == ["nobody measured this form on the chip"]


@pytest.mark.parametrize("case", KNOWN)
def test_published_and_exact_products_are_not_open(case):
    assert left_open(case) == []
