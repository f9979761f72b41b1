"""Printing when the program runs, and marks in its PTX."""

from __future__ import annotations

from typing import Any

from dsl.gpu.debug import printf
from dsl.gpu.inline import ptx


def print_runtime(fmt: str, *args: Any) -> None:
    """Print `fmt`, whose `{}` take the arguments in order; nothing is appended."""
    printf(fmt, *args, end="")


def ptx_add_comment(comment: str) -> None:
    """Put a comment in the PTX."""
    ptx(f"// {comment}", None, "")
