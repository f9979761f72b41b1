"""Unmodified Triton programs on the emulator, each in a new process."""

import os
import subprocess
import sys

import pytest

from dsl.launch import triton_variables

HEAD = """import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
"""
PRODUCT = """
@triton.jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    c.store([0, 0], acc.to(tl.float16))

a, b = torch.randint(-4, 4, (64, 64), device="cuda").half(), torch.randint(-4, 4, (64, 32), device="cuda").half()
c = torch.zeros(64, 32, device="cuda", dtype=torch.float16)
blocks = TensorDescriptor.from_tensor(a, [64, 32]), TensorDescriptor.from_tensor(b, [32, 32])
k = product[(1,)](*blocks, TensorDescriptor.from_tensor(c, [64, 32]), 64, M=64, N=32, BK=32)
print(torch.equal(c.float(), a.float() @ b.float()), "wgmma" in k.asm["ptx"], "cp.async.bulk.tensor" in k.asm["ptx"])
"""
IN_PLACE = """
@triton.jit
def double(x, total, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) * 2)
    tl.store(total, tl.load(total) + 1)

x, total = torch.ones(64, device="cuda"), torch.zeros(1, device="cuda")
double[(1,)](x, total, BLOCK=64)
print(x.sum().item(), total.item())
"""
RACE = """
@triton.jit
def turned(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, i)
    tl.store(y + i, tl.load(x + BLOCK - 1 - i))

x, y = torch.zeros(64, dtype=torch.int32, device="cuda"), torch.zeros(64, dtype=torch.int32, device="cuda")
turned[(1,)](x, y, BLOCK=64)
print(y[:3].tolist())
"""


@pytest.fixture
def run(python_headers, tmp_path):
    def run(text: str, *options: str) -> subprocess.CompletedProcess:
        (tmp_path / "program.py").write_text(HEAD + text)
        command = [sys.executable, "-W", "ignore", "-m", "dsl", "--device", "emulator", *options, "program.py"]
        environment = os.environ | {"GPU_REPRO_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, cwd=tmp_path)

    return run


def test_a_product_of_tiles_by_descriptors(run, tmp_path):
    done = run(PRODUCT)
    assert (done.stdout, done.returncode) == ("True True True\n", 0), done.stderr
    assert [path.name for path in tmp_path.glob("cache/triton/*/product.ptx")]


def test_spare_threads_load_the_elements_of_others(run):
    done = run(IN_PLACE, "--check", "all")
    assert (done.stdout, done.returncode) == ("128.0 1.0\n", 0), done.stderr


def test_a_race_is_shown_at_the_line_with_tritons_word(run):
    done = run(RACE)
    assert done.returncode == 1 and "RACE" in done.stderr and "program.py:8, PTX line" in done.stderr, done.stderr
    assert "\n    tl.store(x + i, i)\n    ^" in done.stderr
    assert "fix: put a barrier of the block (`tl.debug_barrier()`) between line 7 and line 8" in done.stderr
    cured = run(RACE.replace("x + i, i)\n", "x + i, i)\n    tl.debug_barrier()\n"))
    assert (cured.stdout, cured.returncode) == ("[63, 62, 61]\n", 0), cured.stderr


@pytest.mark.slow
def test_a_machine_without_a_c_compiler(run, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cp"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)
    assert run(IN_PLACE).stdout == "128.0 1.0\n"


@pytest.mark.slow
def test_its_kernels_are_shown(run):
    assert ".visible .entry double(" in run(IN_PLACE, "--show", "ptx").stdout


def test_the_variables_are_set_until_it_ends(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/usr/bin/ptxas")
    monkeypatch.delenv("TRITON_LIBCUDA_PATH", raising=False)
    before = dict(os.environ)
    undo = triton_variables.prepare(str(tmp_path))
    image, ptx = tmp_path / "kernel.cubin", tmp_path / "kernel.ptx"
    ptx.write_text(".version 8.0\n")
    subprocess.run([os.environ["TRITON_PTXAS_PATH"], "-lineinfo", ptx, "--gpu-name=sm_90a", "-o", image], check=True)
    assert image.read_text() == ptx.read_text()
    undo()
    assert dict(os.environ) == before
