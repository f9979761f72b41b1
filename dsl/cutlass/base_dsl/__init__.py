"""`cutlass.base_dsl`, and its modules that are only places of names: `typing`, `common`, `compiler`, ...

A name of upstream's that is not here may be imported from them, and is refused where it is used.
"""

from __future__ import annotations

import sys as _sys
from typing import Any

from dsl import cutlass as _cutlass
from dsl.core.diagnosis.unsupported_names import RefusedWhenUsed as _RefusedWhenUsed
from dsl.core.errors import DSLUserCodeError, DSLUserCodeRuntimeError, DSLUserCodeTypeError, DSLWarning
from dsl.core.number.dtypes import Numeric as _Numeric
from dsl.cutlass import stand_ins as _stand_ins, unsupported as _unsupported, upstream as _upstream
from dsl.cutlass._mlir.extras import types as _T
from dsl.cutlass.base_dsl import arch, dsl
from dsl.cutlass.base_dsl.arch import Arch
from dsl.cutlass.base_dsl.dsl import BaseDSL, CuTeDSL
from dsl.cutlass.cuda_version import DSLCudaVersion as _DSLCudaVersion
from dsl.cutlass.cute.decorators import DumpDir as _DumpDir
from dsl.cutlass.grammar import dsl_user_op
from dsl.cutlass.preprocessor import DSLPreprocessor as _DSLPreprocessor
from dsl.exceptions import OutcomeError as DSLBaseError
from dsl.launch.argument import author_protocols as _author_protocols
from dsl.launch.devices.protocol import DeviceError as DSLCudaRuntimeError

__all__ = [
    "Arch",
    "BaseDSL",
    "DSLBaseError",
    "DSLCudaRuntimeError",
    "DSLRuntimeError",
    "DSLUserCodeError",
    "DSLUserCodeRuntimeError",
    "DSLUserCodeTypeError",
    "DSLWarning",
    "arch",
    "dsl",
    "dsl_user_op",
]
DSLRuntimeError = DSLUserCodeRuntimeError


def checkCudaErrors(result: tuple) -> Any:
    """The values that a call of `cuda.bindings` gave after its status: nothing, a value, or a tuple.

    Raises DSLCudaRuntimeError for a status that is not success.
    """
    status, *values = result
    if status.value:
        raise DSLCudaRuntimeError(status.name, f"error {status.value} of {type(status).__name__}")
    return None if not values else values[0] if len(values) == 1 else tuple(values)


_OURS: dict[str, Any] = {name: globals()[name] for name in __all__}
_OURS |= {"get_mlir_types": _author_protocols.get_mlir_types, "get_c_pointers": _author_protocols.get_c_pointers}
_OURS |= {"JitArgument": _author_protocols.JitArgument, "DynamicExpression": _author_protocols.DynamicExpression}
_OURS |= {
    "DumpDir": _DumpDir,
    "T": _T,
    "DSLCudaVersion": _DSLCudaVersion,
    "CuTeDSL": CuTeDSL,
    "DSLPreprocessor": _DSLPreprocessor,
    "checkCudaErrors": checkCudaErrors,
}


def attribute(module: str, name: str) -> Any:
    """`name` in a module of upstream that gathers names: ours, or of `cutlass`, or a name that is refused when used."""
    if name in _OURS:
        return _OURS[name]
    public = {**vars(_cutlass.cute.typing), **vars(_cutlass.cute), **vars(_cutlass)}
    if name in public and not name.startswith("_"):
        return public[name]
    return _RefusedWhenUsed(f"{module}.{name}", _unsupported.FIX)


def _names_of(module: str) -> Any:
    return lambda name: attribute(module, name)


_HERE = "cutlass.base_dsl."
for _module in sorted(name for name in _upstream.modules() if name.startswith(_HERE)):
    if _module not in (f"{_HERE}arch", f"{_HERE}dsl"):
        _parent = _sys.modules[f"dsl.{_module.rpartition('.')[0]}"]
        setattr(_parent, _module.rpartition(".")[2], _stand_ins.module(_module, _names_of(_module)))

_sys.modules[f"dsl.{_HERE}typing"].__STR_TO_DTYPE__ = {  # a private name, which programs read types by
    _name: _type for _name, _type in vars(_cutlass).items() if isinstance(_type, type) and issubclass(_type, _Numeric)
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return attribute("cutlass.base_dsl", name)
