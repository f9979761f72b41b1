"""tvm_tirx.tirx.compile: traced functions to an object that runs them."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.core.phrase import shown
from dsl.tirx.build import Entry as _Entry, Executable, IRModule, compiled
from dsl.tirx.tvm_tirx.wording import respelled

__all__ = ["Executable", "IRModule", "compile"]


class Entry(_Entry):
    """One compiled function. Its errors have tvm_tirx's words."""

    def __call__(self, *arguments: object) -> None:
        with respelled():
            super().__call__(*arguments)


def compile(mod: object, target: Any = None, pipeline: object = "default") -> Executable:
    """Compile a T.function or an IRModule for `target`. Its kernels run on the device that programs run on."""
    if pipeline not in (None, "default"):
        raise DSLUserCodeError(
            f"the pipeline {shown(pipeline)} is not part of this compiler", id="COMPILE_PIPELINE", fix="leave it out"
        )
    with respelled():
        return compiled(mod, target, Entry)
