"""Errors at the author's line for arguments that no parameter takes or that do not fit their annotation."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, NumericMeta, of_python
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import Pointer
from dsl.launch.argument import kinds
from dsl.layout import Layout
from dsl.tile.tensor.tensor import Tensor


def check_argument(function: str, name: str, value: Any, annotation: Any) -> None:
    """Raise the author's error for what no parameter takes, and for a tensor in place of a number or the reverse."""
    if isinstance(value, (set, frozenset)):
        raise DSLUserCodeTypeError(
            f"`{function}` takes no set for `{name}`: a set has no order",
            fix="pass a tuple or a list",
            id="ARG_UNORDERED_CONTAINER",
        )
    if isinstance(value, (str, bytes, complex)):
        raise DSLUserCodeTypeError(
            f"`{function}` cannot take a {type(value).__name__} for `{name}` at run time",
            id="ARG_UNSUPPORTED_TYPE",
            fix=f"annotate it as static: `{name}: cutlass.Constexpr`",
        )
    is_number = of_python(value) is not None or isinstance(value, Numeric)
    if annotation is Tensor and is_number:
        raise DSLUserCodeTypeError(
            f"`{function}` takes a Tensor for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix="pass an array or a torch tensor, or from_dlpack(...)",
        )
    if isinstance(annotation, NumericMeta) and (kinds.is_tensor(value)):
        raise DSLUserCodeTypeError(
            f"`{function}` takes {annotation} for `{name}`, got a tensor",
            id="ARG_ANNOTATION_MISMATCH",
            fix=f"annotate `{name}: cute.Tensor`, or pass a number",
        )
    if isinstance(annotation, NumericMeta) and not (is_number or value is None or hasattr(value, "item")):
        raise DSLUserCodeTypeError(
            f"`{function}` takes {annotation} for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix="pass a number",
        )


def check_traced(function: str, name: str, value: Any, annotation: Any) -> None:
    """Raise the author's error for a value of another kind than a kernel's parameter is annotated with."""
    is_number = of_python(value) is not None or isinstance(value, Numeric)
    if annotation is Tensor and (is_number or isinstance(value, (str, bytes, Pointer, Layout))):
        raise DSLUserCodeTypeError(
            f"`{function}` takes a Tensor for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix="pass a tensor",
        )
    if isinstance(annotation, NumericMeta) and isinstance(value, (Tensor, Pointer, Layout, str, bytes)):
        raise DSLUserCodeTypeError(
            f"`{function}` takes {annotation} for `{name}`, got {type_name(value)}",
            id="ARG_ANNOTATION_MISMATCH",
            fix=f"pass a number, or annotate `{name}: cute.Tensor`",
        )
