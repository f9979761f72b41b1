"""Control-flow fuzzing: programs that hypothesis makes, compiled and run, against CPython with numpy scalars.

    python tests/fuzz/run.py --programs 20000 --seed 1      until 5 failures, with a progress line
    python tests/fuzz/run.py FILE ...                        check programs again, as repros

A failure is shrunk and written into the folder `--repros`. docs/fuzzing.md.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import reference  # noqa: E402
from programs import programs  # noqa: E402

CHUNK = 240  # programs a worker draws from one seed
BATCH = 12  # programs compiled into one module
LIMIT_S = 180  # of a batch; past it, it hangs
SHRINK_S = 60
Failure = tuple[str, str]


def draw(number: int, count: int, see: Callable[[str], None], portable: bool = False, shrink: bool = False) -> None:
    """Give `see` the texts of `count` programs; the same for the same `number`. Where `see` raises, that is shrunk."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(portable=portable))
    def each(text):
        see(text)

    each()


def write(text: str, folder: str) -> Path:
    path = Path(folder) / f"program_{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
    path.write_text(text)
    return path


def work(number: int, count: int, portable: bool, say: Connection) -> None:
    """Draw a chunk in a worker and check it batch by batch: send each batch before and its failures after."""
    from compiled import check

    texts: dict[str, None] = {}
    draw(number, count, lambda text: texts.setdefault(text), portable)
    kept = list(texts)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for start in range(0, len(kept), BATCH):
            batch = kept[start : start + BATCH]
            say.send(("batch", number, batch))
            found = check([write(text, folder) for text in batch])
            say.send(("done", number, [text for text, failure in zip(batch, found) if failure]))
    say.send(("end", number, []))


class Checker:
    """A process that checks one program after another; after an abort or a hang a new one takes its place."""

    def __init__(self):
        self.process, self.limit_s = None, LIMIT_S

    def __call__(self, text: str) -> Failure | None:
        if self.process is None:
            self.process, self.answer = start(self.serve, ask := multiprocessing.Pipe())
            self.ask = ask[1]
        self.ask.send(text)
        try:
            if self.answer.poll(self.limit_s):
                return self.answer.recv()
            failure = ("hang", f"no result after {self.limit_s} s")
        except EOFError:
            self.process.join()
            failure = (f"abort {self.process.exitcode}", f"the process ended with {self.process.exitcode}")
        self.end()
        return failure

    @staticmethod
    def serve(ask: tuple[Connection, Connection], say: Connection) -> None:
        from compiled import check

        ask[1].close()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with contextlib.suppress(EOFError), tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            while True:
                say.send(check([write(ask[0].recv(), folder)])[0])

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


alone = Checker()


def opinion(text: str) -> Failure | None:
    """How NVIDIA's compiler differs about a program: ("nvidia differs" or "nvidia refuses", detail), or None."""
    import second_opinion
    from compiled import difference
    from programs import THREADS

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        said = second_opinion.run("nvidia", Path(__file__).with_name("on_host.py"), [str(write(text, folder))])
    if said.status or not said.output.startswith("{"):
        return "nvidia refuses", said.errors[-600:]
    got = json.loads(said.output)
    text = difference(reference.run(text, THREADS), (np.array(got["ints"]), np.array(got["floats"], np.float64)))
    return ("nvidia differs", text) if text else None


def start(target: Callable, *arguments) -> tuple[multiprocessing.Process, Connection]:
    """A forked process and the end to read its answers from."""
    answer, say = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=target, args=(*arguments, say), daemon=True)
    process.start()
    say.close()
    return process, answer


class Run:
    """A run of the command: workers, counts and failures."""

    def __init__(self, options):
        self.options, self.started = options, time.monotonic()
        self.clean, self.accepted, self.failures = 0, 0, []
        self.counts: dict[int, int] = {}  # how many programs were drawn from a number
        self.numbers = iter(range(options.seed * 1_000_000, 1 << 62))
        self.running: dict[Connection, list] = {}  # answer: [process, number, batch, since]

    def all(self) -> None:
        try:
            while not self.finished():
                while len(self.running) < self.options.workers and self.remaining() > 0:
                    number, count = next(self.numbers), min(CHUNK, max(self.remaining() * 3 // 2, 20))
                    self.counts[number] = count
                    process, answer = start(work, number, count, bool(self.options.also))
                    self.running[answer] = [process, number, [], time.monotonic()]
                if not self.running:
                    break
                for answer in wait(list(self.running), timeout=5):
                    self.hear(answer)
                self.watch()
                self.progress()
        finally:
            alone.end()
            for process, *_ in self.running.values():
                process.kill()
                process.join()

    def finished(self) -> bool:
        return self.clean >= self.options.programs or len(self.failures) >= self.options.failures

    def remaining(self) -> int:
        return self.options.programs - self.clean

    def hear(self, answer: Connection) -> None:
        entry = self.running[answer]
        try:
            what, number, texts = answer.recv()
        except EOFError:
            self.lost(answer)
            return
        entry[3] = time.monotonic()
        if what == "batch":
            entry[2] = texts
        elif what == "done":
            self.clean += len(entry[2]) - len(texts)
            if self.options.also:
                self.ask_nvidia(number, [text for text in entry[2] if text not in texts])
            entry[2] = []
            self.suspect(number, texts)
        else:
            entry[0].join()
            del self.running[answer]

    def watch(self) -> None:
        for answer, (_, _, _, since) in list(self.running.items()):
            if time.monotonic() - since > LIMIT_S:
                self.lost(answer)

    def lost(self, answer: Connection) -> None:
        """A worker died or hangs: each program of its batch is a suspect. The rest of its chunk is not counted."""
        process, number, batch, _ = self.running.pop(answer)
        process.kill()
        process.join()
        if not batch:
            print(f"\na worker ended with {process.exitcode} while it drew programs (number {number})")
        self.suspect(number, batch)

    def suspect(self, number: int, texts: list[str]) -> None:
        for text in texts:
            failure = alone(text)
            if failure is None:
                self.clean += 1
            elif len(self.failures) < self.options.failures and failure[0] not in self.options.ignore:
                self.failures.append(failure)
                self.report(number, text, failure)
        for entry in self.running.values():
            entry[3] = time.monotonic()

    def ask_nvidia(self, number: int, texts: list[str]) -> None:
        """Run clean programs on the host under NVIDIA's compiler; one that it accepts has the same results."""
        for text in texts:
            failure = opinion(text)
            if failure is None:
                self.accepted += 1
            elif failure[0] == "nvidia differs" and len(self.failures) < self.options.failures:
                self.failures.append(failure)
                print(f"\n{failure[0]}: {failure[1]}\n    written: {self.keep(text, failure)}", flush=True)

    def keep(self, text: str, failure: Failure) -> Path:
        self.options.repros.mkdir(parents=True, exist_ok=True)
        return write(f'"""{failure[0]}: {failure[1]}"""\n{text}', str(self.options.repros))

    def report(self, number: int, text: str, failure: Failure) -> None:
        print(f"\n{failure[0]}: {failure[1][:600]}", flush=True)
        small = (
            text
            if self.options.no_shrink
            else shrunk(number, self.counts[number], text, failure, bool(self.options.also))
        )
        print(f"    written: {self.keep(small, alone(small) or failure)}", flush=True)

    def progress(self) -> None:
        seconds = time.monotonic() - self.started
        end = "\r" if sys.stdout.isatty() else "\n"
        if end == "\r" or seconds - getattr(self, "said", -60) >= 20:
            self.said = seconds
            print(
                f"{self.clean} of {self.options.programs} programs clean{self.others()}, "
                f"{len(self.failures)} failures, {seconds:.0f} s, {self.clean / seconds:.1f} a second",
                end=end,
                flush=True,
            )

    def others(self) -> str:
        return f", {self.accepted} of them under nvidia-cutlass-dsl too" if self.options.also else ""


def shrunk(number: int, count: int, text: str, failure: Failure, portable: bool) -> str:
    """The smallest program found that fails alike: hypothesis draws the chunk again, and shrinks from `text` on."""
    smallest, deadline, found = text, time.monotonic() + SHRINK_S, False

    def see(candidate: str) -> None:
        nonlocal smallest, found
        found = found or candidate == text
        if not found or (time.monotonic() > deadline and candidate != smallest):
            return
        again = failure if candidate in (text, smallest) else alone(candidate)
        if again is not None and again[0] == failure[0]:
            smallest = candidate
            raise AssertionError

    sys.stdout.flush()
    quiet, kept = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    os.dup2(quiet, 1)
    try:
        draw(number, count, see, portable, shrink=True)
    except AssertionError:
        pass
    except Exception as error:  # hypothesis calls a failure that time decides flaky
        if "Flaky" not in type(error).__name__:
            raise
    finally:
        os.dup2(kept, 1)
    return smallest


def options_of(arguments: list[str]):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="programs to check again")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--failures", type=int, default=5, help="stop after this many")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds after which a program alone hangs")
    parser.add_argument("--repros", type=Path, default=Path("fuzz-repros"))
    parser.add_argument(
        "--also", choices=["nvidia"], help="draw what nvidia-cutlass-dsl accepts, and run it there too, on the host"
    )
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--ignore", action="append", default=[], help="a kind of failure that is not counted")
    return parser.parse_args(arguments)


def prepare() -> None:
    """Import what the forks need, once."""
    os.environ["GPU_REPRO_CACHE"] = "0"  # no program comes twice
    import torch

    torch.set_num_threads(1)  # an OpenMP pool does not survive a fork
    from dsl import alias

    alias.install("emulator")
    import compiled  # noqa: F401

    alias.warm()
    gc.freeze()  # what is imported is never garbage
    gc.set_threshold(50_000)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    prepare()
    alone.limit_s = options.limit
    if options.files:
        found = {str(path): alone(path.read_text()) for path in options.files}
        alone.end()
        for path, failure in found.items():
            print(f"{path}: {': '.join(failure) if failure else 'clean'}")
        return any(found.values())
    run = Run(options)
    try:
        run.all()
    except KeyboardInterrupt:
        print("\nstopped")
    seconds = time.monotonic() - run.started
    print(
        f"\n{run.clean} programs clean{run.others()}, {len(run.failures)} failures, {seconds:.0f} s, "
        f"{run.clean / seconds:.1f} a second"
    )
    return bool(run.failures)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
