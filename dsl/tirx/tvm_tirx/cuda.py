"""T.cuda of tvm_tirx: the functions that tvm's T.cuda has, launches, and the indices of a thread."""

from dsl.tirx.errors.unsupported import module_getattr as _refuser
from dsl.tirx.functions import cuda as _shared
from dsl.tirx.tvm_tirx import indices as _indices
from dsl.tirx.tvm_tirx.indices import *  # noqa: F403
from dsl.tirx.tvm_tirx.launch import KernelAttributes, LaunchConfig
from dsl.tirx.tvm_tirx.upstream_names import CUDA as _UPSTREAM

SHARED = tuple(
    name
    for name, value in vars(_shared).items()
    if callable(value) and getattr(value, "__module__", "").startswith("dsl.tirx.functions.") and name[:4] != "_ref"
)
globals().update({name: getattr(_shared, name) for name in SHARED})

__all__ = ["KernelAttributes", "LaunchConfig", *_indices.__all__]
__getattr__ = _refuser("T.cuda", globals(), _UPSTREAM)
