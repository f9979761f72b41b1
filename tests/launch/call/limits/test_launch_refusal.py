"""A launch that a device refuses when the program runs has the launch's line, what is wrong, and a fix that cures."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import Int32, cute
from dsl.launch.call.limits.launch_refusal import LaunchRefused, located
from dsl.launch.devices.protocol import DeviceError


@cute.kernel
def kernel(a: cute.Tensor):
    a[0] = 1.0


@cute.jit
def grid(a: cute.Tensor, n: Int32):
    kernel(a).launch(grid=(n // 128, 1, 1), block=8)


@cute.jit
def grid_in_z(a: cute.Tensor, n: Int32):
    kernel(a).launch(grid=(1, 1, n), block=8)


@cute.jit
def block(a: cute.Tensor, n: Int32):
    kernel(a).launch(grid=1, block=(n, 2, 1))


@cute.jit
def cluster(a: cute.Tensor, n: Int32):
    kernel(a).launch(grid=(4, 1, 1), block=8, cluster=(n, 1, 1))


@cute.jit
def smem(a: cute.Tensor, n: Int32):
    kernel(a).launch(grid=1, block=8, smem=n)


ROUND_UP = ": round up, `cute.ceil_div(n, tile)`, or launch under `if n > 0`"
NO_SMEM = "leave `smem` out"
REFUSED = [  # the launch, a value that is refused, why, the fix, and a value after the fix
    (grid, 64, "the grid of `kernel` has 0 blocks in x", "1 to 2147483647 blocks in x" + ROUND_UP, 128),
    (grid, -256, "the grid of `kernel` has -2 blocks in x", "1 to 2147483647 blocks in x", 256),
    (grid_in_z, 65536, "the grid of `kernel` has 65536 blocks in z", "1 to 65535 blocks in z", 3),
    (block, 0, "the block of `kernel` has 0 threads in x", "1 to 1024 threads in x", 1),
    (block, 1025, "the block of `kernel` has 1025 threads in x", "1 to 1024 threads in x", 512),
    (
        block, 513, "the block of `kernel` has 1026 threads",
        "at most 1024 threads a block; more blocks in the grid", 512,
    ),
    (cluster, 0, "the cluster of `kernel` has 0 blocks in x", "1 to 16 blocks in x", 4),
    (
        cluster, 3, "grid of `kernel` in x must be a multiple of the cluster's 3, got 4",
        "a multiple of 3 blocks in x", 2,
    ),
    (smem, -1, "`smem` of `kernel` is -1 bytes", NO_SMEM, 0),
    (
        smem, 300_000,
        "launch of `kernel`: 0 static + 300000 dynamic bytes of shared memory; a block has at most 232448",
        NO_SMEM + ": the launch takes what the kernel allocates; or allocate less", 1024,
    ),
]  # fmt: skip


@pytest.mark.parametrize("host, value, message, fix, right", REFUSED, ids=[f"{r[0].__name__} {r[1]}" for r in REFUSED])
def test_a_refused_launch_has_its_line_and_a_fix(host, value, message, fix, right):
    a = np.zeros(8, np.float32)
    compiled = cute.compile(host, a, right)
    compiled(a, right)  # and then without Python, until a launch is refused
    for _ in range(2):
        with pytest.raises(LaunchRefused) as error:
            compiled(a, value)
        assert (error.value.message, error.value.fix) == (message, fix)
    text, line = str(error.value), host.function.__code__.co_firstlineno + 2
    assert f"test_launch_refusal.py:{line}:5: CUDA_ERROR_INVALID_VALUE\n    kernel(a).launch(" in text
    assert error.value.repro_outcome["line"] == line and error.value.repro_outcome["kind"] == "invalid_launch"
    compiled(a, right)
    assert a[0] == 1


@cute.jit
def rounded(a: cute.Tensor, n: Int32, up: cutlass.Constexpr):
    if cutlass.const_expr(up):
        kernel(a).launch(grid=(cute.ceil_div(n, 128), 1, 1), block=8)
    elif n // 128 > 0:
        kernel(a).launch(grid=(n // 128, 1, 1), block=8)


@pytest.mark.parametrize("up", [True, False])
def test_the_fixes_of_an_empty_grid_cure(up):
    a = np.zeros(8, np.float32)
    rounded(a, 64, up)
    assert a[0] == up


def test_other_errors_stay_as_they_are():
    error = DeviceError("CUDA_ERROR_OUT_OF_MEMORY", "no")
    assert located(error, None, None) is error  # type: ignore[arg-type]
