"""The region of shared memory: what is known of a place in it."""

import pytest

from dsl.core.ir import mlir
from dsl.core.number.pointer import AddressSpace
from dsl.tile.memory.region import REGION, placement_bytes


@pytest.fixture
def index():
    """A number known at run time, in a function that is being traced."""
    module = mlir.Module()
    _, entry = module.function("f", [mlir.i32, mlir.ptr(3)])
    with mlir.inside(entry):
        yield entry.arguments
        mlir.op("llvm.return")


def start(name=REGION):
    return mlir.result("llvm.mlir.addressof", mlir.ptr(AddressSpace.smem), global_name=mlir.symbol_attr(name))


def test_a_place_a_known_distance_from_the_start_has_its_alignment(index):
    assert placement_bytes(start()) == 1024
    for steps, known in (
        (((mlir.i8, 48),), 16),
        (((mlir.f16, 1024),), 1024),
        (((mlir.i8, 64), (mlir.f32, 16)), 128),
        (((mlir.i8, 3), (mlir.bf16, -1)), 1),
    ):
        address = start()
        for element, count in steps:
            address = mlir.gep(address, element, count)
        assert placement_bytes(address) == known


def test_nothing_is_known_of_other_places(index):
    number, pointer = index
    for address in (
        pointer,
        mlir.gep(start(), mlir.i8, number),
        mlir.gep(mlir.gep(start(), mlir.i8, number), mlir.i8, 1024),
        mlir.gep(start(), mlir.array(mlir.i8, 3), 1024),
        start("another"),
    ):
        assert placement_bytes(address) == 1
