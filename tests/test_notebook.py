"""dsl.notebook in a stand-in of IPython's shell: the page's cells, cells under magics, errors in cells."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = "%load_ext dsl.notebook", "import cutlass, cutlass.cute as cute\nfrom cutlass import Int32"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(*cells: str, tmp_path: Path) -> list[str]:
    """The output of each cell."""
    file = tmp_path / "cells.txt"
    file.write_text("\n#---\n".join(cells))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "tests/notebook_shell.py"), str(file)],
        text=True,
        capture_output=True,
        timeout=600,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert run.returncode == 0, run.stderr
    return re.split(r"(?m)^=== \d+\n", run.stdout)[1:]


def test_the_pages_cells(tmp_path):
    cells, shown = [], {}
    for kind, text in BLOCK.findall(ROOT.joinpath("docs/notebooks.md").read_text()):
        if kind == "python":
            cells.append(text.removeprefix("# cell\n"))
        elif kind == "text":
            shown[len(cells) - 1] = text
    outputs = printed(*cells, tmp_path=tmp_path)
    assert len(shown) >= 4
    for number, text in shown.items():
        assert text.rstrip("\n") in outputs[number], outputs[number]


TIMED = """\
%%time
@cute.jit
def timed(n: Int32):
    for i in range(n):
        n += i{}
    return n
print(timed({}))
"""


def test_code_that_a_magic_compiles_has_source(tmp_path):
    later = (
        "def f(n):\n    return [timed(n), exec('@cute.jit\\ndef g(n: Int32):\\n    "
        "return n + 1\\nprint(g(n))')]\nprint(f(3))"
    )
    outputs = printed(
        *START, TIMED.format("", 4), TIMED.format(" * 2", 5), later, TIMED.format(" + 0.5", 2), tmp_path=tmp_path
    )
    assert outputs[2:5] == ["10\n", "25\n", "4\n[9, None]\n"]
    assert outputs[5].startswith("DSLUserCodeTypeError: <In[6]>:4:9: TYPE_UNSTABLE_JOIN\n    n += i + 0.5")


def test_a_function_of_a_timed_cell_keeps_its_own_text(tmp_path):
    first = TIMED.replace("print(timed({}))", "first = timed").format("")
    outputs = printed(*START, first, TIMED.format(" * 2", 5), "print(first(4))", tmp_path=tmp_path)
    assert outputs[3:] == ["25\n", "10\n"]


def test_wrong_arguments_of_the_dsl_magic(tmp_path):
    outputs = printed(START[0], "%dsl --show asm", "%dsl", "%dsl --gpu", "%dsl --show ptx", tmp_path=tmp_path)
    assert outputs[1].startswith("UsageError: %dsl: argument --show: invalid choice: 'asm'")
    assert outputs[2].startswith("UsageError: %dsl: what of this? %dsl [--show STAGE]")
    assert outputs[3].startswith("UsageError: %dsl: unknown: --gpu %dsl [--show STAGE]")
    assert outputs[4] == "no kernel was compiled, so there is no ptx\n"


def test_portable_refuses_until_told_otherwise(tmp_path):
    cell = (
        "@cute.jit\ndef f(n: Int32):\n    for i in range(n):\n        if i == 2:\n            break\n"
        "    return n\nprint(f(4))"
    )
    outputs = printed(*START, "%dsl --portable", cell, "%dsl --no-portable", cell, tmp_path=tmp_path)
    assert outputs[3].startswith("DSLUserCodeError: In[4]:5:13: UNSUP_EARLY_EXIT\n    break\n    ^^^^^ `break` leaves")
    assert outputs[5] == "4\n"
