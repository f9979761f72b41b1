"""`python -m dsl program.cu`: compile it with nvcc and run it; kernels of a Python file, whose block has `source`."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsl import repro_block
from dsl.driver import device_code, nvcc, program

REFUSED = {"notes": "--notes", "schedule": "--schedule", "delays": "--delays", "prompt": "-i", "param": "-p"}


def refusal(file: str, options: argparse.Namespace) -> str:
    """Which of these options only a Python program can have; '' if none."""
    named = next((option for name, option in REFUSED.items() if getattr(options, name)), "")
    named = named or ("--compiler nvidia" if options.compiler == "nvidia" else "")
    named = named or next((f"--show {stage}" for stage in options.show if stage != "ptx"), "")
    return f"{named} is for Python programs: {file} runs in a separate process\nfix: leave out {named}" if named else ""


def run(file: str, text: str, args: Sequence[str], session: Any, options: argparse.Namespace) -> int:
    """Run the program; its exit status: 1 if a kernel failed or nvcc refused, 2 without nvcc, 124 after a timeout."""
    on_gpu = session.device.kind == "cuda"
    try:
        block = repro_block.table_of_cuda(text)
    except tomllib.TOMLDecodeError as error:
        print(f"dsl: the block of {file} is not TOML: {error}", file=sys.stderr)
        return 2
    own = [f"-I{Path(file).absolute().parent}"] if '#include "' in text else []
    chosen = [one for one in block.get("nvcc", []) if isinstance(one, str)]
    source = nvcc.Source(os.path.abspath(file), text, {}, [*chosen, *own], session.device.arch, on_gpu)
    checks = options.check or "all"
    try:
        built, status, found = program.run(
            source, list(args or block.get("args", [])), checks, options.seed, options.timeout
        )
    except nvcc.CompileError as error:
        print(error, file=sys.stderr)
        return 1
    except nvcc.CompilerMissing as error:
        print(f"dsl: {error}", file=sys.stderr)
        return 2
    if "ptx" in options.show:
        print(built.ptx)
    if status is None:
        print("dsl: stopped: it ran longer than --timeout allows", file=sys.stderr)
        return 124
    if found and not status:
        print("dsl: a kernel failed, and the program went on (exit status 1 for 0)", file=sys.stderr)
        return 1
    return status if status >= 0 else 128 - status


def kernels(file: str, name: str, block: dict[str, Any], arch: str) -> str:
    """The PTX of the kernels that a Python file's block names. Raises nvcc.CompileError, SystemExit, OSError."""
    path = Path(file).absolute().parent / name
    options = [*block.get("nvcc", []), f"-I{path.parent}"]
    try:
        return device_code.ptx(nvcc.Source(str(path), path.read_text(), {}, options, arch, False))
    except nvcc.CompilerMissing as error:
        raise SystemExit(f"dsl: {error}") from None
