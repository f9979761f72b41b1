"""`cutlass._mlir._mlir_libs`: upstream's compiled bindings, whose `ir` some programs import by its whole name."""

from typing import Any

from dsl.cutlass import stand_ins as _stand_ins
from dsl.cutlass._mlir import ir as _ir

__path__: list[str] = []


def _refuse(name: str) -> object:
    raise AttributeError(name)


_PLACE = "cutlass._mlir._mlir_libs._cutlass_ir"
_cutlass_ir: Any = _stand_ins.module(_PLACE, _refuse)
_mlir: Any = _stand_ins.module(f"{_PLACE}._mlir", _refuse)
_mlir.ir = _stand_ins.module(f"{_PLACE}._mlir.ir", lambda name: getattr(_ir, name))
_cutlass_ir._mlir = _mlir
