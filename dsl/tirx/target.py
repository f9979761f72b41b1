"""tvm.target: what a module is compiled for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.core.phrase import shown
from dsl.core.state import Stack

KINDS = ("cuda", "llvm", "c")
_open: Stack[Target] = Stack()


class Target:
    """A kind ("cuda", "llvm", "c") and for CUDA an architecture, by default of the device that programs run on."""

    def __init__(self, target: Any, host: Any = None):
        if isinstance(target, Target):
            facts: dict = target.attrs
        elif isinstance(target, Mapping):
            facts = dict(target)
        else:
            kind, *rest = str(target).split()
            arch = re.search(r"-arch=(\S+)", " ".join(rest))
            facts = {"kind": kind, **({"arch": arch[1]} if arch else {})}
        self.attrs, self.host = facts, host
        if self.kind not in KINDS:
            raise DSLUserCodeError(
                f"unsupported target kind {self.kind!r}", fix=f"one of {', '.join(KINDS)}", id="TARGET_KIND"
            )
        arch = self.arch
        if arch is not None and not re.fullmatch(r"sm_\d+[af]?", arch):
            raise DSLUserCodeError(f"unknown CUDA architecture {shown(arch)}", fix='"sm_90a"', id="TARGET_ARCH")

    @property
    def kind(self) -> str:
        return str(self.attrs.get("kind"))

    @property
    def arch(self) -> str | None:
        return self.attrs.get("arch")

    @staticmethod
    def of(target: Any) -> Target:
        return target if isinstance(target, Target) else Target(target)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost `with target:`."""
        return _open.top()

    def __enter__(self) -> Target:
        _open.items().append(self)
        return self

    def __exit__(self, *_error: Any) -> None:
        _open.items().pop()

    def __str__(self) -> str:
        return self.kind + (f" -arch={self.arch}" if self.arch else "")

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"
