"""Names that an inner scope binds again: the text that statements become, and what is refused or warned of.

Modules tested here: dsl/tirx/tvm_tirx/statements.py, dsl/tirx/tvm_tirx/memory.py, dsl/tirx/tvm_tirx/launch.py,
dsl/tirx/tvm_tirx/dynamic.py.
"""

from __future__ import annotations

import ast
import linecache
import re
import textwrap
import warnings
from pathlib import Path

import pytest

from dsl import alias
from dsl.core.errors import DSLUserCodeError
from dsl.tirx.tvm_tirx.rebinding import Rebinding, Reports, spelled

MISTAKES = Path(__file__).with_name("mistakes.txt")
NAME = "k.py"
HEAD = "import tvm_tirx\nfrom tvm_tirx.script import tirx as T\n"
KERNEL = """\
@T.function
def main(A: T.Tensor((64,), "int32"), F: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tx = T.cuda.thread_idx("x")
"""


@pytest.fixture(scope="module", autouse=True)
def emulated():
    alias.install("emulator")
    yield
    alias.uninstall()


def _refuse(node, message, fix, id):
    raise AssertionError(id)


def renamed(source: str, variables: set[str]) -> str:
    reports = Reports(lambda node: False, lambda node: "alloc" in ast.dump(node), _refuse, lambda *_arguments: None)
    body = Rebinding(["p"], variables, reports).body(ast.parse(textwrap.dedent(source)).body)
    return ast.unparse(ast.Module(body, []))


@pytest.mark.parametrize(
    "source, becomes",
    [
        ("y = 0\nif p:\n    y = 1\n    y = y + 1\nuse(y)", "y = 0\nif p:\n    y__dsl_1 = 1\n    y__dsl_1 = y__dsl_1 + 1\nuse(y)"),
        ("y = 0\ny += p", "y = 0\ny = y + p"),
        ("if p:\n    y = 1\n    use(y)\ny = 2", "if p:\n    y = 1\n    use(y)\ny = 2"),
        ("y = 0\nfor i in s:\n    y = i\nuse(y)", "y = 0\nfor i in s:\n    y__dsl_1 = i\nuse(y__dsl_1)"),
        ("y = 0\nfor i in s:\n    y = i\ny = 3\nuse(y)", "y = 0\nfor i in s:\n    y__dsl_1 = i\ny = 3\nuse(y)"),
        ("for i in s:\n    i = i + 1\n    use(i)", "for i in s:\n    i = i + 1\n    use(i)"),
        ("i = 0\nfor i in s:\n    use(i)", "i = 0\nfor i__dsl_1 in s:\n    use(i__dsl_1)"),
        ("if p:\n    p = 1\nelse:\n    use(p)", "if p:\n    p__dsl_1 = 1\nelse:\n    use(p)"),
        ("y = 0\nv = 1\nif p:\n    v = 2\n    v += 1", "y = 0\nv = 1\nif p:\n    v = 2\n    v += 1"),
        ("y = 0\nif p:\n    y = 1\n    z = [y for y in s]", "y = 0\nif p:\n    y__dsl_1 = 1\n    z = [y for y in s]"),
        ("y = 0\nif p:\n    y = 1\n    z = lambda: y", "y = 0\nif p:\n    y__dsl_1 = 1\n    z = lambda: y__dsl_1"),
        ("v: t = 0\nif p:\n    v: t = 1\n    v += 1\nv = 2", "v: t = 0\nif p:\n    v__dsl_1: t = 1\n    v__dsl_1 += 1\nv = 2"),
        ("v = alloc()\nif p:\n    v = alloc()\n    v = 3\nuse(v)", "v = alloc()\nif p:\n    v__dsl_1 = alloc()\n    v__dsl_1 = 3\nuse(v)"),
        ("v: t = 0\nfor i in s:\n    v: t = 1\nuse(v)", "v: t = 0\nfor i in s:\n    v__dsl_1: t = 1\nuse(v__dsl_1)"),
        ("y = 0\nif p:\n    a, y = b\n    A[y] = y", "y = 0\nif p:\n    a, y__dsl_1 = b\n    A[y__dsl_1] = y__dsl_1"),
    ],
)  # fmt: skip
def test_statements(source, becomes):
    assert renamed(source, {"v"}) == becomes
    assert spelled(becomes) == ast.unparse(ast.parse(source)).replace("y += p", "y = y + p")


def outcome(program: str) -> str:
    """The whole text of the error and warnings of a program."""
    whole = program.startswith("# PROGRAM\n")
    body = program.partition("\n")[2] if whole else KERNEL + textwrap.indent(program, "    ")
    source = HEAD + body + "\n"
    linecache.cache[NAME] = (len(source), None, source.splitlines(True), NAME)
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(source, NAME, "exec", dont_inherit=True), {"__name__": "program"})
        except DSLUserCodeError as error:
            said = [type(error).__name__, str(error)]
    return "\n".join([*(f"{each.lineno}: {each.message}" for each in caught), *said])


def mistakes() -> list[tuple[str, str, str]]:
    """(title, program, text) of mistakes.txt."""
    found = []
    for block in re.split(r"^### ", MISTAKES.read_text(), flags=re.MULTILINE)[1:]:
        title, _, rest = block.partition("\n")
        program, _, text = rest.partition("\n---\n")
        found.append((title, program, text.strip("\n")))
    return found


@pytest.mark.parametrize("title, program, text", mistakes())
def test_mistakes(title, program, text):
    assert outcome(program) == text


def test_every_error_has_a_fix_and_no_name_of_tvm():
    for title, _, text in mistakes():
        assert "\nfix: " in text or ": BINDING_" in text, title
        told = " ".join(re.findall(r"(?m)^ *\^+ (.*)$|^fix: (.*)$", text)[0]) if ": BINDING_" not in text else text
        assert not re.search(r"\bT\.(prim_func|Buffer|cta_id|thread_id|alloc_buffer)\b|\btvm\.", told), title


def main() -> None:
    """Write the texts of mistakes.txt again: look at the difference before you keep it."""
    alias.install("emulator")
    blocks = [f"### {title}\n{program}\n---\n{outcome(program)}\n" for title, program, _ in mistakes()]
    MISTAKES.write_text("\n".join(blocks))


if __name__ == "__main__":
    main()
