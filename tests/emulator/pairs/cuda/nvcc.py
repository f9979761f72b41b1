"""The PTX of the .cu files here by nvcc, without paths of a machine: `python -m tests.emulator.pairs.cuda.nvcc` writes it.

NAME.wrong.ptx is of NAME.cu, NAME.right.ptx of NAME.cu with -DRIGHT.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
VERSION = "V13.0.88"  # of the nvcc that made the PTX here
_COMMAND = ("nvcc", "-arch=sm_90a", "-std=c++17", "-lineinfo", "-diag-suppress=20054", "--ptx", "-o", "-")


def compiled(source: Path, is_right: bool) -> str:
    """The PTX of a source file; its `.file` rows have the name of the file, and CUDA's headers."""
    done = subprocess.run([*_COMMAND, *["-DRIGHT"] * is_right, source], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    text = re.sub(r"\t\.section\s+\.debug_str\s*\{.*?\n\s*\}", "", done.stdout, flags=re.DOTALL)
    text = re.sub(r"function_name \S+,", "function_name $L__info_string0,", text)
    text = re.sub(r'(?m)^(\s*\.file\s+\d+ )".*/include/', r'\1"/usr/local/cuda/include/', text)
    text = re.sub(r"_INTERNAL_[0-9a-f]{8}_", "_INTERNAL_00000000_", text)
    text = text.replace(f'"{source}"', f'"{source.name}"')
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip("\n") + "\n"


def kept(source: Path, is_right: bool) -> Path:
    """The file that has the PTX of a source."""
    return source.with_suffix(".right.ptx" if is_right else ".wrong.ptx")


if __name__ == "__main__":
    for each in sorted(FOLDER.glob("*.cu")):
        for right in (False, True):
            kept(each, right).write_text(compiled(each, right))
