"""Reads mistakes.txt: programs that are wrong, each with the whole text of its error.

    python tests/tirx/errors/mistakes.py           writes the texts again; look at the difference before you keep it

A program follows its title (`### ...`), its text follows `---`. A program without a mark is the body of a kernel with the
parameters of KERNEL; `# PROGRAM` is a whole program, `# CALL` calls the compiled function of CALLED.
"""

from __future__ import annotations

import linecache
import re
import sys
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_suffix(".txt")
NAME = "k.py"
HEAD = "import numpy as np\nimport tvm\nfrom tvm.script import tirx as T\n"
KERNEL = """\
@T.prim_func
def main(A: T.Buffer((64,), "float32"), I: T.Buffer((8, 8), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
"""
CALLED = """\
@T.prim_func
def main(a: T.handle, b: T.handle, C: T.Buffer((4, 8), "float32"), n: T.int32, x: T.float32):
    m = T.int32()
    A = T.match_buffer(a, (m,), "float32")
    B = T.match_buffer(b, (m,), "float32")
    T.device_entry()
    bx = T.cta_id([n])
    tx = T.thread_id([8])
    if tx < m:
        B[tx] = A[tx] + x
        C[0, tx] = x
f = tvm.compile(main, target="cuda")
A = np.zeros(8, np.float32)
C = np.zeros((4, 8), np.float32)
"""


@dataclass
class Mistake:
    title: str
    program: str
    text: str

    @property
    def source(self) -> str:
        """The whole program."""
        mark, _, rest = self.program.partition("\n")
        if mark == "# PROGRAM":
            future = "from __future__ import annotations\n"
            return (future if future in rest else "") + HEAD + rest.replace(future, "")
        if mark == "# CALL":
            return HEAD + CALLED + rest
        body = "".join(f"    {line}\n" for line in self.program.splitlines())
        return f'{HEAD}{KERNEL}{body}tvm.compile(main, target="cuda")\n'

    def error(self) -> BaseException | None:
        """The exception that it raises, with its text as an attribute. `tvm` is this compiler, through dsl.alias."""
        source = self.source
        linecache.cache[NAME] = (len(source), None, source.splitlines(True), NAME)
        try:
            exec(compile(source, NAME, "exec"), {"__name__": "k"})
        except Exception as error:
            error.said = re.sub("0x[0-9a-f]{6,}", "ADDRESS", str(error))  # while the source is this one
            return error
        return None


def said(error: BaseException | None) -> str:
    """The class and the text of an error, addresses left out."""
    return "no error" if error is None else f"{type(error).__name__}\n{error.said}"


def read() -> list[Mistake]:
    found = []
    for part in re.split(r"^### ", FILE.read_text(), flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        program, _, text = rest.partition("\n---\n")
        found.append(Mistake(title, program.rstrip("\n"), text.rstrip("\n")))
    return found


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from dsl import alias
    from dsl.launch import session

    alias.install("emulator")
    session.start("emulator")
    FILE.write_text("\n".join(f"### {one.title}\n{one.program}\n---\n{said(one.error())}\n" for one in read()))


if __name__ == "__main__":
    main()
