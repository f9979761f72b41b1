"""`from tvm.script.tirx import tile`: TIRx's tile primitives, which this compiler does not have."""

from dsl.tirx.unsupported import module_getattr as _refuser

__getattr__ = _refuser("tile")
