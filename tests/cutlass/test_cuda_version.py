"""CUDA_VERSION and target_version; what 4.8.1 of NVIDIA's package gives and refuses was measured."""

import pytest
from dsl.cutlass.base_dsl.common import DSLCudaVersion

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError


def test_versions_are_ordered_by_their_numbers():
    assert DSLCudaVersion("12.9") == cutlass.CUDA_VERSION and repr(cutlass.CUDA_VERSION) == (
        "DSLCudaVersion(major=12, minor=9)"
    )
    assert DSLCudaVersion("12.9") < DSLCudaVersion("12.10") < DSLCudaVersion("13.0.1")


@pytest.mark.parametrize(
    "asked, answer",
    [
        ({"exact_version": "12.9"}, True),
        ({"exact_version": cutlass.CUDA_VERSION}, True),
        ({"exact_version": "12.8"}, False),
        ({"min_version": "12.0", "max_version": "12.9"}, True),
        ({"min_version": "12.10"}, False),
        ({"max_version": "12.8"}, False),
        ({"max_version": "13.1"}, True),
    ],
)
def test_bounds_count_themselves(asked, answer):
    assert cutlass.target_version(**asked) is answer
    assert cutlass.cute.arch.target_version(**asked) is answer


@pytest.mark.parametrize(
    "asked, message",
    [
        ({}, "target_version needs a version to compare with"),
        ({"exact_version": "12.9", "min_version": "12.0"}, "target_version takes one version, or bounds, and not both"),
        ({"min_version": "13.0", "max_version": "12.9"}, "min_version 13.0 is above max_version 12.9"),
        ({"exact_version": 12.9}, "exact_version must be text like 12.9, got 12.9"),
        ({"exact_version": "12"}, "a version of CUDA is text like 12.9, got '12'"),
    ],
)
def test_wrong_arguments_are_named(asked, message):
    with pytest.raises(DSLUserCodeError) as refused:
        cutlass.target_version(**asked)
    assert refused.value.message == message
