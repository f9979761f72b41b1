"""A register that is declared without a value: an error where it is read first, a finding where only a run can tell."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import dsl.tirx as tvm
from dsl.launch import session

HEAD = """\
from dsl.tirx.script import tirx as T
@T.prim_func
def main(O: T.Buffer((8,), "int32"), n: T.int32):
    T.device_entry()
    tx = T.thread_id([8])
    x: T.%s
"""

# Bodies in which some threads read x and have not stored in it if ELSE is left out, and the ELSE that stores in it
PATHS = {
    "if tx < n:\n    x = 3\nELSEO[tx] = T.int32(x)": "else:\n    x = 5\n",
    "for i in range(n):\n    x = i\nELSEO[tx] = T.int32(x)": "else:\n    x = 9\n",
    "i: T.int32 = 0\nwhile i < n:\n    x = i\n    i += 1\nELSEO[tx] = T.int32(x)": "else:\n    x = 9\n",
    "for i in range(4):\n    if i >= n:\n        x = i\n    ELSEO[tx] += T.int32(x)": "else:\n        x = 5\n    ",
    "if tx < n:\n    if tx < 1:\n        x = 1\n    else:\n        x = 2\nELSEO[tx] = T.int32(x)": "else:\n    x = 5\n",
}
DTYPES = ["int32", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64", "bool"]


def compiled(body: str, dtype: str = "int32", name: str = "unset.py") -> object:
    source = HEAD % dtype + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    found = {"__name__": "unset"}
    exec(compile(source, name, "exec"), found)
    return found["main"]


@pytest.fixture
def checked():
    session.current().look_for("undefined")
    yield
    session.current().look_for("none")


@pytest.mark.parametrize("body", PATHS)
def test_a_path_without_a_value_is_found(run, checked, body):
    with pytest.raises(Exception) as caught:
        run(
            compiled(body.replace("ELSE", "")), np.zeros(8, np.int32), 0 if "range(n)" in body or "while" in body else 2
        )
    assert str(caught.value).startswith("""\
unset.py:6:5: UNDEFINED_READ
    x: T.int32
    ^ reads local+0x0, which nobody wrote; the value is stored for others to read at line """)


@pytest.mark.parametrize("body", PATHS)
def test_a_value_on_every_path_is_not_a_finding(run, checked, body):
    left = run(compiled(body.replace("ELSE", PATHS[body])), np.zeros(8, np.int32), 2)[0]
    assert (left < 20).all()


@pytest.mark.slow
def test_every_dtype(run, checked):
    for dtype in DTYPES:
        body = "if tx < n:\n    x = 1\nO[tx] = 7\nif tx < n:\n    O[tx] = T.int32(x)"
        assert run(compiled(body, dtype), np.zeros(8, np.int32), 2)[0].tolist() == [1, 1, 7, 7, 7, 7, 7, 7], dtype
        with pytest.raises(Exception, match="UNDEFINED_READ"):
            run(compiled("if tx < n:\n    x = 1\nO[tx] = T.int32(x)", dtype), np.zeros(8, np.int32), 2)


@pytest.mark.parametrize(
    "body, place",
    [
        ("O[tx] = x", "7:13"),
        ("y = x + 1", "7:9"),
        ("x += 1", "7:5"),
        ("if tx < 4:\n    O[tx] = x", "8:17"),
        ("for i in range(4):\n    O[tx] = x", "8:17"),
        ("for i in range(4):\n    pass\nO[tx] = x", "9:13"),
        ("if x > 1:\n    O[tx] = 1", "7:8"),
        ("O[x] = 1", "7:7"),
        ("y: T.let = x", "7:16"),
        ("O[tx] = T.max(x, 1)", "7:19"),
        ("if x:\n    O[tx] = 1", "7:8"),
        ("O[tx] = 1 if x > 1 else 2", "7:18"),
    ],
)
def test_a_read_before_any_store_is_refused(body, place):
    with pytest.raises(tvm.error.DiagnosticError) as caught:
        compiled(body)
    head, _, rest = str(caught.value).partition("\n")
    assert head == f"unset.py:{place}: REGISTER_UNSET"
    assert "^ `x` is read before anything is stored in it\n" in rest
    assert rest.endswith("""
unset.py:6:5: see
    x: T.int32
    ^^^^^^^^^^ declared here, without a value
fix: give it one where it is declared: `x: T.int32 = 0`""")


def test_readable_cuda_declares_it_without_a_value():
    text = tvm.compile(compiled("if tx < n:\n    x = 3\nO[tx] = x"), target="cuda").cuda_source
    assert "  int x;\n  if (tx < n) {\n    x = 3;\n  }\n  O_ptr[tx] = x;\n" in text
