"""Build NVIDIA's cuda-samples with `nvcc -cudart shared`, run them on this project's CUDA driver and runtime, and print
the outcomes as the table of docs/driver.md.

NVIDIA/cuda-samples is not part of this repository: clone it and name its folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from dsl import driver  # noqa: E402

EXAMPLES = """\
examples:
  git clone --depth 1 https://github.com/NVIDIA/cuda-samples
  uv run python tests/upstream/cuda_samples.py cuda-samples                   all of them, about an hour
  uv run python tests/upstream/cuda_samples.py cuda-samples simpleStreams     samples with this in their names
exit status: 0 all that were built are right or refused by name, 1 some are not, 2 wrong usage
"""
GROUPS = "[0-6]_*"  # 7 needs libNVVM, 8 another platform
WAIVED = 2  # the exit status by which a sample tells that this device lacks something
GPU = "sm_90"
PTX_ONLY = "-gencode arch=compute_90,code=compute_90".split()
FLAGS = "-cudart shared -std=c++17 --extended-lambda -lineinfo -w -Xcompiler -fopenmp".split()
RIGHT, WAIVES, REFUSED, WRONG, SLOW, UNBUILT = "right", "waived", "refused", "wrong", "too slow", "not built"
OPENGL = ("-lGL", "-lGLU", "-lglut")
ARGUMENTS_FILE = "test_args.json"  # of a checkout: what its own tests pass to samples
FAILURE = re.compile(r"Result = FAIL|\bFAILED\b|[Tt]est failed|\b[Mm]ismatch")
REFUSAL = re.compile(r"gpu-repro: (?:the emulator|this CUDA runtime) does not have:? (.*?)(?:\. The calls.*)?$", re.M)
MACHINE_CODE = re.compile(r"gpu-repro: .*holds machine code of a GPU and no PTX")
UNSUPPORTED = re.compile(r"^(?:.*: )?UNSUPPORTED_PTX .*?: (.*)$", re.M)


class Sample(NamedTuple):
    """A folder of the checkout that builds one program."""

    folder: Path
    sources: list[Path]

    @property
    def name(self) -> str:
        """The group's number and the folder's name."""
        return f"{self.folder.parent.name.partition('_')[0]}/{self.folder.name}"


class Outcome(NamedTuple):
    """How a sample ended, why, and after how many seconds."""

    sample: Sample
    result: str
    cause: str
    seconds: float = 0

    def row(self) -> str:
        """The outcome as a row of a Markdown table."""
        return f"| {self.sample.name} | {self.result} | {self.cause} |"


def samples(checkout: Path, parts: Sequence[str] = ()) -> Iterator[Sample]:
    """The samples of a checkout whose names have one of `parts` in them; all if there are none."""
    for file in sorted(checkout.glob(f"Samples/{GROUPS}/*/CMakeLists.txt")):
        listed = re.search(r"add_executable\(\s*\S+\s+([^)]*)\)", file.read_text())
        if listed and any(part in file.parent.name for part in parts or [""]):
            names = [name for name in listed[1].split() if re.search(r"\.(cu|cpp|c)$", name)]
            yield Sample(file.parent, [file.parent / name for name in names])


def build(sample: Sample, folder: Path, library_folder: Path) -> str:
    """Build a sample as a program in `folder`, which is a copy of its folder; the reason if that fails."""
    common = sample.folder.parents[2] / "Common"
    paths = [f"-I{common}", f"-I{common / 'UtilNPP'}", f"-I{sample.folder}", f"-L{library_folder}", "-lcuda"]
    paths += [f"-Xcompiler=-idirafter,{each / 'include'}" for each in package_folders()]
    paths += linked(sample, library_folder)
    # nvlink needs machine code
    separate = [f"-arch={GPU}", "-rdc=true", "-lcudadevrt"] if sample.folder.name.startswith("cdp") else PTX_ONLY
    if "${CUDA_INCLUDE_DIR}/cooperative_groups.h" in (sample.folder / "CMakeLists.txt").read_text():
        copy_headers(folder)
    commands = [[*FLAGS, *separate, "-o", str(folder / folder.name), *map(str, sample.sources), *paths]]
    for kind, output, source in images(sample):
        commands.append([f"-arch={GPU}", f"-{kind}", "-w", f"-I{common}", "-o", str(folder / output), str(source)])
    for command in commands:
        done = subprocess.run(["nvcc", *command], capture_output=True, text=True)
        if done.returncode:
            return unbuilt_because(done.stdout + done.stderr)
    return ""


def copy_headers(folder: Path) -> None:
    """Copy the toolkit's headers that a sample of NVRTC includes into its folder, as its CMake file does."""
    toolkit = Path(shutil.which("nvcc") or "").resolve().parents[1] / "include"
    toolkit = next((each for each in (toolkit, Path("/usr/local/cuda/include")) if (each / "cuda.h").exists()), toolkit)
    shutil.copy(toolkit / "cooperative_groups.h", folder)
    for name in ("cooperative_groups", "cccl/nv", "cccl/cuda"):
        shutil.copytree(toolkit / name, folder / Path(name).name, dirs_exist_ok=True)


def package_folders() -> list[Path]:
    """Folders of NVIDIA's packages of this environment, with headers and libraries that the toolkit may lack."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(each, "cu13") for each in (spec.submodule_search_locations or [] if spec else [])]


def linked(sample: Sample, library_folder: Path) -> list[str]:
    """The options that link a sample with the libraries that its CMake file names."""
    text = (sample.folder / "CMakeLists.txt").read_text()
    options = [*OPENGL] if re.search(r"find_package\((?:OpenGL|GLUT)", text) else []
    for name in dict.fromkeys(re.findall(r"CUDA::(\w+)", text)):
        if name in ("cuda_driver", "cudart"):
            continue
        folders = [library_folder, *(each / "lib" for each in package_folders())]
        found = [file for folder in folders for file in sorted(folder.glob(f"lib{name}.so*"))]
        options.append(f"-Xlinker={found[0]}" if found else f"-l{name}")
    return options


def arguments_of(sample: Sample) -> list[list[str]]:
    """The arguments of each run of a sample, as the checkout's own tests have them."""
    file = sample.folder.parents[2] / ARGUMENTS_FILE
    known = json.loads(file.read_text()).get(sample.folder.name, {}) if file.exists() else {}
    return [each.get("args", []) for each in known.get("runs", [known])]


def images(sample: Sample) -> Iterator[tuple[str, str, Path]]:
    """The images that a sample loads by itself: kind, name and source."""
    text = (sample.folder / "CMakeLists.txt").read_text()
    source = re.search(r"set\(CUDA_KERNEL_SOURCE\s+\"\$\{CMAKE_CURRENT_SOURCE_DIR\}/(\S+?)\"", text)
    for kind, name in re.findall(r"set\(CUDA_(FATBIN|PTX)_FILE\s+\"\S*?([\w.]+)\"", text):
        if source:
            yield kind.lower(), name, sample.folder / source[1]


def unbuilt_because(text: str) -> str:
    """The reason why a compiler stopped, in a few words."""
    for pattern, reason in (
        (r"fatal error: (\S+): No such file", "{} is not installed"),
        (r"cannot find -l(\w+)", "lib{} is not installed"),
        (r"undefined reference to `gl", "OpenGL is not installed"),
        (r"undefined reference to `(\w+)", "{} is not linked"),
        (r"error: (.*)", "{}"),
    ):
        if hit := re.search(pattern, text):
            return reason.format(*(part.replace("|", " ") for part in hit.groups()))
    return text.strip().splitlines()[-1] if text.strip() else "no message"


def run(sample: Sample, folder: Path, library_folder: Path, timeout: float) -> Outcome:
    """Run the sample that was built in `folder`, where its data files are too, with each of its arguments."""
    paths = [library_folder, *(each / "lib" for each in package_folders())]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, paths))}
    start = time.monotonic()
    for arguments in arguments_of(sample):
        try:
            done = subprocess.run(
                [str(folder / folder.name), *arguments],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=start + timeout - time.monotonic(),
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Outcome(sample, SLOW, f"not done in {timeout:g} s", timeout)
        text = (done.stdout + done.stderr).decode(errors="replace")
        result, cause = judged(done.returncode, text)
        if result != RIGHT:
            break
    return Outcome(sample, result, cause, time.monotonic() - start)


def judged(status: int, text: str) -> tuple[str, str]:
    """The result and its cause, by the exit status and what a sample printed."""
    failure = FAILURE.search(text)
    if status == 0 and not failure:
        return RIGHT, ""
    if refusal := REFUSAL.search(text):
        return REFUSED, f"`{refusal[1]}` is missing"
    if refusal := UNSUPPORTED.search(text):
        return REFUSED, refusal[1].replace("|", " ")
    if MACHINE_CODE.search(text):
        return REFUSED, "machine code of a library, without PTX"
    if status == WAIVED:
        return WAIVES, last_line(text)
    if status < 0:
        return WRONG, f"ended by signal {-status}: {last_line(text)}"
    return WRONG, last_line(next((line for line in text.splitlines() if FAILURE.search(line)), text))


def last_line(text: str) -> str:
    """The last line with a word in it, short and fit for a table."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    return lines[-1].replace("|", " ")[:100] if lines else "no output"


def outcome_of(sample: Sample, folder: Path, library_folder: Path, timeout: float) -> Outcome:
    """Build and run a sample in a copy of its folder."""
    copy = folder / sample.folder.name
    shutil.copytree(sample.folder, copy)
    reason = build(sample, copy, library_folder)
    outcome = Outcome(sample, UNBUILT, reason) if reason else run(sample, copy, library_folder, timeout)
    print(
        f"{outcome.sample.name}: {outcome.result} {outcome.cause} {outcome.seconds:.0f} s", file=sys.stderr, flush=True
    )
    return outcome


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a Markdown table, with a line of counts before it."""
    counts = {
        kind: sum(each.result == kind for each in outcomes) for kind in dict.fromkeys(each.result for each in outcomes)
    }
    total = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items(), key=lambda each: -each[1]))
    return "\n".join(
        [
            f"{len(outcomes)} samples: {total}.",
            "",
            "| sample | result | cause |",
            "|---|---|---|",
            *(each.row() for each in outcomes),
        ]
    )


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="folder of a clone of NVIDIA/cuda-samples")
    parser.add_argument("part", nargs="*", help="run samples with one of these in their names")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="stop a sample after S seconds")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="build and run N samples at a time")
    arguments = parser.parse_args()
    chosen = list(samples(arguments.checkout.resolve(), arguments.part))
    if not chosen:
        parser.error(f"{arguments.checkout} has no sample with {' or '.join(arguments.part)!r} in its name")
    if not shutil.which("nvcc"):
        parser.error("nvcc is not installed")
    library_folder = driver.library_folder()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(
            pool.map(lambda each: outcome_of(each, Path(folder), library_folder, arguments.timeout), chosen)
        )
    print(table(outcomes))
    return any(each.result in (WRONG, SLOW) for each in outcomes)


if __name__ == "__main__":
    sys.exit(main())
