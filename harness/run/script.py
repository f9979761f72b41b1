"""A program run as `python FILE ARGS` runs it: as `__main__`, with its arguments, its streams and its exit status.

It runs next to the repro (standard library only). The program's text comes with the job; so do modules of the author
that its imports name, if the job runs on another machine than the machine of the file.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import os
import random
import sys
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any

STDIN = "<stdin>"  # the path of a program that was read from standard input
INTERRUPTED = 130


class _Shipped(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports modules whose text came with the job, under the paths that they have at home."""

    def __init__(self, modules: Mapping[str, tuple[str, str]]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.modules:
            return None
        file = self.modules[fullname][0]
        spec = importlib.util.spec_from_loader(
            fullname, self, origin=file, is_package=os.path.basename(file) == "__init__.py"
        )
        if spec is not None:
            spec.has_location = True
        return spec

    def get_source(self, fullname: str) -> str:
        return self.modules[fullname][1]

    def exec_module(self, module: types.ModuleType) -> None:
        path, source = self.modules[module.__name__]
        remember(path, source)
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def remember(path: str, source: str) -> None:
    """Keep a text for inspect and tracebacks, whether there is such a file here or not."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


def run(job: dict[str, Any], check: Callable[[], None], fail: Callable[[BaseException], str]) -> int:
    """Run the program to its end, exit handlers included; its exit status.

    `check` raises what a kernel did that the program did not let through. `fail` takes the error that left the
    program, and gives the text for its author.
    """
    status = _execute(job, check, fail)
    try:
        # As Python does: threads first, then exit handlers.
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue] - what Python itself calls
        atexit._run_exitfuncs()
    except BaseException as error:
        print(fail(error).rstrip(), file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or 120  # as Python reports that its output could not be written
    return status


def _execute(job: dict[str, Any], check: Callable[[], None], fail: Callable[[BaseException], str]) -> int:
    path, source = job["path"], job["source"]
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # pyright: ignore[reportAttributeAccessIssue] - text files
    module = types.ModuleType("__main__")
    if path == STDIN:
        sys.argv, sys.path[0:0] = ["-", *job["args"]], [""]
    else:
        module.__file__ = path
        here = job["modules"] is None
        sys.argv, sys.path[0:0] = [path, *job["args"]], [os.path.dirname(path) if here else ""]
    sys.modules["__main__"] = module
    sys.meta_path.append(_Shipped({name: tuple(about) for name, about in (job["modules"] or {}).items()}))
    remember(path, source)
    if not job["seed"]:
        random.seed()  # a fork has its parent's numbers
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(None)
    status = 0
    try:
        try:
            exec(compile(job["program"], path, "exec", dont_inherit=True), module.__dict__)
        except SystemExit as leaving:
            status = _status(leaving)
        check()
    except BaseException as error:
        print(end="", flush=True)
        print(fail(error).rstrip(), file=sys.stderr)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else status or 1
    return status


def _status(leaving: SystemExit) -> int:
    """The status of `sys.exit(code)`; a code that is not a number is a message."""
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(end="", flush=True)
    print(leaving.code, file=sys.stderr)
    return 1
