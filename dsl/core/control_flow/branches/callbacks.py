"""Branches whose arms the author gives as functions.  CuTe DSL: cutlass.cutlass_dsl, if_generate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.control_flow.branches.branch import if_
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Boolean, Numeric
from dsl.core.phrase import shown


def if_generate(
    cond: Any,
    then_body: Callable,
    else_body: Callable | None = None,
    input_args: Sequence[Any] | None = None,
    return_types: Sequence[type[Numeric]] | None = None,
) -> Any:
    """Do `then_body(*input_args)` where `cond` holds, which may be known while running only, and otherwise `else_body`.

    With `return_types` both bodies give that many numbers, and so does this: one, or a list of them.
    Raises DSLUserCodeTypeError for bodies that give another number of values, or no `else_body` to give them.
    """
    arguments, types = tuple(input_args or ()), tuple(return_types or ())
    if types and else_body is None:
        raise DSLUserCodeTypeError(
            "if_generate with return_types has no values where the condition is false",
            fix="give else_body, a function of the same arguments",
        )

    def arm(body: Callable | None) -> tuple:
        given = None if body is None else body(*arguments)
        values = () if not types else tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if len(values) != len(types) or any(value is None for value in values):
            raise DSLUserCodeTypeError(
                f"a body of if_generate must give {len(types)} numbers, as return_types lists, got {shown(given)}",
                fix="return one value for each of return_types",
            )
        return tuple(dtype(value) for dtype, value in zip(types, values))

    names = tuple(f"result {i} of if_generate" for i in range(len(types)))
    results = if_(
        Boolean(cond), lambda *_: arm(then_body), lambda *_: arm(else_body), tuple(dtype(0) for dtype in types), names
    )
    return None if not types else results[0] if len(types) == 1 else list(results)
