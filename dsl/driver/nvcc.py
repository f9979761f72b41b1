"""CUDA C++ programs of one file, compiled by nvcc for the shared CUDA runtime, with their PTX.

The text need not be a file here: it is compiled in a temporary folder, with the author's headers, and `#line` gives
each its path. Compiled programs are kept on disk (disk_cache).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dsl.exceptions import OutcomeError
from dsl.launch import disk_cache, toolkit

INSTALLED = toolkit.FOLDER / "bin/nvcc"
_ERROR = re.compile(
    r"^(?P<file>[^\s(:][^(:]*)(?:\((?P<line>\d+)\)|:(?P<gcc_line>\d+):\d+): "
    r"(?:fatal |catastrophic )?error: (?P<said>.*)$"
)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_SHOWN_LINES = 20


class CompilerMissing(Exception):
    """nvcc or its host compiler is not on this machine."""


class CompileError(OutcomeError):
    """nvcc refuses the program; the text is for its author."""


@dataclass(frozen=True)
class Source:
    """A program's text. `headers`: its quoted headers, name -> path, text; `arch`: the GPU, as in sm_90a."""

    path: str
    text: str
    headers: Mapping[str, tuple[str, str]]
    options: Sequence[str]
    arch: str
    for_gpu: bool  # put machine code into it

    def key(self, compiler: Sequence[str]) -> bytes:
        """Everything that the compiled program depends on, except headers of the toolkit."""
        return json.dumps(["nvcc", list(compiler), os.stat(compiler[0]).st_mtime_ns, self.about()]).encode()

    def about(self) -> list[object]:
        """All of it, as JSON."""
        return [self.path, self.text, sorted(self.headers.items()), list(self.options), self.arch, self.for_gpu]


@dataclass(frozen=True)
class Built:
    """A compiled program: the bytes of the executable, and the PTX of its kernels."""

    program: bytes
    ptx: str

    def kernels(self) -> list[str]:
        """The names of its kernels."""
        return list(dict.fromkeys(_ENTRY.findall(self.ptx)))


def build(source: Source) -> Built:
    """The compiled program. Raises CompileError, CompilerMissing."""
    compiler = command()
    cache = None if any(one.startswith("-I") for one in source.options) else disk_cache.current()
    key = source.key(compiler)
    program, ptx = (cache.get(key + part) if cache else None for part in (b"program", b"ptx"))
    if program is None or ptx is None:
        built = _compile(source, compiler)
        if cache:
            cache.put(key + b"program", built.program)
            cache.put(key + b"ptx", built.ptx.encode())
        return built
    return Built(program, ptx.decode())


def command() -> list[str]:
    """nvcc, and the options by which it links the shared runtime: on PATH, of the toolkit, of NVIDIA's packages.
    Raises CompilerMissing."""
    found = shutil.which("nvcc") or (str(INSTALLED) if INSTALLED.exists() else None)
    if found:
        return [found, "-cudart", "shared"]
    for place in _packages():
        libraries = place.parent.parent / "lib"
        if place.exists() and (libraries / "libcudart.so.13").exists():
            return [str(place), "-cudart", "none", f"-L{libraries}", "-l:libcudart.so.13"]
    raise CompilerMissing(
        "nvcc is not on this machine, and main() of a .cu file needs it\nfix: put the toolkit's bin folder on PATH, or "
        "install `nvidia-cuda-nvcc`, `nvidia-cuda-crt`, `nvidia-nvvm` and `nvidia-cuda-runtime` with uv or pip; or run "
        'the kernels from a Python file, with `source = "kernels.cu"` in its block, which NVRTC is enough for'
    )


def _packages() -> Iterator[Path]:
    return (Path(folder, "nvidia/cu13/bin/nvcc") for folder in sys.path)


def _compile(source: Source, compiler: Sequence[str]) -> Built:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made")
        made.mkdir()
        file, program = written(source, Path(folder)), made / "program"
        about = [*_target(source), "-lineinfo", "--keep", "--keep-dir", str(made), *source.options]
        call([*compiler, *about, "-o", str(program), str(file)], source, file)
        ptx = "\n".join(path.read_text() for path in sorted(made.glob("*.ptx")))
        return Built(program.read_bytes(), ptx)


def written(source: Source, folder: Path) -> Path:
    """The file that the text is written to, with its headers."""
    for header, (path, text) in source.headers.items():
        _write(Path(folder, header), path, text)
    file = folder / Path(source.path).name
    _write(file, source.path, source.text)
    return file


def call(command: Sequence[str], source: Source, file: Path) -> None:
    """Run nvcc. Raises CompileError, CompilerMissing."""
    done = _run([*command], source.path)
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}".replace(str(file), source.path)
        raise refusal(source, said.replace(f"{file.parent / 'made'}{os.sep}", ""))


def _write(file: Path, path: str, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#line 1 {json.dumps(path)}\n{text}")


def _target(source: Source) -> list[str]:
    """PTX alone for the emulator, which needs no machine code."""
    virtual = source.arch.replace("sm_", "compute_")
    return [
        "-gencode",
        f"arch={virtual},code=[{virtual},{source.arch}]" if source.for_gpu else f"arch={virtual},code={virtual}",
    ]


def _run(command: list[str], path: str) -> subprocess.CompletedProcess[str]:
    """Run nvcc, in the folder of the file if that is here: options may name paths from there."""
    folder = os.path.dirname(path)
    here = folder if os.path.isdir(folder) else None
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, cwd=here)
    except OSError as error:
        raise CompilerMissing(f"{command[0]} cannot be run: {error.strerror}") from None


def refusal(source: Source, said: str, compiler: str = "nvcc") -> CompileError | CompilerMissing:
    """The compiler's first error at the author's line, with its caret."""
    lines = [line for line in said.splitlines() if line.strip()]
    if any("No such file or directory" in line and re.search(r"nvcc fatal|gcc|g\+\+", line) for line in lines):
        return CompilerMissing("\n".join(lines[:_SHOWN_LINES]) + "\nfix: install the host compiler g++")
    if any("undefined reference to `main'" in line for line in lines):
        said = f"{_short(source.path)}: NO_MAIN\n    it has no main(): it is not a program"
        fix = 'add main(), or run its kernels from a Python file, with source = "{}" in its block and run(ptx)'
        return _error(f"{said}\nfix: {fix.format(Path(source.path).name)}", "it has no main()", None, 0)
    at = next((n for n, line in enumerate(lines) if _ERROR.match(line)), None)
    if at is None:
        return _error(
            "\n".join([f"{compiler} refuses the program:", *lines[:_SHOWN_LINES]]), lines[0] if lines else "", None, 0
        )
    match = _ERROR.match(lines[at])
    assert match is not None
    file, line = match["file"], int(match["line"] or match["gcc_line"])
    code, column = _place(source, file, line, lines[at + 1 : at + 3])
    shown = [f"{_short(file)}:{line}:{column}: COMPILE_ERROR", f"    {code.strip()}"]
    shown.append(f"    {' ' * (column - 1 - (len(code) - len(code.lstrip())))}^ {match['said']}")
    more = sum(bool(_ERROR.match(one)) for one in lines) - 1
    shown += [f"({more} more error{'s' * (more > 1)})"] * bool(more)
    return _error("\n".join(shown), match["said"], file, line)


def _place(source: Source, file: str, line: int, after: list[str]) -> tuple[str, int]:
    """The author's line, and the column of nvcc's caret, counted from 1. nvcc shows the line with macros expanded."""
    texts = {source.path: source.text} | dict(source.headers.values())
    text = texts.get(file, "").split("\n")
    code = text[line - 1] if line <= len(text) else ""
    start = len(code) - len(code.lstrip())
    caret = next((one.index("^") for one in after if one.strip() == "^"), None)
    rest = after[0][caret:].rstrip() if caret is not None else ""
    if rest and code.rstrip().endswith(rest):
        return code, len(code.rstrip()) - len(rest) + 1
    shown = len(after[0]) - len(after[0].lstrip()) if after else 0
    return code, 1 + (start if caret is None else max(start, start + caret - shown))


def _error(text: str, message: str, file: str | None, line: int) -> CompileError:
    error = CompileError(text)
    place = {"file": file, "line": line} if file else {}
    finding = {"id": "COMPILE_ERROR", "message": message or "nvcc refuses the program", **place}
    about = {"outcome": "rejected", "text": text, "class": "CompileError", "id": "COMPILE_ERROR", "finding": finding}
    error.repro_outcome = about | place
    return error


def _short(file: str) -> str:
    path = os.path.relpath(file)
    return file if path.startswith("..") else path
