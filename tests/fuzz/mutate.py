"""Wrong programs: accepted ones with an author's mistakes, each run in its own process.

    python tests/fuzz/mutate.py --mutants 5000 --seed 1      a progress line, and what went wrong by kind
    python tests/fuzz/mutate.py FILE ...                     run programs again, as repros

A mutant runs to its end, or ends in an error that names the author's line with carets and a fix, or in Python's own
exception at the author's line. Everything else is a failure: a fault of the compiler, its frames or IR in a text, an
abort, a hang. The first of each kind is written into the folder `--repros`. docs/fuzzing.md.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import json
import multiprocessing.connection
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import mutations  # noqa: E402

ROOT = Path(__file__).parents[2]
LIMIT_S = 20
MEMORY_BYTES = 24 << 30
Outcome = tuple[str, str]  # kind, text

# Whole programs to make mistakes in, in addition to the repros; `fuzz` means generated ones.
PROGRAMS = [
    "tests/cutlass/frontend_program.py",
    "tests/cutlass/host_program.py",
    "tests/tile/memory/struct_program.py",
    "tests/tile/copy/partition_program.py",
    "tests/tile/mma/mma_program.py",
    "tests/cutlass/cute/scalar_program.py",
]
CALL = """
_inputs = np.array(INPUTS, np.int32)
_outputs = [np.zeros(128, np.int64), np.zeros(128, np.float64)]
@cute.jit
def _host(inputs: cute.Tensor, ints: cute.Tensor, floats: cute.Tensor):
    kernel(inputs, ints, floats).launch(grid=1, block=4)
def run():
    _host(from_dlpack(_inputs), from_dlpack(_outputs[0]), from_dlpack(_outputs[1]))
"""


def sources() -> list[str]:
    """The programs that mutants are made of."""
    found = []
    for path in sorted(ROOT.glob("repros/**/*.py")):
        text = path.read_text()
        if not re.search(r"^import (quadrants|tvm)|^from (quadrants|tvm)", text, re.MULTILINE):
            found.append(text)
    return found + [(ROOT / name).read_text() for name in PROGRAMS if (ROOT / name).exists()]


def generated(seed: int, count: int) -> list[str]:
    from run import draw

    texts: list[str] = []
    draw(seed, count, texts.append)
    return [mutations.IMPORTS + text + CALL for text in texts]


# --- in the mutant's process -----------------------------------------------------------------------------------------


def run_alone(text: str, folder: str, answer: int) -> None:
    """Run the mutant, and write its outcome as JSON."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no longer than its worker
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    os.chdir(folder)
    errors = os.open("stderr", os.O_WRONLY | os.O_CREAT)
    for file in (1, 2):
        os.dup2(errors, file)
    path = Path("mutant.py")
    path.write_text(text)
    kind, words = "clean", ""
    try:
        execute(str(path), text)
    except SystemExit:
        pass
    except BaseException as error:
        kind, words = judged(error)
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    os.write(answer, json.dumps([kind, words[:20000]]).encode())
    os._exit(0)


def execute(file: str, text: str) -> None:
    """Like `python -m dsl FILE`."""
    import linecache
    import types

    from dsl.core.syntax.function_source import executed_texts_kept

    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = file
    code = compile(text, file, "exec", dont_inherit=True)
    with executed_texts_kept():
        exec(code, module.__dict__)
        if callable(getattr(module, "run", None)) and "__name__" not in text:
            parameters = mutations.parameters(module.run)
            module.run(**parameters)


_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_IR = re.compile(
    r"%\d+ = |!llvm\.|llvm\.\w+\(|\bbuiltin\.|\bscf\.\w|\barith\.\w|\bi64\)|#loc|"
    r"MLIRError|LLVM ERROR|LLVM IR|addrspace"
)
_PLACED = re.compile(r"^(mutant\.py|<text at .*>):(\d+):(\d+): (\w+)\n.*\^+ ?\S.*", re.DOTALL)


def judged(error: BaseException) -> Outcome:
    """The kind of an end, and its text. Kinds that begin with `!` are failures."""
    import traceback as tracebacks

    from dsl.__main__ import _failure

    try:
        words = _failure(error, False)
        shown = "".join(tracebacks.format_exception(error))
    except BaseException as second:
        return f"!text of {type(error).__name__}: {type(second).__name__}", "".join(tracebacks.format_exception(second))
    name = type(error).__name__
    if faults:
        inner = tracebacks.extract_tb(faults[-1].__traceback__)
        place = next((frame for frame in reversed(inner) if "/dsl/" in frame.filename), inner[-1])
        return (
            f"!fault {type(faults[-1]).__name__} {place.filename.rpartition('/dsl/')[2]}:{place.name}",
            words + "\n" + "".join(tracebacks.format_exception(faults[-1])),
        )
    if "/dsl/" in shown and not in_plain_python(error):
        frames = [f"{file.rpartition('/dsl/')[2]}:{line}" for file, line in _FRAME.findall(shown) if "/dsl/" in file]
        return f"!frames {name} {frames[-1:]}", shown
    if _IR.search(shown):
        return f"!ir {name} {_IR.search(shown)[0]}", shown
    from dsl.core.errors import DSLUserCodeError
    from dsl.exceptions import outcome_of

    if isinstance(error, DSLUserCodeError):
        if not _PLACED.match(words):
            return f"!place {name} {error.id} {error.message[:40]}", words
        if "\nfix: " not in words and "_Raised" not in str(type(error).__mro__):
            return f"!fix {name} {error.id} {error.message[:40]}", words
        return f"{name} {error.id}", words
    if outcome_of(error) is not None:
        return f"outcome {name}", words
    if '"mutant.py"' not in shown and not isinstance(error, SyntaxError):
        return f"!nowhere {name}", shown
    return f"python {name}", shown


def in_plain_python(error: BaseException) -> bool:
    """Whether a function was called where nothing is traced: there is no boundary that could take its frames away."""
    import traceback as tracebacks

    frames = tracebacks.extract_tb(error.__traceback__)
    ours = next((k for k, frame in enumerate(frames) if "/dsl/" in frame.filename), len(frames))
    return all("/dsl/" in frame.filename for frame in frames[ours:])


faults: list[BaseException] = []  # the cause of each CompilerFault of this process


def prepare() -> None:
    """Import what the forks need, once."""
    import run

    run.prepare()
    os.environ["GPU_REPRO_CACHE"] = "1"
    import pickle  # noqa: F401
    import random as _random  # noqa: F401

    from dsl.core.diagnosis import author_traceback

    original = author_traceback._fault

    def fault(error, message):
        faults.append(error)
        return original(error, message)

    author_traceback._fault = fault


# --- around it -------------------------------------------------------------------------------------------------------


def outcome(text: str, limit_s: float) -> Outcome:
    """Fork, run, and judge what is left."""
    folder = tempfile.mkdtemp(prefix="mutant-")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            run_alone(text, folder, write)
        except BaseException:
            os.write(write, json.dumps(["!runner", traceback.format_exc()]).encode())
        finally:
            os._exit(1)
    os.close(write)
    try:
        return _hear(pid, read, folder, limit_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def _hear(pid: int, read: int, folder: str, limit_s: float) -> Outcome:
    """Past its limit a mutant is stopped as by Ctrl-C: a loop of the author's own ends in
    KeyboardInterrupt at its line."""
    from select import select

    said, stopped = b"", 0
    while True:
        ready, _, _ = select([read], [], [], limit_s if not stopped else 20)
        if ready:
            part = os.read(read, 1 << 16)
            said += part
            if not part:
                break
        elif not stopped:
            stopped = 1
            os.kill(pid, signal.SIGINT)
        else:
            os.kill(pid, signal.SIGKILL)
            break
    os.close(read)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    errors = Path(folder, "stderr")
    words = errors.read_bytes()[-3000:].decode(errors="replace") if errors.exists() else ""
    if not said:
        return ("!hang", words) if stopped else (f"!died {code}", words)
    kind, text = json.loads(said)
    if stopped:
        return (f"endless {kind}" if "KeyboardInterrupt" in kind else f"!slow {kind}"), text
    if "/dsl/" in words and "Traceback" in words:
        return "!printed", words
    return (kind, text) if kind else ("!silent", words)


def work(numbers: list[int], bases: list[str], limit_s: float, say) -> None:
    for number in numbers:
        base = random.Random(number).choice(bases)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = mutations.mutant(base, number)
        except SyntaxError:
            continue
        say.send((number, text, outcome(text, limit_s)))
    say.close()


class Search:
    """A run of the command: workers, and how many mutants ended how."""

    def __init__(self, options):
        self.options, self.started = options, time.monotonic()
        self.kinds: collections.Counter = collections.Counter()
        self.first: dict[str, Path] = {}  # of each kind of failure

    def all(self) -> None:
        bases = [path.read_text() for path in self.options.programs] if self.options.programs else sources()
        bases += generated(self.options.seed, 40) if self.options.generated else []
        numbers = [self.options.seed * 1_000_000 + k for k in range(self.options.mutants)]
        running = {}
        for share in range(self.options.workers):
            answer, say = multiprocessing.Pipe(duplex=False)
            running[answer] = multiprocessing.get_context("fork").Process(
                target=work, args=(numbers[share :: self.options.workers], bases, self.options.limit, say)
            )
            running[answer].start()
            say.close()
        try:
            self.gather(dict(running))
        finally:
            for process in running.values():
                process.kill()
                process.join()

    def gather(self, running: dict) -> None:
        said = -60.0
        while running:
            for answer in multiprocessing.connection.wait(list(running), timeout=5):
                try:
                    self.count(*answer.recv())
                except EOFError:
                    del running[answer]
            if time.monotonic() - said > 30:
                said = time.monotonic()
                print(
                    f"{self.kinds.total()} of {self.options.mutants} mutants, {self.failures} failures, "
                    f"{said - self.started:.0f} s",
                    flush=True,
                )

    def count(self, number: int, text: str, end: Outcome) -> None:
        kind, words = end
        self.kinds[kind] += 1
        if self.options.texts:
            with self.options.texts.open("a") as file:
                file.write(json.dumps([number, kind, words]) + "\n")
        if kind.startswith("!") and kind not in self.first:
            self.first[kind] = keep(self.options.repros, number, text, kind, words)
            print(f"{kind}: {self.first[kind]}", flush=True)

    @property
    def failures(self) -> int:
        return sum(count for kind, count in self.kinds.items() if kind.startswith("!"))

    def summary(self) -> str:
        """How many mutants ended how, the commonest first."""
        groups = collections.Counter()
        for kind, count in self.kinds.items():
            own = kind[0] == "!" or kind.split()[0] in ("clean", "python", "outcome", "endless")
            groups[kind if own else "refused at the author's line, with a fix"] += count
        return "\n".join(
            [
                *(f"{count:6} {kind}" for kind, count in groups.most_common()),
                f"{self.kinds.total()} mutants, {self.failures} failures, {time.monotonic() - self.started:.0f} s",
            ]
        )


def keep(folder: Path, number: int, text: str, kind: str, words: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"mutant_{number}.py"
    path.write_text(text)
    path.with_suffix(".txt").write_text(f"{kind}\n{words}")
    return path


def options_of(arguments: list[str]):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="programs to run again")
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds after which a mutant is stopped")
    parser.add_argument("--repros", type=Path, default=Path("fuzz-repros"))
    parser.add_argument("--texts", type=Path, help="write every outcome there, a line of JSON each")
    parser.add_argument(
        "--programs", type=Path, nargs="+", help="make mistakes in these, in place of the repros and others"
    )
    parser.add_argument("--generated", action="store_true", help="make mistakes in programs of run.py too")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as cache:
        os.environ["GPU_REPRO_CACHE_DIR"] = cache
        prepare()
        if not options.files:
            run = Search(options)
            try:
                run.all()
            except KeyboardInterrupt:
                print("stopped")
            print(run.summary())
            return bool(run.failures)
        failed = 0
        for path in options.files:
            kind, words = outcome(path.read_text(), options.limit)
            failed += kind.startswith("!")
            print(f"{path}: {kind}\n{words}")
        return bool(failed)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
