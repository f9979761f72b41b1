"""Programs of the user's documents, run as a user runs them: what they print, warn of and are refused for."""

import re
import subprocess
from pathlib import Path

from tests import fork_server

HEAD = """\
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Boolean, Float32, Int32
from cutlass.cute.runtime import from_dlpack
res = np.zeros(2, np.float32)

"""
FIRST_LINE = HEAD.count("\n") + 1


def run(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess:
    (folder / "author.py").write_text(HEAD + program)
    quietly = ["-W", "ignore:HOST_MEMORY"]  # arrays of numpy print as the documents show them
    return fork_server.run([*quietly, "-m", "dsl", "--device", "emulator", *options, "author.py"], cwd=folder)


def printed(folder: Path, program: str) -> str:
    """The output of a program, which must run without a warning or an error."""
    done = run(folder, program)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def warned(folder: Path, program: str) -> tuple[str, list[tuple[int, str]]]:
    """The output of a program, and each warning as (line of the program, diagnostic id);
    `--portable` makes the first one an error."""
    done = run(folder, program)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^author\.py:(\d+): PortabilityWarning: .*\((\w+)\)$", done.stderr, re.MULTILINE)
    warnings = [(int(line) - FIRST_LINE + 1, id) for line, id in found]
    strict = run(folder, program, "--portable")
    assert strict.returncode == 1 and re.match(rf"author\.py:\d+:\d+: {warnings[0][1]}\n", strict.stderr), strict.stderr
    return done.stdout, warnings


def error(folder: Path, program: str) -> str:
    """The report of a program that does not compile, its lines counted from the program's first."""
    done = run(folder, program)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    report = "\n".join(lines[next(k for k, line in enumerate(lines) if re.match(r"author\.py:\d+:\d+: \w+$", line)) :])
    return re.sub(r"(author\.py:|line )(\d+)", lambda at: f"{at[1]}{int(at[2]) - FIRST_LINE + 1}", report)
