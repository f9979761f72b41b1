"""Launches by cuda.bindings, from the program to a file that does what the program did. With driver_text.py."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from harness.capture.launches import driver_hooks
from harness.capture.launches.ptx import Parameter
from harness.capture.refusal import CannotBeCaptured
from tests.harness.capture.commands import captured

PROGRAM = Path(__file__).with_name("program_of_the_driver.py")


def test_pointers_into_one_allocation_a_structure_and_a_variable(tmp_path):
    text = captured(tmp_path, PROGRAM, "add_scaled", "--call", "2")
    assert '"""Call 2 of add_scaled in program_of_the_driver.py gives what it gave there."""' in text
    assert 'both = _memory(np.arange(96, dtype="float32"))' in text
    assert (
        "[np.uint64(out), np.uint64(both + 128), np.array([both, 128], np.uint64), np.float32(2.5)])" in text
    )  # fmt: skip
    assert 'scale = _variable(module, b"scale", ' in text
    assert 'return {"out": _values(out, "float32", 64)}' in text
    assert "through_table" not in text and "unused" not in text and ".loc" not in text and "twice" not in text


def test_a_table_of_addresses(tmp_path):
    text = captured(tmp_path, PROGRAM, "through_table")
    assert 'table = _memory(np.array([first, second + 8], "uint64"))' in text
    assert 'return {"second": _values(second, "uint32", 4)}' in text


def test_a_cluster(tmp_path):
    text = captured(tmp_path, PROGRAM, "ranks")
    assert "_launch(kernel, (4, 1, 1), (1, 1, 1), 0, [np.uint64(out)], cluster=(2, 1, 1))" in text


def test_a_launch_that_fails(tmp_path):
    text = captured(tmp_path, PROGRAM, "beyond", "--first-finding")
    assert '# outcome = "out_of_bounds"' in text and "ends there in: out_of_bounds" in text


def test_a_cubin_is_refused():
    function = driver_hooks.Function(driver_hooks.Image(b"\x7fELF", lambda name: (500,)), "f")
    with pytest.raises(CannotBeCaptured) as error:
        driver_hooks.launch_call(function, driver_hooks.Shape((1, 1, 1), (1, 1, 1), 0), ((), ()), 0)
    assert str(error.value) == "its module is a cubin, which has no PTX text: have the program load PTX"
    with pytest.raises(CannotBeCaptured) as error:
        driver_hooks.launch_call(None, driver_hooks.Shape((1, 1, 1), (1, 1, 1), 0), ((), ()), 0)
    assert str(error.value) == "the module of the kernel was not seen being loaded"


def test_parameters_in_a_buffer():
    listed = [Parameter("a", "u8", 1, 1), Parameter("b", "u64", 8, 8), Parameter("c", "f32", 4, 4)]
    data = bytearray(24)
    data[0], data[8:16], data[16:20] = 7, (1 << 40).to_bytes(8, "little"), np.float32(0.5).tobytes()
    kept = (ctypes.c_char * 24).from_buffer(data)
    size = ctypes.c_size_t(24)
    extra = (ctypes.c_size_t * 5)(1, ctypes.addressof(kept), 2, ctypes.addressof(size), 0)
    parts = driver_hooks._decoded(listed, 0, extra)
    assert [part for part, _ in parts] == [b"\x07", (1 << 40).to_bytes(8, "little"), np.float32(0.5).tobytes()]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "np.float32(0.1)"),
        (np.float64("inf"), 'np.float64("inf")'),
        (np.int32(-3), "np.int32(-3)"),
        (np.uint64(1 << 63), "np.uint64(9223372036854775808)"),
    ],
)
def test_numbers(value, text):
    assert driver_hooks.number_text(value.tobytes(), value.dtype.name) == text
    assert eval(text, {"np": np}).tobytes() == value.tobytes()


def test_a_nan_with_other_bits():
    data = (0x7FC00001).to_bytes(4, "little")
    assert driver_hooks.number_text(data, "float32") == f"np.uint32({0x7FC00001})"


def test_long_ptx_is_data():
    from harness.capture.arguments.spelling import Spelling

    spelling = Spelling()
    text = ".version 8.0\n" * 300
    expression = driver_hooks.image_text(spelling, text)
    (name,) = spelling.stored
    assert re.fullmatch(rf'_stored_array\("{name}", "uint8"\)\.tobytes\(\)', expression)
    assert spelling.stored[name].tobytes().decode() == text and not spelling.constants
