"""Pointers as upstream's primitives take them: `raw_ptr()`, and loads and stores that give their alignment."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeAttributeError, DSLUserCodeTypeError
from dsl.core.number.pointer import AddressSpace
from dsl.cutlass import Constexpr, Int32, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session


@cute.kernel
def moved(a: cute.Tensor, out: cute.Tensor, n: Int32, alignment: Constexpr):
    start = a.iterator.raw_ptr()
    out.iterator.raw_ptr().store((start + n).load(alignment=alignment), alignment=alignment)
    out.iterator.raw_ptr()[1] = start[2] + (start + 5 - 1).load()


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, n: Int32, alignment: Constexpr):
    moved(a, out, n, alignment).launch(grid=1, block=1)


def test_loads_and_stores_are_at_the_address_of_the_pointer():
    a, out = np.arange(8, dtype=np.float32), np.zeros(2, np.float32)
    session.start("emulator")
    try:
        for alignment in (4, 16):
            host(from_dlpack(a), from_dlpack(out), 3, alignment)
            assert out.tolist() == [3, 6]
        with pytest.raises(DSLUserCodeTypeError) as error:
            host(from_dlpack(a), from_dlpack(out), 3, 6)
        assert (error.value.message, error.value.fix) == (
            "alignment must be a power of two, got 6",
            "write 4, 8, 16, ...",
        )
    finally:
        session.stop()


def test_tensor_memory_is_refused_by_name():
    with pytest.raises(DSLUserCodeAttributeError) as caught:
        AddressSpace.tmem
    assert caught.value.message == "AddressSpace.tmem is not part of this compiler yet: tensor memory is of Blackwell"
    assert caught.value.id == "UNSUPPORTED_NAME" and not hasattr(AddressSpace, "tmem")
    assert AddressSpace.cmem is AddressSpace(4)
    with pytest.raises(AttributeError, match="type object 'AddressSpace' has no attribute 'vmem'"):
        AddressSpace.vmem
