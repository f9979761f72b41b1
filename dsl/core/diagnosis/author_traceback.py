"""Exceptions that leave the compiler for the author's code, with only the author's frames.

An error inside that was not explained in the author's words becomes a CompilerFault at the author's expression.
GPU_REPRO_FULL_TRACEBACK=1 (`python -m dsl --full-traceback`) lets everything through as it was raised.
"""

from __future__ import annotations

import dis
import functools
import os
import types
from collections.abc import Callable, Iterator, Mapping

from dsl import environment_variables as variables, layout
from dsl.core.diagnosis import argument_errors, foreign_calls, python_errors
from dsl.core.errors import DSLUserCodeError, DSLUserCodeLayoutError, at_author, warn_not_portable
from dsl.core.number.operators import type_name
from dsl.core.syntax.function_source import is_authors
from dsl.core.syntax.raise_place import innermost, is_authors_code, place_of, walk, words
from dsl.core.trace import TRACERS, active
from dsl.exceptions import ToolFailure, outcome_of
from dsl.layout import LayoutError
from dsl.span import Span, is_for_python, is_our_file, is_part, of_code

_LAYOUT = os.path.join(os.path.dirname(layout.__file__), "")
_OF_VALUES = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


class CompilerFault(DSLUserCodeError):
    """The compiler failed without knowing why; upstream calls that INTERNAL."""


def full() -> bool:
    """Whether tracebacks are to show the compiler's own frames."""
    return variables.value(variables.FULL_TRACEBACK, "0") != "0"


def leaving(error: BaseException) -> BaseException:
    """The exception for the author's code if `error` leaves the compiler: `error`, or the error that explains it."""
    explained = _explained(error)
    if isinstance(explained, DSLUserCodeError) and not explained.also:
        explained.also = _called_from(explained)
    return explained


def _explained(error: BaseException) -> BaseException:
    if full() or isinstance(error, Warning) or not isinstance(error, Exception):
        return error
    if (foreign := foreign_calls.explained(error)) is not None:
        return foreign
    if isinstance(error, DSLUserCodeError) or outcome_of(error) is not None:
        return error
    if isinstance(error, LayoutError):
        return at_author(error)
    if (explained := python_errors.explained(error)) is not None:
        return explained
    if isinstance(error, ToolFailure):
        return _fault(error, f"compiling this {error.problem}, by a fault of the compiler", error.place)
    if not _is_accident(error):
        return error
    code = innermost(error)
    if isinstance(error, _OF_VALUES) and code is not None and code.co_filename.startswith(_LAYOUT):
        name, arguments = _call(error)
        what = "this" if name.startswith("_") else f"`{name}`"
        return DSLUserCodeLayoutError(
            f"{what} is not defined for {arguments}",
            place=place_of(error),
            fix="give integers, tuples of them, layouts or tensors",
        ).with_traceback(error.__traceback__)
    if isinstance(error, _OF_VALUES) and (explained := argument_errors.explained(error)) is not None:
        return explained
    text, (_, arguments) = " ".join(str(error).split()), _call(error)
    return _fault(error, f"fails{arguments and ' for '}{arguments}: {type(error).__name__}{text and ': '}{text}")


_CALLS_SHOWN = 4


def _called_from(error: DSLUserCodeError) -> tuple[tuple[Span, str], ...]:
    """The calls of the function in whose lines the error is, and of its caller, as far as they are compiled."""
    frames = error.callers or [(entry.tb_frame.f_code, entry.tb_lasti) for entry in walk(error)]
    while frames and not is_authors_code(frames[-1][0]):
        frames.pop()
    if not frames or (at := of_code(*frames[-1])).file != error.place.file or at.line != error.place.line:
        return ()
    calls: list[tuple[Span, str]] = []
    while len(calls) < _CALLS_SHOWN:
        code, _ = frames.pop()
        while frames and (is_part(code) or code.co_name in _COMPREHENSIONS):  # of the function around it
            while frames and is_our_file(frames[-1][0].co_filename):
                frames.pop()
            code, _ = frames.pop() if frames else (code, 0)
        while frames and is_our_file(frames[-1][0].co_filename) and frames[-1][0] not in TRACERS:
            frames.pop()
        if not frames or not is_authors_code(frames[-1][0]):
            break
        name = {"<lambda>": "this lambda", "<module>": "this text"}.get(code.co_name, f"`{code.co_name}`")
        calls.append((of_code(*frames[-1]), f"{name} is called here"))
    return tuple(calls)


def _fault(error: Exception, message: str, place: Span | None = None) -> CompilerFault:
    is_authors_place = place is not None and is_authors(place.file)
    return CompilerFault(
        message,
        id="INTERNAL",
        place=place if is_authors_place else place_of(error),
        fix="look at the types of its arguments; where they are right, report it with what "
        "GPU_REPRO_FULL_TRACEBACK=1 shows",
    ).with_traceback(error.__traceback__)


def _call(error: Exception) -> tuple[str, str]:
    """The function of the compiler that the author called last, and what it was given, as far as that has names."""
    frames: list[types.FrameType] = []
    for entry in walk(error):
        if is_authors_code(entry.tb_frame.f_code):
            frames.clear()
        elif entry.tb_frame.f_code is not guarded_code:
            frames.append(entry.tb_frame)
    names_at_place = words(place_of(error))
    called = next((frame for frame in frames if frame.f_code.co_name in names_at_place), frames[0] if frames else None)
    if called is None:
        return "", ""
    code = called.f_code
    names = [name for name in code.co_varnames[: code.co_argcount] if name in called.f_locals and name != "self"]
    return code.co_name, ", ".join(f"{name}: {type_name(called.f_locals[name])}" for name in names)


def _is_accident(error: Exception) -> bool:
    """Whether `error` was raised in the compiler, or in a library for it, and not by a `raise` that means it, nor by
    what Python was asked to do in the author's place."""
    code = innermost(error)
    if code is None or not is_our_file(code.co_filename) or is_for_python(code.co_filename):
        return False
    at = [entry.tb_lasti for entry in walk(error) if entry.tb_frame.f_code is code][-1]
    return isinstance(error, AssertionError) or dis.opname[code.co_code[at]] != "RAISE_VARARGS"


def strip(error: BaseException) -> None:
    """Take the frames of the compiler, and of the libraries that it calls, out of the tracebacks of `error` and of its
    causes."""
    if full():
        return
    seen, behind = set(), error
    while behind is not None and id(behind) not in seen:
        seen.add(id(behind))
        authors: types.TracebackType | None = None
        for entry in reversed(list(_authors(behind.__traceback__))):
            authors = types.TracebackType(authors, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        behind.__traceback__ = authors
        if behind.__cause__ is None and behind.__context__ is not None and _is_ours(behind.__context__):
            behind.__context__ = None
        behind = behind.__cause__ or behind.__context__


def _is_ours(error: BaseException) -> bool:
    """Whether `error` was raised by the compiler's code."""
    file, traceback = None, error.__traceback__
    while traceback is not None:
        file, traceback = traceback.tb_frame.f_code.co_filename, traceback.tb_next
    return file is not None and not is_authors(file)


def _authors(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    """The author's frames; the parts that a function was cut into stand for it."""
    waiting, inside = None, False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        inside = is_our_file(code.co_filename) or (inside and not is_authors(code.co_filename))
        if not inside:
            if waiting is not None and not (is_part(code) and _enclosing(code) == waiting.tb_frame.f_code.co_qualname):
                yield waiting
            waiting = traceback
        traceback = traceback.tb_next
    if waiting is not None:
        yield waiting


def _enclosing(code: types.CodeType) -> str:
    """The qualified name of the function that `code` was defined in."""
    return code.co_qualname.rpartition(".<locals>.")[0]


def stripped(function: Callable) -> Callable:
    """A decorator of functions around one that is `guarded`: what leaves them has the author's frames alone too."""

    @functools.wraps(function)
    def call(*args, **keywords):
        try:
            return function(*args, **keywords)
        except BaseException as error:
            strip(error)
            raise

    return call


def guarded(function: Callable, portable: Callable[[tuple], bool] | None = None) -> Callable:
    """A decorator of functions that the author calls; inside a traced function exceptions pass.

    `portable`: of which arguments NVIDIA's compiler takes the function outside a traced one too; of all, unless given.
    """

    @functools.wraps(function)
    def call(*args, **keywords):
        if active():
            return function(*args, **keywords)
        try:
            if portable is not None and not portable((*args, *keywords.values())):
                warn_not_portable(
                    f"`{function.__name__}` is called in plain Python",
                    "CALL_OUTSIDE_JIT",
                    fix="call it in a function decorated with @cute.jit",
                )
            return function(*args, **keywords)
        except BaseException as error:
            try:
                raise leaving(error)
            except BaseException as left:
                strip(left)
                raise

    return call


def guard(names: dict[str, object], portable: Mapping[str, Callable[[tuple], bool]] = {}) -> None:
    """Guard the functions of a surface's module, so that plain Python too sees no frame of ours; `portable`:
    see above."""
    for name, value in names.items():
        if isinstance(value, types.FunctionType) and not name.startswith("_") and value.__code__ is not guarded_code:
            names[name] = guarded(value, portable.get(name))


guarded_code = guarded(len).__code__  # of every function that `guarded` makes
