"""Chains of `elif`: Python's meaning for every arm, and functions nested an eighth as deep as the chain is long."""

import types

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.syntax import branches
from dsl.core.syntax.branches import SIDE_BY_SIDE
from dsl.cutlass import Int32, cute


def chain(count: int, arm: str) -> str:
    arms = "".join(f"    {'elif' if i else 'if'} {arm.format(i=i)}\n" for i in range(count))
    return f"def chain(n, out):\n    x, y = n, n * 2\n{arms}    else:\n        x = y = -n\n    out(x, y)\n"


ARMS = [
    "n == {i}:\n        x = x + {i}",
    "n == {i}:\n        y = x + {i}\n        x = {i}",
    "n * 2 == y and n == {i}:\n        x, y = y, x",
    "(z := n - {i}) == 0:\n        x = z + {i}",
    "n == {i}:\n        if y > 6:\n            x = {i}\n        elif y > 3:\n            y = {i}\n        else:\n            x = 7",
]


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
@pytest.mark.parametrize("arm", ARMS)
def test_a_chain_means_what_python_means(arm, tmp_path, capfd):
    source, count = chain(SIDE_BY_SIDE * 2 + 3, arm), SIDE_BY_SIDE * 2 + 3
    file = tmp_path / "author.py"
    text = source.replace("def chain(n, out)", "@cute.jit\ndef chain(n: Int32)")
    file.write_text(text.replace("out(x, y)", 'cute.printf("{} {}", x, y)'))
    names = {"cute": cute, "Int32": Int32}
    exec(compile(file.read_text(), str(file), "exec"), names)
    python: dict = {}
    exec(source, python)
    wanted = []
    for n in (0, 1, 2, 3, SIDE_BY_SIDE - 1, SIDE_BY_SIDE, SIDE_BY_SIDE + 1, count - 1, count):
        names["chain"](n)
        python["chain"](n, lambda x, y: wanted.append(f"{x} {y}"))
    assert capfd.readouterr().out.splitlines() == wanted


@pytest.mark.parametrize("side_by_side", [1, SIDE_BY_SIDE])
def test_a_variable_that_an_arm_lacks_is_refused_as_in_nested_statements(side_by_side, tmp_path, monkeypatch):
    monkeypatch.setattr(branches, "SIDE_BY_SIDE", side_by_side)
    file = tmp_path / "author.py"
    file.write_text(
        "@cute.jit\ndef host(n: Int32):\n    if n == 0:\n        x = n\n    elif n == 1:\n        y = n\n"
        "    elif n == 2:\n        cute.printf('{}', x)\n"
    )
    names = {"cute": cute, "Int32": Int32}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(DSLUserCodeError) as error:
        cute.compile(names["host"], 1)
    assert (error.value.message, error.value.place.line) == ("`x` is not defined", 8)


def depth(code: types.CodeType) -> int:
    return 1 + max((depth(each) for each in code.co_consts if isinstance(each, types.CodeType)), default=0)


def test_functions_are_nested_an_eighth_as_deep(tmp_path):
    count = 160
    file = tmp_path / "author.py"
    text = chain(count, ARMS[0]).replace("def chain(n, out)", "@cute.jit\ndef chain(n: Int32)")
    file.write_text(text.replace("out(x, y)", 'cute.printf("{}", x)'))
    names = {"cute": cute, "Int32": Int32}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert depth(names["chain"].rewritten.__code__) <= count // SIDE_BY_SIDE + 4
