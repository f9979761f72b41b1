"""The functions that a decorator takes, and the defaults of a launch: errors with their whole text."""

import dataclasses
import functools

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Int32
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack


def plain(n: Int32):
    pass


class Plain:
    pass


def below_the_place(error) -> str:
    """An error's text without its first line's place."""
    return str(error.value).partition(" ")[2]


@pytest.mark.parametrize("decorate", (cute.jit, cute.kernel))
@pytest.mark.parametrize(
    "made, name",
    ((cute.jit(plain), "JitFunction"), (cute.kernel(plain), "KernelFunction"), (staticmethod(plain), "staticmethod")),
)
def test_a_decorator_goes_directly_over_the_def(decorate, made, name):
    """NVIDIA's diagnostic, measured."""
    with pytest.raises(DSLUserCodeTypeError) as error:
        decorate(made)
    assert below_the_place(error) == (
        "UNSUP_DECORATOR_ORDER\n"
        "    decorate(made)\n"
        f"    ^^^^^^^^^^^^^^ decorates `plain`, which another decorator has made {name}\n"
        "fix: put it directly over the `def`, and only once"
    )


@pytest.mark.parametrize(
    "value, words", ((len, "`len`"), (Plain, "`Plain`"), (functools.partial(plain, 1), "partial"), (3, "Python int"))
)
def test_a_decorator_takes_functions(value, words):
    with pytest.raises(DSLUserCodeTypeError) as error:
        cute.jit(value)
    assert below_the_place(error) == (
        f"ARG_UNSUPPORTED_TYPE\n    cute.jit(value)\n    ^^^^^^^^^^^^^^^ decorates {words}, but needs a "
        "function written in Python\nfix: decorate a `def`, and call it there"
    )


@cute.kernel
def extents(out: cute.Tensor):
    out[0] = cute.arch.grid_dim()[0] * 10 + cute.arch.block_dim()[0]


@pytest.mark.parametrize("given, expected", (({}, 11), ({"grid": 2}, 21), ({"block": 3}, 13)))
def test_a_launch_is_of_one_thread_unless_told(given, expected):
    """Measured: NVIDIA's compiler launches the same."""

    @cute.jit
    def host(out: cute.Tensor):
        extents(out).launch(**given)

    out = np.zeros(1, np.int32)
    host(from_dlpack(out))
    assert out.tolist() == [expected]


def test_a_launch_takes_names():
    @cute.jit
    def host(out: cute.Tensor):
        extents(out).launch(1, 1)

    with pytest.raises(DSLUserCodeTypeError) as error:
        host(from_dlpack(np.zeros(1, np.int32)))
    assert below_the_place(error) == (
        "CALL_EXTRA_ARG\n"
        "    extents(out).launch(1, 1)\n"
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^ the launch of `extents` takes its arguments by name\n"
        "fix: launch(grid=(x, y, z), block=(x, y, z))"
    )


@dataclasses.dataclass
class Adder:
    k: int

    @cute.jit
    def add(self, n: Int32):
        for _ in range(n):
            n += self.k
        return n, isinstance(self.k, int)


def test_self_is_static_in_a_dataclass_too():
    """Measured: NVIDIA's compiler takes `self` as it is."""
    assert Adder(3).add(2) == (8, True)
    assert Adder(4).add(2) == (10, True)
    assert cute.compile(Adder(3).add, 1)(3) == (12, True)
