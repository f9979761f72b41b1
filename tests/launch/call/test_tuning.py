"""autotune_jit and tune: the fastest configuration is found once for each kind of call.

Modules tested here: dsl/launch/call/timing.py.
"""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import cute
from dsl.cutlass.cute import testing
from dsl.cutlass.cute.runtime import from_dlpack

tried = []


@testing.autotune_jit(
    params_dict={"trips": [3000000, 0], "step": [1]}, update_on_change=["n"], warmup_iterations=0, iterations=2
)
@cute.jit
def work(out: cute.Tensor, n: cutlass.Int32, trips: cutlass.Constexpr = 5, step: cutlass.Constexpr = 7):
    tried.append((trips, step))
    for i in range(trips):
        out[1] = (out[1] ^ (out[1] >> 7)) * 1103515245 + i
    out[0] = n + trips + step


def test_the_fastest_configuration_runs():
    out = np.zeros(2, np.int32)
    tried.clear()
    work(from_dlpack(out), 10)
    assert out[0] == 11 and tried == [(3000000, 1), (0, 1)]
    other = np.zeros(2, np.int32)
    work(from_dlpack(other), 10)
    assert other[0] == 11 and len(tried) == 2
    work(from_dlpack(out), 11)
    assert out[0] == 12 and tried[2:] == [(3000000, 1), (0, 1)]
    assert cute.compile(work, from_dlpack(out), 10)(from_dlpack(out), 20) is None and out[0] == 32


def test_it_is_inlined_as_any_jit_function():
    @cute.jit
    def host(out: cute.Tensor):
        work(out, 3, trips=1)

    out = np.zeros(2, np.int32)
    host(from_dlpack(out))
    assert out[0] == 3 + 1 + 7


def test_tune_leaves_out_what_raises():
    def chosen(first, kind, size):
        assert first == "given"
        if kind == "no":
            raise testing.CantImplementError("not here")
        return lambda: sum(range(size))

    parameters = {"kind": ["no", "yes"], "size": [300000, 1]}
    given = testing.JitArguments("given")
    assert testing.tune(chosen, parameters, given, 0, 3) == {"kind": "yes", "size": 1}
    with pytest.raises(testing.CantImplementError, match="not here"):
        testing.tune(chosen, {"kind": ["no"], "size": [1]}, given)


@pytest.mark.parametrize(
    "options, function, says",
    [
        ({"params_dict": {"m": [1]}}, None, "`work` has no parameter `m`"),
        ({"update_on_change": ["m"]}, None, "`work` has no parameter `m`"),
        ({}, len, "autotune_jit decorates a @cute.jit function, got builtin_function_or_method"),
    ],
)
def test_functions_that_cannot_be_tuned(options, function, says):
    with pytest.raises(DSLUserCodeError) as error:
        testing.autotune_jit(**options)(function or work)
    assert error.value.message == says
