"""A record does not depend on the folder of the repro, the folder it is run from, or the folders of a machine."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from harness import judge, store
from harness.claim.repro_file import read
from harness.host.hosts import resolve, under as under_compiler
from harness.records import history

ROOT = Path(__file__).parents[2]
RUNS = ("host", "date", "durations", "digest")  # what two runs of one program may have different
SASS = bool(shutil.which("nvdisasm") or importlib.util.find_spec("nvidia"))

PRINTS = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    if tid == 3:
        cute.printf("thread {} of %d", tid)
    out[tid] = tid

@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=(1, 1, 1), block=(32, 1, 1))

def run():
    out = torch.zeros(32, dtype=torch.int32, device="cuda")
    host(from_dlpack(out))
    return {"out": out}
"""
CHECKED = """
import numpy as np
import quadrants as qd

@qd.kernel
def compute(a: qd.Template, n: qd.i32) -> None:
    for i in range(4):
        assert i < n, "no place"
        a[i + 2 * (i == 3)] = i // (n - 4)

def run():
    qd.init(arch=qd.gpu, debug=True)
    a = qd.field(qd.i32, shape=4)
    compute(a, 3)
    return {"a": a.to_numpy()}
"""
OURS = ("control_flow/assert_in_a_kernel_traps",)


def program(body: str, language: str, table: str = "") -> str:
    return f'# /// script\n# dependencies = ["{language}"]\n# [tool.repro]\n# {table}\n# ///\n"""It is so."""\n{body}'


TEXTS = {Path(name).name: (ROOT / "repros" / f"{name}.py").read_text() for name in OURS} | {
    "prints": program(PRINTS, "nvidia-cutlass-dsl"),
    "checked": program(CHECKED, "quadrants", 'outcome = "trap"'),
}
BY_NVIDIA = {"prints"}


def lay(folder: Path) -> Path:
    """The programs as a project of this folder."""
    (folder / "repros").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    for name, text in TEXTS.items():
        (folder / "repros" / f"{name}.py").write_text(text)
    return folder


def records(project: Path, names, run) -> dict:
    """name -> (record, texts that are kept) of each program; `run(case)` gives host and outcome."""
    found = {}
    for name in names:
        case = next(read(project / "repros" / f"{name}.py").cases())
        host, outcome = run(case)
        verdict = judge.judge(case, host, outcome, project)
        record = {key: value for key, value in verdict.record.items() if key not in RUNS}
        found[name] = outcome.kind, record, history.blobs(outcome)
    return found


def locally(project: Path, cwd: Path, names, compiler: str) -> dict:
    """Run on this machine, from a working folder."""
    before = os.getcwd()
    os.chdir(cwd)
    host = under_compiler(resolve("embedded"), compiler)
    transport = host.connect()
    try:
        return records(
            project, names, lambda case: (host, judge.run(transport, case, host, compiler=compiler, sass=SASS))
        )
    finally:
        transport.close()
        os.chdir(before)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["ours", "nvidia"])
def test_no_recorded_field_depends_on_a_folder(tmp_path, on_host, compiler, request):
    """All fields, PTX and SASS, from two folders of different lengths, from inside and from elsewhere, and over SSH."""
    if compiler == "nvidia":
        request.getfixturevalue("installed")
    names = BY_NVIDIA if compiler == "nvidia" else tuple(TEXTS.keys() - BY_NVIDIA)
    short = lay(tmp_path / "a")
    deep = lay(tmp_path / "a folder with blanks, 'quotes'" / "and much more depth" / "ünï")
    first = locally(short, short, names, compiler)
    second = locally(deep, deep / "repros", names, compiler)
    far = on_host("p1", compiler)
    far.session.sass = SASS
    third = records(deep, names, lambda case: far.session.run(case, far.host, None, False))
    for name in names:
        kind, record, texts = first[name]
        assert kind in ("outputs", "trap") and record["kernels"] and len(texts) >= 1 + SASS, (name, kind)
        for other in (second, third):
            assert other[name][0] == kind
            assert {key: other[name][1][key] for key in record} == record, name
            assert other[name][2] == texts
    assert store.without_folders('\t.file\t1 "/a b/\\"c/x.py"\n') == '\t.file\t1 "x.py"\n'
