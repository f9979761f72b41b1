"""Modules of upstream's that are only places of names: an implementation module of its package, a dialect of MLIR,
and those that are not here at all, which a library may import and not use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from dsl.core.diagnosis import unsupported_names
from dsl.cutlass import earlier_releases, unsupported, upstream
from dsl.cutlass.cute.nvgpu.tcgen05 import CtaGroup
from dsl.tile.mma.mma import MmaOperation
from dsl.tile.tensor.constant import CopyOp
from dsl.tile.tensor.index import as_index
from dsl.tile.tensor.modes import as_tiler
from dsl.tile.tensor.tensor import Tensor

# Implementation modules, whose names their packages have too. Programs import from either.
IMPLEMENTATIONS = {
    "cutlass.cute": ("algorithm", "atom", "core", "tensor", "tuple"),
    "cutlass.cute.arch": ("constants", "elect", "mbar", "numeric_conversion", "nvvm_wrappers", "smem"),
    "cutlass.cute.nvgpu": ("common", "helpers"),
    "cutlass.cute.nvgpu.cpasync": ("copy", "helpers"),
    "cutlass.cute.nvgpu.warp": ("copy", "mma"),
    "cutlass.cute.nvgpu.warpgroup": ("helpers", "mma"),
    "cutlass.pipeline": ("helpers", "sm90"),
    "cutlass.memory": ("smem",),
    "cutlass.tensor_utils": ("layout", "tensormap"),
    "cutlass.utils": (
        "hardware_info",
        "layout",
        "smem_allocator",
        "static_persistent_tile_scheduler",
        "grouped_gemm_persistent_tile_scheduler",
        "tensormap_manager",
    ),
}

# Names that only an implementation module has.
HIDDEN: dict[str, dict[str, Any]] = {
    "cutlass.cute.atom": {"CopyOp": CopyOp, "MmaOp": MmaOperation},
    "cutlass.cute.nvgpu.tcgen05.mma": {"CtaGroup": CtaGroup},
    "cutlass.cute.core": {"_pack_coord": as_index, "_pack_shape": as_index, "_pack_tile": as_tiler},
    "cutlass.cute.tensor": {"_Tensor": Tensor},
}


def module(name: str, attribute: Callable[[str], Any], names: Callable[[], list[str]] = list) -> ModuleType:
    """A module that can be imported as `name` of upstream, whose attributes `attribute` gives."""
    stand_in = ModuleType(f"dsl.{name}", f"`{name}`.")
    stand_in.__spec__ = ModuleSpec(stand_in.__name__, None, is_package=True)
    stand_in.__path__ = []

    def get(asked: str) -> Any:
        if asked.startswith("__"):
            raise AttributeError(asked)
        value = attribute(asked)
        setattr(stand_in, asked, value)
        return value

    stand_in.__dict__.update(__getattr__=get, __dir__=names)
    sys.modules[stand_in.__name__] = stand_in
    return stand_in


def register_implementations() -> None:
    """Let every module of IMPLEMENTATIONS that is not here be imported: its names are the names of its package."""
    for package, inner in IMPLEMENTATIONS.items():
        whole = importlib.import_module(f"dsl.{package}")
        if not hasattr(whole, "__path__"):  # only packages have modules
            whole.__path__ = []
        for name in inner:
            if f"{whole.__name__}.{name}" not in sys.modules:
                module(
                    f"{package}.{name}",
                    _of(whole, HIDDEN.get(f"{package}.{name}", {})),
                    lambda whole=whole: list(whole.__all__),
                )


def _of(whole: ModuleType, hidden: dict[str, Any]) -> Callable[[str], Any]:
    return lambda name: hidden[name] if name in hidden else getattr(whole, name)


def _missing(name: str) -> bool:
    """Make upstream's module `name`, whose every name is refused where it is used; or find it where it is now."""
    for old, now in earlier_releases.MODULES.items():
        if name == old or name.startswith(f"{old}."):
            sys.modules[f"dsl.{name}"] = importlib.import_module(f"dsl.{now}{name.removeprefix(old)}")
            return True
    if name not in upstream.modules():
        return False
    own = HIDDEN.get(name, {})
    module(name, lambda asked: own.get(asked) or unsupported_names.RefusedWhenUsed(f"{name}.{asked}", unsupported.FIX))
    return True


unsupported_names.know_stand_ins(_missing)
