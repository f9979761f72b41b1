"""Layout and lint of the C++ of the emulator and of the CUDA runtime: clang-format, clang-tidy, and lines of at most 120 columns.

python tests/emulator/lint_cpp.py                 # of all files
python tests/emulator/lint_cpp.py FILE...         # of some; with a header among them, all are linted
python tests/emulator/lint_cpp.py --fix           # lays out, then lints
python tests/emulator/lint_cpp.py --quick         # without the static analyzer of clang-tidy
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from dsl import native_library as build

WIDTH = 120
ANALYZER = "clang-analyzer-*"
# Checks that a file is not asked for.
LESS = {
    # The analyzer needs minutes for the forms of mma, and does not know what their template argument, a struct, holds.
    "mma.cc": (ANALYZER,)
}
CUDA_RUNTIME = build.cuda_runtime(build.CUDA_MAJORS[-1])


def sources() -> list[Path]:
    return [*build.sources(), *(path for path in build.sources(CUDA_RUNTIME) if path.suffix in (".cc", ".h"))]


def layout(paths: list[Path], fix: bool = False) -> str:
    """Errors of clang-format about the layout, and lines that are too long; `fix` lays out first."""
    how = ["-i"] if fix else ["--dry-run", "-Werror"]
    told = _output([_tool("clang-format"), *how, *map(str, paths)])
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > WIDTH:
                told += f"{path}:{number}: {len(line)} columns, of at most {WIDTH}\n"
    return told


def lint(paths: list[Path], analyzer: bool = True) -> str:
    """The findings of clang-tidy in C++ files."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        (Path(folder) / "shared.h").write_text(build.header_text())
        return "".join(pool.map(lambda path: _tidy(path, folder, analyzer), paths))


def _tidy(path: Path, folder: str, analyzer: bool) -> str:
    less = [*LESS.get(path.name, ()), *([] if analyzer else [ANALYZER])]
    checks = [f"--checks={','.join(f'-{each}' for each in less)}"] if less else []
    target = ["-target", "x86_64-linux-gnu", f"-march={build.LEVELS[-1].replace('_', '-')}"]
    own = CUDA_RUNTIME.flags if CUDA_RUNTIME.home in path.parents else build.FLAGS
    flags = [*target, *own, "-I", str(build.HERE), "-I", folder]
    return _output([_tool("clang-tidy"), "--quiet", *checks, str(path), "--", *flags])


def _tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def _output(command: list[str]) -> str:
    """The output of a command; '' if it finds nothing."""
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr) if done.returncode else ""


def linted(paths: list[Path]) -> list[Path]:
    """The C++ files to lint: a header is linted where it is included, which may be anywhere."""
    wanted = sources() if any(path.suffix == ".h" for path in paths) else paths
    return [path for path in wanted if path.suffix == ".cc"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    paths = [path.resolve() for path in asked.files] or sources()
    told = layout(paths, asked.fix) + lint(linted(paths), not asked.quick)
    print(told, end="")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
