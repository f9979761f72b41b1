"""An exception means the same for a program to the compiler, by its class, and to the harness, by its protocol.

Modules tested here: harness/run/exception_protocol.py.
"""

import pickle
import re

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.emulator.faults import Fault
from dsl.exceptions import ToolFailure, outcome_of
from dsl.launch.devices.protocol import INVALID_LAUNCH, DeviceError, DeviceMissing
from dsl.launch.nvidia.errors import Rejection
from dsl.lower.guard import LoweringCrash
from dsl.lower.passes import LoweringError
from dsl.span import Span
from harness.run import exception_protocol
from tests.test_house import FILES, ROOT

PLACE = Span("k.py", 3)
ERRORS = {
    "rejected": (DSLUserCodeError("is wrong", place=PLACE), "rejected"),
    "trap": (Fault("trap", (0, 0, 0), (0, 0, 0), "trap;", 1, PLACE, "trap"), "trap"),
    "fault": (Fault("race", (0, 0, 0), (0, 0, 0), "st;", 1, None, "race"), "fault"),
    "refused launch": (DeviceError("CUDA_ERROR_INVALID_VALUE", "no", INVALID_LAUNCH), "fault"),
    "rejected by NVIDIA": (Rejection(ValueError("x"), {"outcome": "rejected"}), "rejected"),
    "out of memory": (DeviceError("CUDA_ERROR_OUT_OF_MEMORY", "no"), None),
    "no device": (DeviceMissing("none"), None),
    "a tool": (LoweringError("llvm", "no"), None),
    "Python's": (TypeError("x"), None),
}


@pytest.mark.parametrize("name", ERRORS)
def test_compiler_and_harness_read_the_same(name):
    error, outcome = ERRORS[name]
    said = outcome_of(error)
    assert (said and said["outcome"]) == outcome and exception_protocol.outcome_of(error) == said


def test_errors_that_are_not_about_the_program():
    assert exception_protocol.device_error(ERRORS["out of memory"][0]) == "CUDA_ERROR_OUT_OF_MEMORY"
    assert exception_protocol.device_error(ERRORS["refused launch"][0]) is None
    assert exception_protocol.is_missing(ERRORS["no device"][0]) and not exception_protocol.is_missing(TypeError())
    assert exception_protocol.signal_of(LoweringCrash("x", "SIGKILL", "")) == "SIGKILL"


@pytest.mark.parametrize(
    "error, problem",
    [
        (LoweringError("llvm", "no"), "fails in the stage `llvm`"),
        (LoweringCrash("k", "SIGABRT", ""), "ends LLVM with SIGABRT"),
    ],
)
def test_a_tools_failure_comes_back_from_a_child_whole(error, problem):
    made = pickle.loads(pickle.dumps(error))
    assert isinstance(made, ToolFailure) and (made.problem, made.place, str(made)) == (problem, None, str(error))


def test_no_contract_by_the_name_of_an_attribute():
    """`hasattr(error, "repro_outcome")` and the like: a class defines it, and one module reads it for the harness."""
    pattern = re.compile(r"(has|get)attr\(\w+(\.\w+)*, \"(repro_outcome|fails|problem|launch_entry|native_calls)\"")
    found = [path for path in FILES if pattern.search((ROOT / path).read_text())]
    assert found == ["harness/run/exception_protocol.py"]
