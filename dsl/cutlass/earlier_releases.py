"""Names that earlier releases of NVIDIA's package have and 4.8.1 does not.

Programs in the wild have them. They work here, with a warning that tells the name of today.
"""

from __future__ import annotations

import enum
from typing import Any

from dsl.core.errors import warn_not_portable
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import Pointer
from dsl.gpu.memory.dsmem import map_dsmem_ptr
from dsl.tile.tensor.tensor import Tensor, make_rmem_tensor


def make_fragment(layout_or_shape: Any, dtype: type[Numeric]) -> Tensor:
    """`make_rmem_tensor`, by its earlier name."""
    _warn("cute.make_fragment", "cute.make_rmem_tensor")
    return make_rmem_tensor(layout_or_shape, dtype)


def mapa(ptr: Pointer, cta_rank_in_cluster: Any = 0, *, loc: Any = None, ip: Any = None) -> Pointer:
    """`map_dsmem_ptr`, by its earlier name."""
    _warn("cute.arch.mapa", "cute.arch.map_dsmem_ptr")
    return map_dsmem_ptr(ptr, cta_rank_in_cluster)


ProxyKind = enum.StrEnum(
    "ProxyKind", {"alias": "alias", "async_": "async", "async_global": "async.global", "async_shared": "async.shared"}
)
SharedSpace = enum.StrEnum("SharedSpace", {"shared_cta": "cta", "shared_cluster": "cluster"})

_FUNCTIONS: dict[str, dict[str, Any]] = {
    "cutlass.cute": {"make_fragment": make_fragment},
    "cutlass.cute.arch": {"mapa": mapa},
}
# Each with what to write in its place.
_ENUMERATIONS: dict[str, dict[str, tuple[Any, str]]] = {
    "cutlass.cute.arch": {
        "ProxyKind": (ProxyKind, 'the proxy as text: "async.shared"'),
        "SharedSpace": (SharedSpace, 'the space as text: "cta" or "cluster"'),
    }
}

# Modules that have moved.
MODULES = {"cutlass.base_dsl._mlir_helpers": "cutlass._mlir_helpers"}


def find(module: str, name: str) -> Any:
    """What `name` is in an earlier release's `module`, or None.

    An enumeration is warned of where it is named, and a function where it is called: whoever rewrites the author's
    text looks up what is called.
    """
    if name in _ENUMERATIONS.get(module, {}):
        value, now = _ENUMERATIONS[module][name]
        _warn(f"{module.removeprefix('cutlass.')}.{name}", now)
        return value
    return _FUNCTIONS.get(module, {}).get(name)


def _warn(name: str, now: str) -> None:
    warn_not_portable(f"`{name}` is a name of earlier releases", fix=f"write {now}")
