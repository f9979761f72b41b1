"""cutlass.torch: tensors as upstream's make them; what is refused."""

from pathlib import Path

import pytest
import torch

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Float32
from dsl.launch.argument.torch_tensors import (
    RandomInitConfig,
    TensorInitType,
    convert,
    create_and_permute_torch_tensor,
    get_leading_dim,
    matrix,
)

PROGRAM = Path(__file__).with_name("torch_program.py")


@pytest.mark.slow
def test_tensors_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 63 and ours.output == theirs.output


REFUSED = [
    (lambda: matrix(1, 2, 3, True, Float32, "random"), "init_type must be a TensorInitType, got 'random'"),
    (
        lambda: create_and_permute_torch_tensor((2,), torch.float32, None, TensorInitType.SCALAR, RandomInitConfig()),
        "init_config of SCALAR must be a ScalarInitConfig, got RandomInitConfig(min_val=-2, max_val=2)",
    ),
    (
        lambda: get_leading_dim(torch.zeros(4, 4)[::2, ::2]),
        "the tensor has no mode of stride 1, its strides are (8, 2)",
    ),
    (
        lambda: convert(torch.zeros(4), torch.zeros(4)),
        "src of convert must be a tensor argument over one of torch, got Tensor",
    ),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=range(len(REFUSED)))
def test_tensors_that_cannot_be_made_are_refused(call, text):
    with pytest.raises(DSLUserCodeError) as caught:
        call()
    assert caught.value.message == text
