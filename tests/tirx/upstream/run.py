"""Run TVM's own test files of this subset, unmodified, through the alias on the emulator.

The repository is not part of this one: clone it at v0.26.0 and name its folder. Every case must pass, with its numpy
reference where it has one, unless left_out.toml names it with a reason.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FILES = [
    "test_control_flow",
    "test_inline",
    "test_jit",
    "codegen/test_cuda_warp_reduce",
    "codegen/test_cuda_cta_reduce",
    "codegen/test_codegen_cuda",
]
EXAMPLES = """\
examples:
  git clone --depth 1 --branch v0.26.0 https://github.com/apache/tvm
  uv run python tests/tirx/upstream/run.py tvm                         every file of the table
  uv run python tests/tirx/upstream/run.py tvm test_inline --verbose   one, and why its cases fail
exit status: 0 every failure is listed with its reason, 1 not so, 2 wrong usage
"""
DRIVE = """
import sys
from dsl import alias
alias.install("emulator")
import pytest
sys.exit(pytest.main(["-q", "-rA", "--noconftest", "--import-mode=importlib", "-p", "no:cacheprovider",
                      "-p", "no:gpu-repro", "-W", "ignore", "--tb=line", sys.argv[1]]))
"""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder = Path(options.folder).resolve() / "tests/python/tirx"
    if not folder.is_dir():
        print(f"run.py: {options.folder} is not a clone of TVM: it has no tests/python/tirx", file=sys.stderr)
        return 2
    if unknown := [name for name in options.names if not (folder / f"{name}.py").is_file()]:
        print(f"run.py: this clone has no tests/python/tirx/{unknown[0]}.py", file=sys.stderr)
        return 2
    left_out = tomllib.loads((HERE / "left_out.toml").read_text())
    wrong = False
    print(f"{'file':34}{'cases':>7}{'pass':>6}   not listed")
    for name in options.names or FILES:
        found, text = outcomes(folder / f"{name}.py")
        wrong |= _report(name, found, left_out.get(name, {}), options.verbose, text)
    return int(wrong)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="a clone of https://github.com/apache/tvm")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="files of tests/python/tirx without .py; default: the table"
    )
    parser.add_argument("--verbose", action="store_true", help="show the output of pytest")
    return parser


def outcomes(file: Path) -> tuple[dict[str, str], str]:
    """The outcome of each case of a file ("PASSED", "FAILED", "SKIPPED", "ERROR"), and the output of pytest."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GPU_REPRO_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVE, str(file)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=file.parent,
        env=environment,
    )
    cases = re.findall(rf"^(PASSED|FAILED|ERROR) \S*{file.name}(?:::(\S+))?", done.stdout, re.MULTILINE)
    found = {case or "": outcome for outcome, case in cases}
    found |= {place: "SKIPPED" for place in re.findall(r"^SKIPPED \[\d+\] (\S+):", done.stdout, re.MULTILINE)}
    if not found:
        found[""] = "ERROR"
    return found, done.stdout + done.stderr


def listed(case: str, left_out: dict[str, str]) -> bool:
    """Whether a case is left out by its name, without its parameters, or by a group that ends in *."""
    plain = case.partition("[")[0]
    return any(plain == name or (name.endswith("*") and plain.startswith(name[:-1])) for name in left_out)


def _report(name: str, found: dict[str, str], left_out: dict[str, str], verbose: bool, text: str) -> bool:
    """Print a line for a file, and what is wrong; whether anything is."""
    failed = [case for case, outcome in found.items() if outcome not in ("PASSED", "SKIPPED")]
    unlisted = [case for case in failed if not listed(case, left_out)]
    print(f"{name:34}{len(found):7}{len(found) - len(failed):6}{len(unlisted):13}", flush=True)
    for case in unlisted:
        print(f"    {case or 'the file itself'}: {found[case]}")
    idle = [entry for entry in left_out if not any(listed(case, {entry: ""}) for case in failed)]
    for entry in idle:
        print(f"    {entry} is listed as left out, and passes")
    if verbose:
        print(text)
    return bool(unlisted or idle)


if __name__ == "__main__":
    sys.exit(main())
