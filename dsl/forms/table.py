"""All instruction forms, in the order of the PTX ISA."""

from __future__ import annotations

from collections.abc import Iterator

from dsl.forms.form import Form
from dsl.forms.kinds import (
    atomic,
    block,
    bulk,
    cluster,
    control,
    conversion,
    floating,
    integer,
    memory,
    tensor_core,
    video,
    warp,
    warpgroup,
    wmma,
)


def forms() -> Iterator[Form]:
    """Every form once; names are unique."""
    for module in (
        integer,
        floating,
        conversion,
        memory,
        atomic,
        control,
        warp,
        block,
        cluster,
        bulk,
        tensor_core,
        video,
        wmma,
        warpgroup,
    ):
        yield from module.forms()
