"""`quadrants.lang.impl`: the configuration in force and the defaults."""

from __future__ import annotations

import re

from dsl.launch import session
from dsl.quadrants import runtime
from dsl.quadrants.errors.refused_names import inner
from dsl.quadrants.syntax import hooks
from dsl.quadrants.values import dtypes
from dsl.quadrants.values.ops import float_ as qd_float, int_ as qd_int  # noqa: F401
from dsl.tile.memory.memory import CAPACITY_BYTES


def current_cfg() -> runtime.Config:
    """The options of qd.init in force."""
    return runtime.check()


def get_runtime() -> _Runtime:
    """The runtime between qd.init and qd.reset."""
    return _Runtime()


def get_max_shared_memory_bytes(*, is_lowerbound_ok: bool) -> int:
    """The shared memory that a block may have, in bytes."""
    return CAPACITY_BYTES[re.sub("[af]$", "", session.current().device.arch)]


def get_cuda_compute_capability() -> int:
    """The compute capability of the device: 90 for sm_90."""
    return int(re.sub("\\D", "", session.current().device.arch))


def subscript(_builder: object, value: object, *indices: object) -> object:
    """`value[indices]` in a kernel."""
    return hooks.item(value, indices[0] if len(indices) == 1 else tuple(indices))


class _Runtime:
    """The defaults, and on the way to the configuration upstream's objects, which are all this one."""

    def set_default_ip(self, dtype: dtypes.DataType) -> None:
        dtypes.Defaults.ip = dtypes.existing(dtype)

    def set_default_fp(self, dtype: dtypes.DataType) -> None:
        dtypes.Defaults.fp = dtypes.existing(dtype)

    default_ip = property(lambda self: dtypes.Defaults.ip)
    default_fp = property(lambda self: dtypes.Defaults.fp)

    def config(self) -> runtime.Config:
        return current_cfg()

    def ast_builder(self) -> _Runtime:
        return self

    prog = compiling_callable = property(lambda self: self)


__getattr__ = inner("lang.impl")
