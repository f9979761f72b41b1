"""Names of earlier releases: 4.3.5 has each, 4.8.1 has not; they work, and a warning tells the name of today."""

import sys
import warnings

import numpy as np
import pytest

from dsl.core.diagnosis import unsupported_names
from dsl.core.errors import DSLUserCodeError, PortabilityWarning
from dsl.cutlass import Float32, cute, earlier_releases, upstream
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.cutlass.grammar import dsl_user_op


@cute.kernel
def kernel(out: cute.Tensor):
    values = cute.make_fragment(cute.make_layout(2), Float32)
    values.fill(3.0)
    cute.arch.fence_proxy(cute.arch.ProxyKind.async_shared, space=cute.arch.SharedSpace.shared_cta)
    out[0] = values[0]


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(1, 1, 1))


def test_they_work_and_are_warned_of():
    out = np.zeros(1, np.float32)
    with pytest.warns(PortabilityWarning) as caught:
        host(from_dlpack(out))
    assert out[0] == 3
    told = [str(warning.message).partition("`")[2].partition("`")[0] for warning in caught]
    assert told == ["cute.make_fragment", "cute.arch.ProxyKind", "cute.arch.SharedSpace"]


def test_they_are_refused_where_programs_must_be_portable():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PortabilityWarning)
        with pytest.raises(DSLUserCodeError) as caught:
            cute.compile(host, from_dlpack(np.zeros(1, np.float32)))
    assert "`cute.make_fragment` is a name of earlier releases, which NVIDIA's compiler rejects" in str(caught.value)
    assert "fix: write cute.make_rmem_tensor" in str(caught.value)


def test_todays_release_has_none_of_them():
    for spaces in (earlier_releases._FUNCTIONS, earlier_releases._ENUMERATIONS):
        for module, names in spaces.items():
            assert not upstream.names(module) & set(names)


def test_modules_that_have_moved():
    unsupported_names.missing_module("cutlass.base_dsl._mlir_helpers.op")
    assert sys.modules["dsl.cutlass.base_dsl._mlir_helpers.op"].dsl_user_op is dsl_user_op
