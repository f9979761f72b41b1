"""Launches by cuda.core, from the program to a file that does what the program did."""

import types
from pathlib import Path

import pytest

from harness.capture.launches import core_hooks
from harness.capture.refusal import CannotBeCaptured
from tests.harness.capture.commands import captured

PROGRAM = Path(__file__).with_name("program_of_cuda_core.py")


def test_ptx_and_a_cluster(tmp_path):
    text = captured(tmp_path, PROGRAM, "ranks")
    assert "_launch(kernel, (4, 1, 1), (1, 1, 1), 0, [np.uint64(out)], cluster=(2, 1, 1))" in text
    assert "through_table" not in text and "cuda.core" not in text


@pytest.mark.slow
def test_the_second_launch_of_compiled_cpp(tmp_path):
    text = captured(tmp_path, PROGRAM, "scaled", "--kernel", "scaled", "--call", "2")
    assert "values = _memory(np.multiply(" in text or "values = _memory(" in text
    assert "[np.uint64(values), np.float32(0.5), np.uint32(100)])" in text
    assert 'return {"values": _values(values, "float32", 100)}' in text and "filled" not in text


def test_a_template_is_chosen_by_its_expression(tmp_path):
    text = captured(tmp_path, PROGRAM, "filled", "--kernel", "filled<double>")
    assert '"""Call 1 of filled in program_of_cuda_core.py gives what it gave there."""' in text
    assert "[np.uint64(tensor.data_ptr()), np.float64(2.5)]" in text


def test_a_launch_that_fails(tmp_path):
    text = captured(tmp_path, PROGRAM, "beyond", "--first-finding")
    assert '# outcome = "out_of_bounds"' in text


def code(kind, data=b""):
    return types.SimpleNamespace(code_type=kind, code=data, symbol_mapping={})


class Program:
    """A stand-in of cuda.core's class that compiles some texts."""

    def __init__(self, text, code_type, options=None):
        self.text, self.options = text, options

    def compile(self, target, name_expressions=()):
        if "error" in self.text:
            raise RuntimeError("line 1: expected a ;\nand more")
        return code(target, f".version 8.0 // {self.text} {self.options} {name_expressions}".encode())


def test_the_ptx_of_what_was_compiled_to_a_cubin():
    of_ptx = core_hooks.Made(code("cubin"), (Program, (".version 8.0", "ptx"), {}), (("cubin",), {}))
    assert of_ptx.ptx == ".version 8.0"
    words = (Program, ("int x;", "c++"), {"options": "-O3"})
    of_cpp = core_hooks.Made(code("cubin"), words, (("cubin",), {"name_expressions": ("f<int>",)}))
    assert of_cpp.ptx == ".version 8.0 // int x; -O3 ('f<int>',)"


def test_code_without_ptx_is_refused():
    with pytest.raises(CannotBeCaptured) as refused:
        _ = core_hooks.Made(code("cubin")).ptx
    assert str(refused.value).startswith("its module is cubin, without PTX text: have the program load PTX")
    with pytest.raises(CannotBeCaptured) as refused:
        _ = core_hooks.Made(code("cubin"), (Program, ("error", "c++"), {}), (("cubin",), {})).ptx
    assert str(refused.value) == (
        'its C++ gives no PTX (line 1: expected a ;): have the program compile it by Program.compile("ptx")'
    )
    with pytest.raises(CannotBeCaptured) as refused:
        core_hooks._call((None, ""), None, None, [])
    assert str(refused.value).startswith("the module of the kernel was not seen being loaded")
