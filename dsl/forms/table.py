"""All instruction forms, in the order of the PTX ISA."""

from __future__ import annotations

from collections.abc import Iterator

from dsl.forms import conversion, floating, integer, tensor_core, warp
from dsl.forms.form import Form


def forms() -> Iterator[Form]:
    """Every form once; names are unique."""
    for module in (integer, floating, conversion, warp, tensor_core):
        yield from module.forms()
