"""Hints that change no result: they only tell the real package how to compile."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable

from dsl.core.control_flow.text import trace_output
from dsl.quadrants import runtime
from dsl.quadrants.functions.inlined_function import Func
from dsl.quadrants.functions.task import active
from dsl.span import here


def assume_in_range(val, base, low, high):
    """`val`, which is between `base + low` and `base + high`."""
    return val


def loop_unique(val, covers=None):
    """`val`, which no other iteration has."""
    return val


def block_local(*fields) -> None:
    """Fields that threads of a block share."""


def cache_read_only(*fields) -> None:
    """Fields that a loop only reads."""


def no_activate(*nodes) -> None:
    """Sparse nodes that a loop does not make; there are none here."""


def pure(kernel: Callable) -> Callable:
    """A kernel that reads no globals."""
    return kernel


class PyFunc(Func):
    """A `@qd.pyfunc`: a func in kernels, an ordinary function in Python."""

    def __call__(self, *arguments, **keywords):
        call = super().__call__ if active() else self.function
        return call(*arguments, **keywords)


def pyfunc(function: Callable) -> PyFunc:
    """A function that kernels and Python call."""
    return PyFunc(function)


def deprecated(name: str, instead: str) -> None:
    """Warn of the old name of a function, at the author's line."""
    place = here()
    warnings.warn_explicit(f"{name}() is deprecated; use {instead}()", DeprecationWarning, place.file, place.line)


def dump_compile_config() -> None:
    """Print the options of qd.init in force."""
    for name, value in dataclasses.asdict(runtime.check()).items():
        trace_output.write(f"{name}: {value}\n")
