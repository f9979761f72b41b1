"""Shuffles by TVM's portable names: every kind and width against a model of segments; what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.tirx.script import tirx as T


def lane_read(kind: str, lane: int, operand: int, width: int) -> int:
    """CUDA C++ Programming Guide, Warp Shuffle Functions: outside the segment a lane reads itself."""
    first = lane - lane % width
    if kind == "idx":
        return first + operand % width
    source = {"up": lane - operand, "down": lane + operand, "xor": lane ^ operand}[kind]
    return source if first <= source < first + width else lane


@pytest.mark.parametrize("width", [4, 8, 32])
def test_every_kind_and_width(run, width):
    @T.prim_func
    def main(A: T.Buffer((32,), "int32"), O: T.Buffer((4, 32), "int32")):
        T.device_entry()
        tx = T.lane_id([32])
        O[0, tx] = T.tvm_warp_shuffle(0xFFFFFFFF, A[tx], 3, width, 32)
        O[1, tx] = T.tvm_warp_shuffle_up(0xFFFFFFFF, A[tx], 2, width, 32)
        O[2, tx] = T.tvm_warp_shuffle_down(0xFFFFFFFF, A[tx], 3, width, 32)
        O[3, tx] = T.tvm_warp_shuffle_xor(0xFFFFFFFF, A[tx], 1, width, 32)

    a = np.arange(100, 132, dtype=np.int32)
    out = run(main, a, np.zeros((4, 32), np.int32))[1]
    for row, (kind, operand) in zip(out, (("idx", 3), ("up", 2), ("down", 3), ("xor", 1))):
        assert row.tolist() == [a[lane_read(kind, lane, operand, width)] for lane in range(32)], kind


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: T.tvm_warp_shuffle(0xFFFFFFFF, x, 0, 3, 32), "the width of a shuffle is 1, 2, 4, 8, 16 or 32, known while compiling"),
        (lambda x: T.tvm_storage_sync("global"), "no threads meet over 'global'"),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused(call, message):
    with pytest.raises(DSLUserCodeError) as error:

        @T.prim_func
        def main(A: T.Buffer((32,), "int32")):
            T.device_entry()
            tx = T.lane_id([32])
            A[tx] = A[tx] + 1
            call(A[tx])

    assert error.value.message == message and error.value.fix
