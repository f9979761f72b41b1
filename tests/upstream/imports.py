"""Which files of a folder import: `python tests/upstream/imports.py FOLDER [--compiler nvidia]`.

Each file is imported in a separate process, with its own folders and its repository's folders of examples on the path;
nothing runs but its top level. Prints a line for each that does not, with the first thing in the way, and the count.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import signal
import sys
from collections import Counter
from pathlib import Path

LIMIT_S = 60


def outcome(path: Path, top: Path) -> str:
    """`ok`, or what the import of a file raised: its type and its first line."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        os.close(reading)
        os.write(writing, _imported(path, top).encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    os.waitpid(child, 0)
    return said or f"no end within {LIMIT_S} s"


def _imported(path: Path, top: Path) -> str:
    sys.path[:0] = [str(path.parent), str(top), str(top / "cute")]
    sys.argv = [str(path)]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            runpy.run_path(str(path), run_name="imported")
        except BaseException as error:  # SystemExit too
            return f"{type(error).__name__}: {' '.join(str(getattr(error, 'message', error)).split())[:160]}"
    return "ok"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compiler", choices=("ours", "nvidia"), default="ours")
    options = parser.parse_args()
    sys.path[:0] = [str(Path(__file__).parents[2])]
    import torch  # noqa: F401 - once, for every child

    from dsl import alias

    alias.install("emulator", options.compiler)
    import cutlass.cute  # noqa: F401

    counts: Counter[str] = Counter()
    for path in sorted(options.folder.resolve().rglob("*.py")):
        said = outcome(path, options.folder.resolve())
        counts["imports" if said == "ok" else "does not import"] += 1
        if said != "ok":
            print(f"{path.relative_to(options.folder.resolve())}: {said}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
