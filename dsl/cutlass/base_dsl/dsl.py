"""`cutlass.base_dsl.dsl`: the compiler as an object, which kernels ask for the architecture."""

from __future__ import annotations

from collections.abc import Callable

from dsl.core.control_flow.loops.carried_values import set_dynamic_debug
from dsl.core.diagnosis import author_traceback as _author_traceback
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass.base_dsl.arch import Arch
from dsl.launch.argument.author_protocols import debug_print_mlir_values, extract_mlir_values, new_from_mlir_values
from dsl.launch.call.compiling import compiler as _compiler

__all__ = [
    "BaseDSL",
    "CuTeDSL",
    "debug_print_mlir_values",
    "extract_mlir_values",
    "new_from_mlir_values",
    "set_dynamic_debug",
]


class BaseDSL:
    """The compiler. There is one: `BaseDSL._get_dsl()`."""

    name = "CUTE_DSL"

    @classmethod
    def _get_dsl(cls) -> CuTeDSL:
        return _THE_ONE

    def get_arch_enum(self) -> Arch:
        """The architecture that is compiled for. Raises DSLUserCodeError for one that has no name here."""
        name = _compiler.architecture()
        if name not in Arch.__members__:
            raise DSLUserCodeError(
                f"cutlass.base_dsl.Arch has no `{name}`",
                id="CONFIG_UNSUPPORTED_ARCH",
                fix="compile for sm_80 or later: --gpu-arch sm_90a",
            )
        return Arch[name]

    @_author_traceback.guarded
    def check_arch(self, criterion: Callable[[Arch], bool]) -> None:
        """Raise DSLUserCodeError where `criterion` is false of the architecture that is compiled for."""
        arch = self.get_arch_enum()
        if not criterion(arch):
            fitting = ", ".join(map(str, Arch.filter(criterion))) or "none"
            raise DSLUserCodeError(
                f"this needs another architecture than {arch}, which is compiled for; it runs on {fitting}",
                id="CONFIG_UNSUPPORTED_ARCH",
                fix="compile for one of these: --gpu-arch sm_90a",
            )


class CuTeDSL(BaseDSL):
    """The compiler of CuTe DSL."""


_THE_ONE = CuTeDSL()
