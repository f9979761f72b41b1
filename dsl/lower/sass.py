"""PTX to cubin and cubin to SASS text, by NVIDIA's ptxas and nvdisasm where they are installed."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

_PACKAGES = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}


class ToolMissing(Exception):
    """A tool of NVIDIA is not installed; the text explains how to install it."""

    def __init__(self, tool: str):
        super().__init__(
            f"`{tool}` is not on PATH and not among the installed packages\n"
            f"fix: uv sync    (or: uv pip install {_PACKAGES[tool]})"
        )
        self.tool = tool


class ToolRejected(Exception):
    """A tool rejected its input; the text is the tool's message."""

    def __init__(self, tool: str, text: str):
        super().__init__(f"{tool}: {text}")
        self.tool, self.text = tool, text


@functools.cache
def find(tool: str) -> str:
    """The path of `ptxas` or `nvdisasm`: in the PyPI package, which the lock file pins, else on PATH."""
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for candidate in sorted(Path(folder, "nvidia").glob(f"*/bin/{tool}")):
            if os.access(candidate, os.X_OK):
                return str(candidate)
    on_path = shutil.which(tool)
    if on_path is None:
        raise ToolMissing(tool)
    return on_path


@functools.cache
def version(tool: str) -> str:
    """`13.0.88`. Raises ToolMissing."""
    done = subprocess.run([find(tool), "--version"], capture_output=True, text=True)
    match = re.search(r"\bV(\d[\d.]*)", done.stdout)
    return match[1] if match else "unknown"


def assemble(ptx: str, arch: str = "sm_90a", options: Sequence[str] = ()) -> bytes:
    """The cubin ptxas makes of `ptx`, given `options` too. Raises ToolMissing, or ToolRejected with ptxas' text."""
    return _assembled(ptx, arch, options)[0]


def assemble_verbose(ptx: str, arch: str) -> tuple[bytes, str]:
    """The cubin, and the report of ptxas on registers, stack and spills. Raises as `assemble` does."""
    return _assembled(ptx, arch, ["-v"])


def _assembled(ptx: str, arch: str, options: Sequence[str]) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="dsl-ptxas-") as folder:
        Path(folder, "kernel.ptx").write_text(ptx)
        done = _run(folder, "ptxas", f"-arch={arch}", "kernel.ptx", "-o", "kernel.cubin", *options)
        return Path(folder, "kernel.cubin").read_bytes(), done.stdout + done.stderr


def disassemble(cubin: bytes, options: Sequence[str] | None = None) -> str:
    """SASS text of every kernel in `cubin`; the author's `options` replace ours. Raises ToolMissing, ToolRejected."""
    with tempfile.TemporaryDirectory(prefix="dsl-nvdisasm-") as folder:
        Path(folder, "kernel.cubin").write_bytes(cubin)
        arguments = ("-c", "-ndf") if options is None else options  # no data flow analysis: faster
        return _run(folder, "nvdisasm", *arguments, "kernel.cubin").stdout


def _run(folder: str, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([find(tool), *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise ToolRejected(tool, (done.stderr + done.stdout).strip())
    return done
