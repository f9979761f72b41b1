"""Calls and launches that mean nothing are refused with the author's line, in the author's words, with the fix."""

import pytest

from dsl import alias
from dsl.core.errors import DSLUserCodeError

HEAD = """\
import cutlass, numpy as np, torch
import cutlass.cute as cute
from cutlass import Boolean, Float16, Float32, Int32, Uint8

data = np.zeros(128, np.float32)

@cute.kernel
def kernel(a: cute.Tensor, n: Int32):
    pass

"""
HEAD_LINES = HEAD.count("\n")

PROGRAMS = {}


def program(text: str) -> None:
    """A program, and the whole text of its error after `---`; the line numbers of the text count from HEAD's end."""
    source, _, error = text.strip("\n").partition("\n---\n")
    PROGRAMS[source] = error


with open(__file__.replace(".py", ".txt")) as cases:
    for case in cases.read().split("\n======\n"):
        program(case)


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: PROGRAMS[source].split("\n")[0].partition(": ")[2])
def test_whole_text(source, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD + source + "\n")
    alias.install("emulator")
    try:
        with pytest.raises(DSLUserCodeError) as error:
            exec(compile(path.read_text(), str(path), "exec"), {"__name__": "program"})
    finally:
        alias.uninstall()
    assert relative(str(error.value), tmp_path) == PROGRAMS[source]


def relative(text: str, folder) -> str:
    """`text` with lines counted from the end of HEAD and without the folder."""
    import re
    text = text.replace(f"{folder}/", "")
    return re.sub(r"program\.py:(\d+)", lambda found: f"program.py:{int(found[1]) - HEAD_LINES}", text)


def test_what_is_probably_not_meant_is_said(recwarn):
    from dsl.core.errors import DSLWarning
    from dsl.cutlass import Float32, cute, utils
    from dsl.launch import session

    @cute.kernel
    def kernel():
        utils.SmemAllocator().allocate_array(Float32, 64)

    @cute.jit
    def host():
        kernel().launch(grid=16, block=1, cluster=(16, 1, 1), smem=16)

    session.start("emulator")
    try:
        cute.compile(host)
    finally:
        session.stop()
    assert [str(warned.message) for warned in recwarn if warned.category is DSLWarning] == [
        "LAUNCH_CLUSTER_NOT_PORTABLE: the cluster of `kernel` has 16 blocks; more than 8 run on some GPUs only",
        "SMEM_TOO_SMALL: `kernel` allocates 256 bytes of shared memory and is launched with smem=16"]
