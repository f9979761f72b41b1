"""The words of T that are statements: rewriting looks for them. A call anywhere else raises where they belong."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError


def _word(name: str, where: str):
    def word(*_arguments, **_options):
        raise DSLUserCodeError(
            f"T.{name} {where} in a T.prim_func",
            id="STATEMENT_PLACE",
            fix="put it there, in a function decorated with T.prim_func or T.inline",
        )

    word.__name__ = word.__qualname__ = name
    word.__doc__ = f"`T.{name}`, which {where} in a T.prim_func."
    return word


device_entry = _word("device_entry", "is a separate statement")
thread_return = _word("thread_return", "is a separate statement")
break_loop = _word("break_loop", "is a separate statement")
continue_loop = _word("continue_loop", "is a separate statement")
serial, parallel, unroll, vectorized, grid, thread_binding = (
    _word(name, "is the iterable of a `for` statement")
    for name in ("serial", "parallel", "unroll", "vectorized", "grid", "thread_binding")
)
if_then_else = _word("if_then_else", "is called")
address_of = _word("address_of", "takes an element of a buffer, `T.address_of(A[i])`,")


class _Let:
    """The annotation `x: T.let = value`: a name that cannot be assigned again. `T.let[T.int32]` converts the value."""

    __iter__ = None  # `T.let[dtype]` annotates; nothing is iterated

    def __getitem__(self, dtype: Any) -> Any:
        return LetOf(dtype)


class LetOf:
    """The annotation `T.let[dtype]`."""

    def __init__(self, dtype: Any):
        self.dtype = dtype


let = _Let()
