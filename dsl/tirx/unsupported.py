"""Names that are not here: of upstream they are refused by name, others are probably mistyped."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from dsl.core.diagnosis import author_traceback, spelling
from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.core.errors import DSLUserCodeError

LISTED = "docs/tirx.md lists what is"
spelling.register_surface("dsl.tirx")

# Names of CUDA C++, and what says the same in T.
CUDA_NAMES = {
    "threadIdx": "T.thread_id([...])",
    "blockIdx": "T.cta_id([...])",
    "blockDim": "the extents of T.thread_id",
    "gridDim": "the extents of T.cta_id",
    "__syncthreads": "T.cuda.cta_sync()",
    "syncthreads": "T.cuda.cta_sync()",
    "__syncwarp": "T.cuda.warp_sync()",
    "syncwarp": "T.cuda.warp_sync()",
    "atomicAdd": "T.cuda.atomic_add(A.ptr_to([i]), x)",
    "atomicCAS": "T.cuda.atomic_cas(...)",
    "fabsf": "T.abs(x)",
    "expf": "T.exp(x)",
    "sqrtf": "T.sqrt(x)",
    "printf": "T.cuda.printf(...)",
}


class UnknownName(DSLUserCodeError, AttributeError):
    """A name that upstream does not have either."""


def module_getattr(module: str, names: Callable[[], dict] | dict, upstream: frozenset[str] = frozenset()) -> Callable:
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
    tirx = sys.modules["dsl.tirx.script.tirx"]
    if name in CUDA_NAMES:
        return f"in T it is {CUDA_NAMES[name]}"
    for prefix, other in (("T", tirx), ("T.cuda", tirx.cuda), ("T.ptx", tirx.ptx)) if module[0] == "T" else ():
        if name in vars(other) and prefix != module:
            return f"did you mean `{prefix}.{name}`?"
    meant = spelling.alike(name, names)
    return f"did you mean `{module}.{meant}`?" if meant else LISTED
