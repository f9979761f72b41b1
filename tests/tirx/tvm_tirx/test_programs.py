"""Programs of tvm_tirx leave what apache-tvm-tirx's kernels leave (record.py): all of ours, and a sample of the casts.

Modules tested here: dsl/tirx/tvm_tirx/build.py, dsl/tirx/tvm_tirx/cuda.py, dsl/tirx/tvm_tirx/dynamic.py,
dsl/tirx/tvm_tirx/function.py, dsl/tirx/tvm_tirx/indices.py, dsl/tirx/tvm_tirx/launch.py,
dsl/tirx/tvm_tirx/memory.py, dsl/tirx/tvm_tirx/runtime.py, dsl/tirx/tvm_tirx/script/tirx.py, dsl/tirx/tvm_tirx/statements.py, dsl/tirx/tvm_tirx/target.py, dsl/tirx/tvm_tirx/tirx.py,
dsl/tirx/values/progression.py.
"""

from __future__ import annotations

import json
import linecache
import random
import shutil
import warnings

import numpy as np
import pytest

from dsl import alias
from tests.tirx.oracle import upstream
from tests.tirx.tvm_tirx import programs, record

RECORDED = np.load(record.RECORD)
REFUSED = json.loads(record.REFUSED.read_text())
OF_TVM, SWEEP_OF_TVM = json.loads(upstream.RECORD.read_text()), np.load(upstream.HERE / "sweep.npz")
CLOSE = {"cases_functions": 1e-6, "sweep_functions": 2e-6, "sweep_functions_of_two": 2e-6}  # within 2 ulp of CUDA


@pytest.fixture(scope="module")
def every():
    alias.install("emulator")
    yield programs.programs()
    alias.uninstall()


def names() -> list[str]:
    found = sorted({name.rpartition(".")[0] for name in RECORDED})
    casts = [name for name in found if name.startswith("sweep_cast_")]
    return [name for name in found if name not in casts] + random.Random(0).sample(casts, 16)


def function_of(name: str, source: str):
    """The T.function that a program defines."""
    file = f"{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    defined = {"__name__": name}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, file, "exec", dont_inherit=True), defined)
    return [value for value in defined.values() if type(value).__name__ == "Function"][-1]


def left_by_ours(name: str, program: programs.Program) -> dict[str, np.ndarray]:
    """The arrays of a program after its kernels."""
    import tvm_tirx

    function = function_of(name, program.source)
    given = {
        parameter: tvm_tirx.runtime.tensor(value, device=tvm_tirx.cuda(0)) if isinstance(value, np.ndarray) else value
        for parameter, value in program.arguments.items()
    }
    parameters = [parameter for parameter, _ in function.signature.parameters]
    tvm_tirx.tirx.compile(function, target="cuda")(*(given[_argument(each, given)] for each in parameters))
    return {label: tensor.numpy() for label, tensor in given.items() if hasattr(tensor, "numpy")}


def _argument(parameter: str, given: dict) -> str:
    return parameter if parameter in given else parameter.upper()


@pytest.mark.parametrize("name", names())
def test_our_kernels_leave_what_theirs_leave(name, every):
    program = every[name]
    for label, mine in left_by_ours(name, program).items():
        theirs = RECORDED.get(f"{name}.{label}", program.arguments[label])
        np.testing.assert_allclose(mine, theirs, rtol=CLOSE.get(name, 0), err_msg=label)


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_the_real_package_refuses_leaves_what_tvms_kernel_leaves(name, every):
    kind, _, kernel = name.partition("_")
    for place, (label, mine) in enumerate(left_by_ours(name, every[name]).items()):
        theirs = OF_TVM[kernel][place] if kind == "cases" else SWEEP_OF_TVM.get(f"{kernel}.{label}")
        np.testing.assert_array_equal(mine, every[name].arguments[label] if theirs is None else theirs)


def test_most_programs_of_ours_compile_in_the_real_package():
    assert len(REFUSED) < 0.05 * len({name.rpartition(".")[0] for name in RECORDED})


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="without nvcc the record above stands for the real kernels")
def test_the_record_is_what_the_real_package_gives(every):
    arrays, refused = record.recorded(lambda name: name in programs.OWN)
    assert refused == {name: error for name, error in REFUSED.items() if name in programs.OWN}
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, RECORDED[name])
