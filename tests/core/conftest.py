"""`traced(program)`: a function traced as a kernel; `check(program)`:
and matched with the CHECK comments in its body."""

import inspect
import io
import re

import pytest

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Numeric
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.syntax import rewrite
from dsl.cutlass.grammar import GRAMMAR
from dsl.exceptions import outcome_of


class _Argument:
    """An argument of the host function: a number of a type, or a pointer to Int32 in global memory."""

    def __init__(self, dtype):
        self.dtype = dtype

    def slot_formats(self):
        return self.dtype.format if issubclass(self.dtype, Numeric) else "P"

    def rebuild(self, values):
        if issubclass(self.dtype, Numeric):
            value = values[0]
            return self.dtype(mlir.result("arith.trunci", mlir.i1, value) if self.dtype.width == 1 else value)
        return Pointer(Int32, values[0], AddressSpace.gmem)


def trace_kernel(program) -> trace.Traced:
    rewritten = rewrite.rewrite(program, GRAMMAR)
    arguments = [_Argument(program.__annotations__[name]) for name in inspect.signature(program).parameters]

    def host(*values):
        trace.launch(program.__name__, rewritten, values, trace.Launch(grid=1, block=32))

    return trace.trace_host(program.__name__, host, arguments)


def without_places(text: str) -> str:
    return re.sub(
        r" loc\([^\n]*?\)(?=,|$| \{|\))", "", re.sub(r"^#loc.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE
    )


@pytest.fixture
def traced():
    return lambda program: trace_kernel(program).device_mlir


@pytest.fixture
def check():
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import Options
    from filecheck.parser import Parser, pattern_for_opts

    def match(program) -> None:
        text = without_places(trace_kernel(program).device_mlir)
        options = Options("checks")
        parser = Parser(options, io.StringIO(inspect.getsource(program)), *pattern_for_opts(options))
        matcher = Matcher(options, FInput("mlir", text), parser)
        matcher.stderr = io.StringIO()
        assert matcher.run() == 0, matcher.stderr.getvalue() + "\n" + text

    return match


@pytest.fixture
def rejected():
    """`rejected(program)`: the error's text, with the file's name shortened to `here`."""

    def text(program) -> str:
        with pytest.raises(Exception) as caught:
            trace_kernel(program)
        assert outcome_of(caught.value) is not None, repr(caught.value)
        return re.sub(r"^[^\s:]*/?test_\w+\.py:\d+:", "here:", str(caught.value), flags=re.MULTILINE)

    return text
