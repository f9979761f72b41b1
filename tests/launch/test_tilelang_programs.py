"""What TileLang gets on the emulator, and a program of TileLang where uv can make an environment for it."""

import importlib
import os
import shutil
import sys
import types
from pathlib import Path

import pytest

from dsl import alias
from dsl.launch import tilelang_programs
from harness.cli import main

PIPELINED = '''
# /// script
# dependencies = ["tilelang", "torch", "numpy"]
# [tool.repro]
# ///
"""A product of small integers is exact."""
import numpy as np
import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def product(n):
    @T.prim_func
    def kernel(A: T.Tensor((n, n), "float16"), B: T.Tensor((n, n), "float16"), C: T.Tensor((n, n), "float32")):
        with T.Kernel(1, threads=128) as block:
            a, b = T.alloc_shared((n, n), "float16"), T.alloc_shared((n, n), "float16")
            c = T.alloc_fragment((n, n), "float32")
            T.clear(c)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


def inputs():
    return np.arange(64 * 64).reshape(64, 64) % 7 - 3, np.arange(64 * 64).reshape(64, 64) % 5 - 2


def run():
    a, b = (torch.from_numpy(each.astype(np.float16)).to("cuda") for each in inputs())
    return {"c": product(64)(a, b)}


def expected():
    a, b = inputs()
    return {"c": (a @ b).astype(np.float32)}
'''


def test_code_is_compiled_to_ptx_with_lines_of_a_kept_file(tmp_path, monkeypatch):
    asked = []
    library = types.SimpleNamespace(compile_cuda=lambda *given, **more: asked.append((given, more)) or b"ptx")
    nvcc = types.SimpleNamespace(CUDA_HOME="")
    monkeypatch.setattr(importlib, "import_module", lambda name: nvcc if name.endswith(".nvcc") else library)
    own, before = library.compile_cuda, dict(os.environ)
    undo = tilelang_programs.prepare(str(tmp_path))
    assert os.environ["TILELANG_EXECUTION_BACKEND"] == "nvrtc" and "sm_90a" in os.environ["TILELANG_TARGET"]
    assert library.compile_cuda("int x;\n", target_format="cubin", options="-G", verbose=True) == b"ptx"
    (((code, target, arch, options), more),) = asked
    (kept,) = tmp_path.glob("tilelang/generated/*.cu")
    assert kept.read_text() == "int x;\n" and code == f'#line 1 "{kept}"\nint x;\n'
    assert (target, arch, options[:2], more) == ("ptx", 90, ["-G", "-lineinfo"], {"verbose": True})
    assert Path(nvcc.CUDA_HOME, "include", "cuda_fp16.h").is_file(), "without it TileLang sees no GPU"
    undo()
    assert library.compile_cuda is own and dict(os.environ) == before and not nvcc.CUDA_HOME


def test_its_tvm_is_not_ours(monkeypatch):
    monkeypatch.setitem(sys.modules, "tilelang", types.ModuleType("tilelang"))
    assert alias._finder.find_spec("tvm") is None and alias._finder.find_spec("tvm.base") is None
    assert alias._finder.find_spec("cutlass") is not None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("uv") is None, reason="needs uv")
def test_a_product_of_tensor_cores_is_right(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "product.py").write_text(PIPELINED.lstrip())
    assert main(["run", "product.py"]) == 0, capfd.readouterr()
    assert "pass: agrees with expected()" in capfd.readouterr().out
