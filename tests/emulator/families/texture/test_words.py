"""Faults of textures and surfaces in words."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.texture.test_emit import SURFACE, made


@pytest.mark.parametrize("handle, why", [
    (np.zeros(96, np.uint8), "is not a texture or surface object"),
    (made(np.zeros((1, 3, 4, 1), np.int32)), "an access of 4 bytes, at byte -8 of a row, is outside of the surface"),
])  # fmt: skip
def test_a_fault(machine, handle, why):
    with pytest.raises(emulator.Fault, match=f"(?s)ILLEGAL.*{why}"):
        machine.run(SURFACE.format(mode="trap"), block=8, handle=handle, data=np.zeros(1), out=np.zeros(8, np.int32))
