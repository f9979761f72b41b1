"""`qd.extension`: names of features that only some architectures have. Ours have 64-bit numbers and assertions."""

from __future__ import annotations

adstack, assertion, bls, data64, dynamic_index, mesh, quant, quant_basic, sparse = (
    "adstack",
    "assertion",
    "bls",
    "data64",
    "dynamic_index",
    "mesh",
    "quant",
    "quant_basic",
    "sparse",
)
_SUPPORTED = {assertion, data64}


def is_extension_supported(_arch: object, extension: str) -> bool:
    """Whether kernels for an architecture can use it."""
    return extension in _SUPPORTED


def is_extension_enabled(ext: str) -> bool:
    """Whether kernels can use it now."""
    return ext in _SUPPORTED
