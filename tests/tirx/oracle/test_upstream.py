"""Our kernels against apache-tvm's kernels: its CUDA C++, compiled by nvcc to PTX, runs on the same emulator.

Its results are recorded; if nvcc is installed, the record is made again and compared.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from tests.tirx.oracle import upstream

RECORDED = json.loads(upstream.RECORD.read_text())
CLOSE = {"functions": 1e-6}  # elementary functions: ours are rounded from double, CUDA's within 2 ulp


@pytest.fixture(scope="module")
def ours():
    return upstream.ours()


@pytest.mark.parametrize("name", RECORDED)
def test_our_kernels_compute_what_upstreams_do(name, ours):
    for mine, theirs in zip(ours[name], RECORDED[name], strict=True):
        if name in CLOSE:
            np.testing.assert_allclose(mine, theirs, rtol=CLOSE[name])
        else:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="without nvcc the record above stands for apache-tvm's kernels")
def test_the_record_is_what_upstream_gives():
    source = upstream.cuda_source()
    assert upstream.theirs(source, upstream.compiled(source, "nvcc")) == RECORDED
