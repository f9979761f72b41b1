"""The command `repro new`."""

from __future__ import annotations

import argparse
import importlib.resources
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from harness.cli import document, run_command
from harness.errors import UsageError
from harness.run.environment import as_typed, install_command
from harness.verbosity import note

_NEW = """\
Write repros/NAME.py, a first repro that passes, run it and accept its golden. Then change it into your question:
the docstring's first line is the claim, run() returns named arrays, expected() computes the right answer in numpy.

  repro new shuffle_width               it uses torch tensors, or numpy arrays if torch is not installed
  repro new shuffle_width --numpy       its tensors are numpy arrays in managed memory: it needs no torch
  repro new shuffle/width               in repros/shuffle/
  repro new vote --language cu          in another language: cuda (cuda.core), cu (a .cu file, nvcc), triton,
                                        gluon, tilelang, numba, ptx (a .ptx file), qd (Quadrants), T (TIRx)

Exit status: 0 written, and it passes; 1 it does not; 2 wrong usage; 3 it could not be run.
"""
TEMPLATES = {"torch": "first_repro.txt", "numpy": "first_repro_numpy.txt"}
LANGUAGES = {  # its file in first_repros/, the modules that it needs, the packages to install
    "cuda": ("cuda.py.txt", ("cuda.core", "numpy"), "cuda-core[cu13]"),
    "cu": ("cu.cu.txt", (), ""),
    "triton": ("triton.py.txt", ("triton", "torch"), "triton torch"),
    "gluon": ("gluon.py.txt", ("triton.experimental.gluon", "torch"), "triton torch"),
    "tilelang": ("tilelang.py.txt", ("tilelang",), "tilelang"),
    "numba": ("numba.py.txt", ("numba.cuda",), "numba-cuda[cu13]"),
    "ptx": ("ptx.ptx.txt", (), ""),
    "qd": ("qd.py.txt", (), ""),
    "T": ("T.py.txt", (), ""),
}

IN_THEIR_OWN = ("tilelang", "numba")  # environments, made by uv


def add(commands: Any) -> None:
    """Add the command."""
    new = document.command(commands, "new", "write a first repro that passes", _NEW, _new)
    new.add_argument(
        "name", metavar="NAME", help="of the file, without .py: what it asks, as in shuffle_width or shuffle/width"
    )
    new.add_argument(
        "--folder", type=Path, default=Path("repros"), metavar="DIR", help="where to put it (default repros)"
    )
    new.add_argument("--language", choices=LANGUAGES, help="the language, if it is not CuTe DSL")
    new.add_argument("--numpy", action="store_true", help="numpy arrays in managed memory, not torch tensors")


def _new(arguments: argparse.Namespace) -> int:
    suffix, template, with_numpy = _template(arguments)
    name = arguments.name.removesuffix(suffix)
    if not re.fullmatch(r"([a-z][a-z0-9_]*/)*[a-z][a-z0-9_]*", name):
        raise UsageError(
            f"repro new {arguments.name}: write a name of small letters, digits and _, as in shuffle_width "
            "or shuffle/width"
        )
    path = arguments.folder / f"{name}{suffix}"
    if path.exists():
        raise UsageError(f"{path} exists already; `repro run {path}` runs it")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(importlib.resources.files("harness").joinpath(template).read_text())
    note(f"wrote {path}{with_numpy}\n", sys.stdout)
    status, result = _judge(path, arguments)
    document.give(arguments, {"written": path, **result})
    note(f"\nnext: change {path} into your question, then `{as_typed(f'uv run repro run {path}')}`", sys.stdout)
    return status


def _template(arguments: argparse.Namespace) -> tuple[str, str, str]:
    """The suffix, the file of the template, and a remark on it. Raises UsageError if a package is missing."""
    if arguments.language is None:
        has_torch = _has_torch()
        name = TEMPLATES["torch" if has_torch and not arguments.numpy else "numpy"]
        remark = "" if has_torch or arguments.numpy else " with numpy arrays: torch is not installed here"
        return ".py", name, remark
    if arguments.numpy:
        raise UsageError("--numpy is for CuTe DSL: leave it out with --language")
    name, modules, packages = LANGUAGES[arguments.language]
    missing = [module for module in modules if not _has(module)]
    if missing and arguments.language in IN_THEIR_OWN and _has_uv():
        return ".py", f"first_repros/{name}", f": {missing[0]} is not installed here, so uv makes an environment for it"
    if missing:
        again = f"repro new {arguments.name} --language {arguments.language}"
        raise UsageError(
            f"--language {arguments.language} needs {missing[0]}, which is not installed here\n"
            f"fix: {install_command(packages.split(), again, is_for_good=True)}"
        )
    return Path(name.removesuffix(".txt")).suffix, f"first_repros/{name}", ""


def _has_torch() -> bool:
    return _has("torch")


def _has_uv() -> bool:
    from harness.host.environment import releases, remote_env

    return remote_env.find_uv(str(releases.cache_folder())) is not None


def _has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _judge(path: Path, arguments: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Run the new repro and accept its goldens; the exit status, and the result of --json."""
    parser = argparse.ArgumentParser()
    run_command.add(parser.add_subparsers())
    run = parser.parse_args(["run", str(path), "--update-goldens", *(["--json"] if arguments.json else [])])
    return run.command(run), getattr(run, "result", {})
