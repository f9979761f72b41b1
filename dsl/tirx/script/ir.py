"""`from tvm.script import ir as I`: a module of functions, written as a class."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.tirx.build import IRModule
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.errors.unsupported import module_getattr as _refuser

__all__ = ["IRModule", "ir_module"]


def ir_module(cls: Any = None, **_options: Any) -> Any:
    """The functions of a class as a module. Raises DSLUserCodeTypeError for attributes that are not T functions."""
    if cls is None:
        return ir_module
    if not isinstance(cls, type):
        raise DSLUserCodeTypeError(
            f"ir_module decorates a class, got {type_name(cls)}",
            id="DECORATOR",
            fix="put it over a `class` of T functions",
        )
    return IRModule({name: value for name, value in vars(cls).items() if not name.startswith("__")})


_UPSTREAM = frozenset(
    "Range dummy_global_info lookup_vdevice module_attrs module_get_attr module_global_infos module_set_attr pyfunc "
    "vdevice".split()
)
__getattr__ = _refuser("I", globals(), _UPSTREAM)
