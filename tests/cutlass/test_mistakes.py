"""Mistakes of authors, and the whole text of the error for each: mistakes.txt.

A case is the body of a kernel that has a tensor `a` of 16 Float32, a dynamic Int32 `n` and the thread `tid`; after
`# host` the body of a @cute.jit function with `a` and `n`; after `# program` a whole program. `python test_mistakes.py`
prints the file again, for a look at each text that has changed.
"""

import re
import textwrap
import warnings
from pathlib import Path

from dsl import alias

CASES = Path(__file__).with_name("mistakes.txt")
HEAD = """\
import cutlass, math, torch
import cutlass.cute as cute
import numpy as np
from cutlass import Boolean, Constexpr, Float16, Float32, Int32
from cutlass.cute.runtime import from_dlpack
"""
KERNEL = """\
@cute.kernel
def kernel(a: cute.Tensor, n: Int32):
    tid, _, _ = cute.arch.thread_idx()
{}
@cute.jit
def host(a: cute.Tensor, n: Int32):
    kernel(a, n).launch(grid=1, block=32)
host(from_dlpack(np.zeros(16, np.float32)), 3)
"""
HOST = """\
@cute.jit
def host(a: cute.Tensor, n: Int32):
{}
host(from_dlpack(np.zeros(16, np.float32)), 3)
"""


def cases() -> list[tuple[str, str]]:
    """(what the author wrote, the text of its error) each."""
    found = [case.strip("\n").partition("\n---") for case in CASES.read_text().split("\n======\n")]
    return [(body, text.strip("\n")) for body, _, text in found]


def told(body: str, folder: Path) -> str:
    """The error's text, its lines counted from where the body begins; '' where there is none."""
    first, _, rest = body.partition("\n")
    form = {"# host": HOST, "# program": "{}"}.get(first)
    source = textwrap.indent(rest if form else body, "" if form == "{}" else "    ")
    program = HEAD + (form or KERNEL).format(source)
    before = program[: program.index(source)].count("\n") - (form is not None)
    path = folder / "author.py"
    path.write_text(program)
    from dsl.__main__ import _failure

    try:
        exec(compile(program, str(path), "exec"), {"__name__": "author"})
    except Exception as error:
        text = _failure(error, False).replace(f"{folder}/", "")
        return re.sub(r"author\.py:(\d+)", lambda found: f"author.py:{int(found[1]) - before}", text)
    return ""


def tell_all(folder: Path) -> list[tuple[str, str]]:
    import linecache

    alias.install("emulator")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = []
            for number, (body, _) in enumerate(cases()):
                inner = folder / str(number)  # a separate file: the text of a file is kept
                inner.mkdir()
                made.append((body, told(body, inner)))
            linecache.checkcache()
            return made
    finally:
        alias.uninstall()


def test_each_mistake_is_reported_at_its_place_with_a_fix(tmp_path):
    expected = dict(cases())
    assert len(expected) > 100
    for body, text in tell_all(tmp_path):
        assert text == expected[body], body
        assert text.startswith("author.py:") and "\nfix: " in text and "Traceback" not in text, body
        assert "INTERNAL" not in text and "dsl." not in text, body


if __name__ == "__main__":
    import sys
    import tempfile

    sys.path.insert(0, str(Path(__file__).parents[2]))
    with tempfile.TemporaryDirectory() as scratch:
        print("\n======\n".join(f"{body}\n---\n{text}" for body, text in tell_all(Path(scratch))))
