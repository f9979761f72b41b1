"""Device allocations: what is registered, and what a report says of an address that no longer is."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.runtime.memory import Allocation

KERNEL = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %v; .reg .b64 %p;
  ld.param.u64 %p, [p]; ld.global.b32 %v, [%p]; st.global.b32 [%p], %v;
  ret;
}
"""


def test_an_address_is_remembered_once_all_its_registrations_are_gone():
    memory = emulator.Memory()
    memory.register(4096, 64, "first")
    memory.register(4096, 32, "again")
    memory.unregister(4096)
    assert memory.freed(4096) is None
    memory.unregister(4096)
    assert memory.freed(4096 + 63) == Allocation(4096, 64, "first")
    assert memory.freed(4096 + 64) is None and memory.freed(4095) is None
    memory.register(4128, 64, "later")
    memory.unregister(4128)
    assert memory.freed(4140) == Allocation(4128, 64, "later") and memory.freed(4100).label == "first"


def test_a_pointer_to_a_freed_tensor():
    array, other, memory = np.zeros(64, np.int32), np.zeros(4, np.int32), emulator.Memory()
    address = array.ctypes.data
    memory.register(address, array.nbytes, "weights")
    memory.register(other.ctypes.data, other.nbytes, "other")
    arguments = emulator.load(KERNEL), "k", (1, 1, 1), (32, 1, 1), [(address + 128).to_bytes(8, "little")], memory
    emulator.launch(*arguments)
    memory.unregister(address)
    with pytest.raises(emulator.Fault) as caught:
        emulator.launch(*arguments)
    text = str(caught.value)
    assert "read of 4 bytes" in text and "; `weights` (256 bytes) was there and is freed" in text
    assert text.endswith(
        "fix: keep the tensor until the kernel has run, if it was meant: a pointer alone does not hold it"
    )
