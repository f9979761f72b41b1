"""`from tvm.script.tirx import tile`: TIRx's tile primitives, which this compiler does not have."""

from dsl.tirx.errors.unsupported import module_getattr as _refuser


class _Everything:
    """A set that contains every name: upstream has many."""

    def __contains__(self, _name: object) -> bool:
        return True


__getattr__ = _refuser("tile", {}, _Everything())
