"""print_tensor and printf: NVIDIA's text on the host, every memory and type in kernels."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from dsl import cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import cute
from tests import fork_server

PROGRAM = Path(__file__).with_name("print_program.py")


def output_of(*command: str) -> str:
    done = fork_server.run(["-W", "ignore", *command, str(PROGRAM)], env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert done.returncode == 0, done.stderr
    return without_addresses(done.stdout)


def without_addresses(printed: str) -> str:
    """Addresses differ from run to run; a host tensor is generic memory there and global memory here."""
    return re.sub(r", gmem\b", ", generic", re.sub(r"0x[0-9a-f]+", "0x", printed))


@pytest.mark.slow
def test_prints_what_upstream_prints():
    theirs = output_of()
    assert theirs.count("\n") > 500
    assert output_of("-m", "dsl") == theirs


def test_kernels_print_every_memory_and_type(run, capfd):
    @cute.kernel
    def kernel(x: cute.Tensor, n: cutlass.Int32):
        shared = cutlass.utils.SmemAllocator().allocate_tensor(
            cutlass.Float16, cute.make_layout((2, 3), stride=(3, 1)), 16
        )
        shared.store(x.load().to(cutlass.Float16))
        cute.print_tensor(shared)
        cute.print_tensor(x.load().to(cutlass.Float8E4M3FN))
        cute.print_tensor(cute.make_tensor(x.iterator, cute.make_layout((n, n))))
        cute.print_tensor(cute.full(2, -1, cutlass.Uint8), verbose=True)
        cute.print_tensor(x.load() > 2.0)

    run(kernel, np.arange(6, dtype=np.float32).reshape(2, 3), cutlass.Int32(2), threads=1)
    assert (
        without_addresses(capfd.readouterr().out)
        == """\
tensor(raw_ptr(0x: f16, smem, align<16>) o (2,3):(3,1), data=
       [[ 0.000000,  1.000000,  2.000000, ],
        [ 3.000000,  4.000000,  5.000000, ]])
tensor(raw_ptr(0x: f8E4M3FN, rmem, align<32>) o (2,3):(1,2), data=
       [[ 0.000000,  1.000000,  2.000000, ],
        [ 3.000000,  4.000000,  5.000000, ]])
tensor(raw_ptr(0x: f32, generic, align<16>) o (2,2):(1,2), data=
       [[ 0.000000,  2.000000, ],
        [ 1.000000,  3.000000, ]])
tensor(raw_ptr(0x: i8, rmem, align<32>) o 2:1, data= (
\t0= 255
\t1= 255
)
tensor(raw_ptr(0x: i8, rmem, align<32>) o (2,3):(1,2), data=
       [[ 0,  0,  0, ],
        [ 1,  1,  1, ]])
"""
    )


def test_more_values_than_one_vprintf_takes(run, capfd):
    @cute.kernel
    def kernel(x: cute.Tensor):
        cute.printf("{} and {}", x, x[69])

    run(kernel, np.arange(70, dtype=np.int32), threads=1)
    listed = ", ".join(map(str, range(70)))
    assert (
        without_addresses(capfd.readouterr().out)
        == f"raw_ptr(0x: i32, generic, align<16>) o (70):(1) = \n  ( {listed} ) and 69\n"
    )


@pytest.mark.parametrize(
    "form, message",
    [
        ("%d", "%d prints integers, got Float32"),
        ("%s", "%s does not print Float32"),
        ("{} {}", "the format has 2 places for 1 value"),
        ("no place", "the format has 0 places for 1 value"),
    ],
)
def test_a_format_that_does_not_fit_its_values(form, message):
    @cute.jit
    def host(x: cutlass.Float32):
        cute.printf(form, x)

    with pytest.raises(DSLUserCodeError) as error:
        host(1.5)
    assert error.value.message == message


def test_conversions_print_the_width_that_they_name(capfd):
    @cute.jit
    def host(x: cutlass.Int64, y: cutlass.Int32):
        cute.printf("%d %lld %f %u", x, y, y, y)

    host((1 << 40) + 7, -1)
    assert capfd.readouterr().out == "7 -1 -1.000000 4294967295\n"


def test_print_tensor_refuses_numbers():
    @cute.jit
    def host(x: cutlass.Int32):
        cute.print_tensor(x)

    with pytest.raises(DSLUserCodeError, match="print_tensor takes a tensor or a TensorSSA, got Int32"):
        host(1)
