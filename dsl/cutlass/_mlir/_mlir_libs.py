"""`cutlass._mlir._mlir_libs`: upstream's compiled bindings, whose `ir` some programs import by its whole name."""

from dsl.cutlass import stand_ins as _stand_ins
from dsl.cutlass._mlir import ir as _ir

__path__: list[str] = []


def _refuse(name: str) -> object:
    raise AttributeError(name)


_cutlass_ir = _stand_ins.module("cutlass._mlir._mlir_libs._cutlass_ir", _refuse)
_cutlass_ir._mlir = _stand_ins.module("cutlass._mlir._mlir_libs._cutlass_ir._mlir", _refuse)
_cutlass_ir._mlir.ir = _stand_ins.module(
    "cutlass._mlir._mlir_libs._cutlass_ir._mlir.ir", lambda name: getattr(_ir, name)
)
