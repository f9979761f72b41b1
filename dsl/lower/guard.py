"""Run work that may abort the process in a forked child, so that an abort is a report.

LLVM aborts where it lacks a selection pattern, MLIR where it cannot translate. A fork for every compile costs 35 to
50 ms in a process that has torch loaded (measured: 16 fork and exit, the rest copied pages), a child that stays costs
that once and then 5 ms a compile. So there is one child a process: started by the first compile that needs it
(machine_code.is_plain), ended by the end of its parent, started again after a crash.
"""

from __future__ import annotations

import ctypes
import faulthandler
import fcntl
import os
import pickle
import resource
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable
from typing import Any

from dsl.exceptions import ToolFailure

_PR_SET_PDEATHSIG = 1


class LoweringCrash(ToolFailure):
    """The compiler aborted: what it was compiling, the signal, and the last words on its stderr."""

    def __init__(self, subject: str, signal_name: str, words: str):
        super().__init__(subject, signal_name, words)
        self.subject, self.signal_name, self.words = subject, signal_name, words
        self.problem = f"ends LLVM with {signal_name}"

    def __str__(self) -> str:
        return f"the compiler died of {self.signal_name} while compiling {self.subject}\n{self.words}".rstrip()


def _pipe() -> tuple[int, int]:
    """A pipe that takes no place of standard input, output or error where one of them is closed."""
    low_ends = os.pipe()
    reader, writer = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in low_ends)
    for end in low_ends:
        os.close(end)
    return reader, writer


class _Child:
    """A forked process that answers (function, arguments, spends) with (failed, value or exception, spent)."""

    def __init__(self):
        (request_reader, request_writer), (reply_reader, reply_writer) = _pipe(), _pipe()
        self.words = tempfile.TemporaryFile()
        outlives_no_parent = threading.current_thread() is threading.main_thread()
        silent = ("ignore", None, DeprecationWarning, None, 0)  # of a fork next to threads: LLVM uses none
        filters: Any = warnings.filters  # a list, although its type is a sequence
        filters.insert(0, silent)  # with catch_warnings every warning given so far would be given again
        try:
            self.pid = os.fork()
        finally:
            filters.remove(silent)
        if self.pid == 0:
            os.close(request_writer)
            os.close(reply_reader)
            if outlives_no_parent:  # the signal comes with the end of the *thread* that forked
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            _serve(request_reader, reply_writer, self.words.fileno())
        os.close(request_reader)
        os.close(reply_writer)
        self.requests, self.replies = os.fdopen(request_writer, "wb"), os.fdopen(reply_reader, "rb")

    def ask(self, request: tuple) -> tuple[bool, Any, bool]:
        """Raises EOFError or BrokenPipeError where the child is dead."""
        pickle.dump(request, self.requests)
        self.requests.flush()
        return pickle.load(self.replies)

    def ended(self) -> bool:
        """Whether it died while idle."""
        if os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            return False
        self.close()
        return True

    def last_words(self) -> str:
        return os.pread(self.words.fileno(), 1 << 20, 0).decode(errors="replace").strip()

    def close(self) -> None:
        """Drop this process's ends of the pipes; the child sees the end of its requests."""
        for stream in (self.requests, self.replies, self.words):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def reap(self) -> str:
        """Wait for the dead child; the name of the signal that ended it."""
        _, status = os.waitpid(self.pid, 0)
        self.close()
        return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "an early exit"


_child: _Child | None = None
_serves = _spent = False  # of this process, where it is the child
_one_at_a_time = threading.Lock()


def _forget_in_fork() -> None:
    """A fork of this process has no claim on its child."""
    global _child, _one_at_a_time
    _one_at_a_time = threading.Lock()
    if _child is not None:
        _child.close()
        _child = None


os.register_at_fork(after_in_child=_forget_in_fork)


def guarded(work: Callable, *arguments, subject: str, spends: bool = False):
    """What `work(*arguments)` returns or raises, computed in the guard child; all of it must pickle.

    `spends`: the work leaves its process unfit for other work, so the child ends with it. In the child itself the work
    is just done. Raises LoweringCrash, which names `subject`, where the child dies of it.
    """
    if _serves:
        return _do(work, arguments, spends)
    with _one_at_a_time:
        failed, value, spent = _ask((work, arguments, spends), subject)
        if spent:
            _end_child()
    if failed:
        raise value
    return value


def _do(work: Callable, arguments: tuple, spends: bool) -> Any:
    global _spent
    _spent |= spends
    return work(*arguments)


def _ask(request: tuple, subject: str) -> tuple[bool, Any, bool]:
    global _child
    if _child is not None and _child.ended():
        _child = None
    if _child is None:
        _child = _Child()
    try:
        return _child.ask(request)
    except (EOFError, BrokenPipeError):
        child, _child = _child, None
        words = child.last_words()
        raise LoweringCrash(subject, child.reap(), words) from None
    except BaseException:  # Ctrl-C: the reply, if any, belongs to nobody
        child, _child = _child, None
        os.kill(child.pid, signal.SIGKILL)
        child.reap()
        raise


def _end_child() -> None:
    global _child
    child, _child = _child, None
    if child is not None:
        child.close()
        os.waitpid(child.pid, 0)


def end() -> None:
    """End the guard child, if there is one; the next compile starts another."""
    with _one_at_a_time:
        _end_child()


def _serve(request_reader: int, reply_writer: int, words: int) -> None:
    """The child: answer until the parent is gone, running nothing of the parent's on the way out."""
    global _serves
    _serves = True
    try:
        faulthandler.disable()
        words = fcntl.fcntl(words, fcntl.F_DUPFD, 3)
        _keep_open(0, 1, 2, request_reader, reply_writer, words)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGABRT, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(words, 1)
        os.dup2(words, 2)
        with os.fdopen(request_reader, "rb") as requests, os.fdopen(reply_writer, "wb") as replies:
            while True:
                request = pickle.load(requests)
                os.ftruncate(words, 0)
                os.lseek(words, 0, os.SEEK_SET)
                try:
                    reply = (False, _do(*request), _spent)
                except Exception as error:
                    reply = (True, error, _spent)
                pickle.dump(reply, replies)
                replies.flush()
    finally:
        os._exit(0)


def _keep_open(*kept: int) -> None:
    """Close every other file: who waits for the end of a pipe of the parent's must not wait for this child."""
    edges = [-1, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for below, above in zip(edges, edges[1:]):
        if below + 1 < above:  # closerange(0, 0) closes them all
            os.closerange(below + 1, above)
