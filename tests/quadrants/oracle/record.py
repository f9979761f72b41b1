"""Runs the programs under cases/ with the package that `import quadrants` finds, and prints what each did as JSON.

    python tests/quadrants/oracle/record.py > tests/quadrants/oracle/record.json      quadrants: records the table
    python -m dsl tests/quadrants/oracle/record.py                                    this compiler

A case is a function of a file of cases/ without an underscore; its name is `file.function`. The record keeps the
value it returns, with its type and every bit; or the class of what it raises, with its bases and the sentence of the
message; and the text it prints. The cases run in a fork, each after `qd.init(arch=qd.cpu)` with the options of the
last `@options(...)`; one that ends the fork is recorded as a crash, and the others go on in another fork.
"""

import contextlib
import ctypes
import importlib
import itertools
import json
import math
import os
import re
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
HERE = Path(__file__).resolve().parent
LIMIT_S = 300
STEP = re.compile(r""".*File "|Traceback|\s|\^|On line|={3,}|-{3,}|exception while|In function|\S+: \w+$|$""")


def cases(only=()):
    """Every case as (name, function); cases with equal options are together."""
    found = []
    for file in sorted((HERE / "cases").glob("[a-z]*.py")):
        module = importlib.import_module(f"cases.{file.stem}")
        found += [
            (f"{file.stem}.{name}", function)
            for name, function in vars(module).items()
            if name[0] != "_" and callable(function) and getattr(function, "__module__", "") == module.__name__
        ]
    found = [row for row in found if not only or row[0] in only or row[0].partition(".")[0] in only]
    return sorted(found, key=lambda row: (repr(getattr(row[1], "options", {})), row[0]))


def plain(value):
    """A value as JSON, with its type: an integer and a string as they are, other things as {type: value}."""
    if value is None or type(value) in (int, str):
        return value
    if type(value) in (bool, float):
        return {type(value).__name__: value if math.isfinite(value) else str(value)}
    if isinstance(value, np.ndarray):
        flat = [plain(item)["float"] if isinstance(item, float) else int(item) for item in value.ravel().tolist()]
        return {f"{value.dtype}{list(value.shape)}": flat}
    if isinstance(value, np.generic):
        return {str(value.dtype): plain(value.item())}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": {str(key): plain(item) for key, item in value.items()}}
    return {type(value).__name__: re.sub(r" at 0x\w+", "", str(value))}


def sentence(error):
    """The first line of a message, after the author's call, that is not a line of a trace; numbers of names as N."""
    lines = [re.sub(r"^\s*\^+ ", "", line) for line in str(error).rpartition("Your code:")[2].splitlines()]
    kept = next((line.strip() for line in lines if not STEP.match(line)), "")
    return re.sub(r"\$\d+|(?<=_c)\d+_\d+|(?<=\(S)\d+", "N", re.sub(r" at 0x\w+", "", kept))[:300]


def run(function, scratch):
    """Run one case and return its row."""
    import quadrants as qd

    row = {}
    scratch.seek(0)
    scratch.truncate()
    with printed_into(scratch):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row["value"] = plain(function())
                qd.sync()
        except Exception as error:
            if "ORACLE_SHOW" in os.environ:
                traceback.print_exc(file=sys.stderr)
            bases = [base.__name__ for base in type(error).__mro__[1:-1]]
            row = {"raises": type(error).__name__, "bases": bases[: bases.index("Exception")], "says": sentence(error)}
    scratch.seek(0)
    text = scratch.read().decode("utf-8", "replace")
    kept = "".join(line for line in text.splitlines(True) if not re.match(r"\[(Quadrants|[WEITD])\b", line))
    if kept and "value" in row:
        row["prints"] = kept
    return row


@contextlib.contextmanager
def printed_into(file):
    """Everything written to stdout, by Python or by C, goes to a file."""
    libc = ctypes.CDLL(None)
    kept = os.dup(1)
    sys.stdout.flush()
    os.dup2(file.fileno(), 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        libc.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def in_fork(rows, results):
    """Run cases until one ends this process; a line before and a line after each."""
    import quadrants as qd

    with tempfile.TemporaryFile() as scratch, open(results, "a", buffering=1) as out:
        for options, group in itertools.groupby(rows, lambda row: getattr(row[1], "options", {})):
            with printed_into(scratch):
                qd.init(**{"arch": qd.cpu, "offline_cache": False} | options)
            for name, function in group:
                print(json.dumps(name), file=out)
                signal.alarm(LIMIT_S)
                print(json.dumps(run(function, scratch)), file=out)
                signal.alarm(0)


def table(only=()):
    """The row of every case: {name: row}."""
    rows, found = cases(only), {}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        while rows:
            results.write_text("")
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                status = 70
                try:
                    if "ORACLE_SHOW" not in os.environ:
                        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                    in_fork(rows, results)
                    status = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            lines = [json.loads(line) for line in results.read_text().splitlines()]
            if not lines:
                raise RuntimeError(f"no case began: the process ended with {ended}")
            found |= dict(zip(lines[::2], lines[1::2]))
            if len(lines) % 2:
                found[lines[-1]] = {"crash": True}
            rows = [row for row in rows if row[0] not in found]
    return found


def main():
    with tempfile.TemporaryFile() as scratch, printed_into(scratch):  # quadrants greets who imports it
        import quadrants as qd
    version = qd.__version__
    version = version if isinstance(version, str) else ".".join(map(str, version))
    found = dict(sorted(table(sys.argv[1:]).items()))
    print("{" + f'"package": {json.dumps(qd.__name__)}, "version": {json.dumps(version)},\n"cases": {{')
    print(",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items()) + "}}")


if __name__ == "__main__":
    main()
