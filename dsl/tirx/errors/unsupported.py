"""Names that are not here: of upstream they are refused by name, others are probably mistyped."""

from __future__ import annotations

import re
from collections.abc import Callable, Container

from dsl.core.diagnosis import author_traceback, spelling
from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.core.errors import DSLUserCodeError
from dsl.tirx.errors.public_names import CUDA_NAMES, NAMESPACES

LISTED = "docs/tirx.md lists what is"
spelling.register_surface("dsl.tirx")


class UnknownName(DSLUserCodeError, AttributeError):
    """A name that apache-tvm does not have either."""


def module_getattr(module: str, names: Callable[[], dict] | dict, upstream: Container[str] = frozenset()) -> Callable:
    """A module's `__getattr__`: `names()` are those that it has, `upstream` those that only apache-tvm has."""

    @author_traceback.guarded
    def missing(name: str):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in upstream or re.sub(r"x\d+$", "", name) in upstream:
            raise UnsupportedName(
                f"{module}.{name} is not part of this compiler yet", id="UNSUPPORTED_NAME", fix=LISTED
            )
        raise UnknownName(
            f"`{module}` has no `{name}`",
            id="UNKNOWN_NAME",
            fix=_fix(module, name, names() if callable(names) else names),
        )

    return missing


def _fix(module: str, name: str, names: dict) -> str:
    if name in CUDA_NAMES:
        return f"in T it is {CUDA_NAMES[name]}"
    for prefix, others in NAMESPACES.items() if module[0] == "T" else ():
        if name in others and prefix != module:
            return f"did you mean `{prefix}.{name}`?"
    meant = spelling.alike(name, names)
    return f"did you mean `{module}.{meant}`?" if meant else LISTED
