"""Objects that dynamic statements change: identity, aliases, cycles, containers; random programs agree with Python."""

import linecache
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from dsl.core.dtypes import Int32
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from tests.core.object_writer import PRELUDE, Writer
from tests.core.test_exits import Wrapping

PROGRAMS, INPUTS = 40, ((1, 2), (-3, 5), (6, -1), (0, 0))


def compiled(source: str, name: str):
    """The function compiled: a caller that writes what it returns into a tensor."""
    file = f"<{name}>"
    text = PRELUDE + source
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {"Int32": Int32, "dataclass": dataclass, "__name__": file}
    exec(compile(text, file, "exec"), namespace)
    inner = cute.jit(namespace[name])

    def host(out: cute.Tensor, a: Int32, b: Int32):
        out[0] = inner(a, b)
    return cute.jit(host)


def python_value(source: str, name: str, a: int, b: int) -> int:
    namespace = {"Int32": Wrapping, "dataclass": dataclass, "__name__": "python"}
    exec(PRELUDE + source, namespace)
    return int(Wrapping(namespace[name](Wrapping(a), Wrapping(b))))


def check(seed: int) -> None:
    name = f"objects_{seed}"
    source = Writer(seed).function(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = compiled(source, name)
        for a, b in INPUTS:
            out = np.zeros(1, np.int32)
            function(from_dlpack(out), a, b)
            expected = python_value(source, name, a, b)
            assert out[0] == expected, f"seed {seed}: {out[0]}, and Python says {expected}\n{source}\na={a} b={b}"


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs_agree_with_python(seed):
    check(seed)
