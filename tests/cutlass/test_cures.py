"""Fixes of the emulator's findings cure CuTe DSL programs: each is broken, found with a fix, and silent once edited, by
hand and by the edit that the finding proposes.

A line of a kernel that begins with `-` is in the broken one alone, one with `+` in the cured one. All run in one process.
"""

import json
import textwrap
from pathlib import Path

import pytest

from tests import fork_server
from tests.edits import applied

HEAD = """import torch
import cutlass, cutlass.cute as cute
from cutlass import Int32, Float32
from cutlass.cute.runtime import from_dlpack

def put(s, at, value):
    s[at] = value

def take(s, at):
    return s[at]

@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(Int32, cute.make_layout(256), 16)
"""
TAIL = """
@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))

x = torch.arange(512, dtype=torch.int32, device="cuda"); y = torch.zeros(512, dtype=torch.int32, device="cuda")
host(from_dlpack(x), from_dlpack(y))
"""
FIRST = HEAD.count("\n") + 1  # the line of a kernel's first
# name: (the fix, where %N is the N-th line of the kernel, the kernel's lines)
PROGRAMS = {
    "a scan in one statement": (
        "let line %5 read into a register, then put a barrier of the block (`cute.arch.sync_threads()`) that all its threads reach, and "
        "only then write", """
          s[t] = x[t]
          cute.arch.sync_threads()
          for i in cutlass.range(6, unroll=1):
              d = Int32(1) << i
        -     if t >= d: s[t] = s[t] + s[t - d]
        +     v = s[t]
        +     if t >= d: v = v + s[t - d]
        +     cute.arch.sync_threads()
        +     s[t] = v
              cute.arch.sync_threads()
          y[t] = s[t]
        """),
    "a tree without a barrier in its loop": (
        "put a barrier of the block (`cute.arch.sync_threads()`) before the next round of line %5", """
          s[t] = x[t]
          cute.arch.sync_threads()
          for i in cutlass.range(6, unroll=1):
              d = Int32(32) >> i
              if t < d: s[t] = s[t] + s[t + d]
        +     cute.arch.sync_threads()
          y[t] = s[0]
        """),
    "helpers with no barrier between": (
        "put a barrier of the block (`cute.arch.sync_threads()`) between line %1 and line %2", """
          put(s, t, x[t])
        + cute.arch.sync_threads()
          y[t] = take(s, 63 - t)
        """),
    "two buffers, filled for the next round": (
        "put a barrier of the block (`cute.arch.sync_threads()`) before the next round of line %5", """
          s[t] = x[t]
          cute.arch.sync_threads()
          v = Int32(0)
          for i in cutlass.range(4, unroll=1):
              s[64 * ((i + 1) % 2) + t] = i; v = v + s[64 * (i % 2) + 63 - t]
        +     cute.arch.sync_threads()
          y[t] = v
        """),
    "a histogram without atomics": (
        "use an atomic at line %3: several threads read and write this place there", """
          s[t] = 0
          cute.arch.sync_threads()
        - s[t % 4] = s[t % 4] + 1
        + cute.arch.atomic_add((s.iterator + t % 4).llvm_ptr, Int32(1))
          cute.arch.sync_threads()
          y[t] = s[t]
        """),
    "a transpose": (
        "put a barrier of the block (`cute.arch.sync_threads()`) between line %1 and line %2", """
          s[t] = x[t]
        + cute.arch.sync_threads()
          y[t] = s[(t % 8) * 8 + t // 8]
        """),
    "one lane at elect_one": (
        "let all lanes of warp 0 come to FILE:%2: `elect.sync` is an operation of the warp, and only lane 0 gets there; ask for "
        "the warp in the condition around it (`if warp == 0`), not for some of its lanes", """
        - if t == 0:
        + if warp == 0:
              with cute.arch.elect_one():
                  s[0] = 1
          cute.arch.sync_threads()
          y[t] = s[0]
        """),
    "a barrier of one warp": (
        "put a barrier of the block (`cute.arch.sync_threads()`) in the place of the one of the warp at line %2: the threads are of warps "
        "1 and 0", """
          s[t] = x[t]
        - cute.arch.sync_warp()
        + cute.arch.sync_threads()
          y[t] = s[63 - t]
        """),
}  # fmt: skip
NO_EDIT = {"a scan in one statement", "a histogram without atomics", "one lane at elect_one"}
DRIVER = """import json, runpy, sys
reports = {}
for file in sys.argv[1:]:
    try:
        runpy.run_path(file, run_name="__main__")
        reports[file] = "", None
    except Exception as error:
        reports[file] = str(error), error.finding.get("edit")
print(json.dumps(reports))
"""


def source(edit: str, cured: bool) -> str:
    rows = [row for row in textwrap.dedent(edit).splitlines() if row.strip()]
    rows = [row for row in rows if row[:1] != ("-" if cured else "+")]
    width = 2
    return HEAD + "".join(f"    {row[width:]}\n" for row in rows) + TAIL.replace("THREADS", "64")


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, tuple[str, dict | None]]:
    """By file: the report and the edit of its finding; of kNedited.py, which has the edit that kN.py proposes, too."""
    folder: Path = tmp_path_factory.mktemp("cures")
    files = []
    for number, (_, edit) in enumerate(PROGRAMS.values()):
        for cured in (False, True):
            files.append(f"k{number}{'cured' if cured else ''}.py")
            (folder / files[-1]).write_text(source(edit, cured))
    (folder / "driver.py").write_text(DRIVER)
    found = run(folder, files)
    edited = {}
    for file, (_, edit) in found.items():
        if edit is not None:
            edited[f"{file[:-3]}edited.py"] = applied((folder / file).read_text(), edit)
    for file, text in edited.items():
        (folder / file).write_text(text)
    return found | run(folder, list(edited))


def run(folder: Path, files: list[str]) -> dict[str, tuple[str, dict | None]]:
    done = fork_server.run(["-m", "dsl", "--check", "all", "driver.py", *files], cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=list(PROGRAMS))
def test_the_fix_cures(reports, number):
    fix, _ = [*PROGRAMS.values()][number]
    for line in range(9, 0, -1):
        fix = fix.replace(f"%{line}", str(FIRST + line - 1))
    text, _ = reports[f"k{number}.py"]
    assert text.partition("\nfix: ")[2] == fix.replace("FILE", f"k{number}.py"), text
    assert reports[f"k{number}cured.py"][0] == ""


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=list(PROGRAMS))
def test_the_edit_of_the_finding_cures(reports, number):
    _, edit = reports[f"k{number}.py"]
    assert (edit is None) == ([*PROGRAMS][number] in NO_EDIT)
    if edit is not None:
        assert edit["file"] == f"k{number}.py" and reports[f"k{number}edited.py"][0] == ""
