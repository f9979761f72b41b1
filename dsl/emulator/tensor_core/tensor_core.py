"""The tensor cores of each architecture and the GPU models that have them; what they compute: tensor_core.h."""

from __future__ import annotations

from dataclasses import dataclass

from dsl.emulator.tensor_core import numbers
from dsl.emulator.tensor_core.fragments import Mma


@dataclass(frozen=True)
class TensorCore:
    """The numbers of one architecture's tensor cores. `fraction_bits`: those that aligned terms keep."""

    name: str
    fraction_bits: int
    splits: bool  # the widest shapes are two sums, one for each half of K
    fp8_as_f16: bool  # 8-bit floats as two sums of f16 and an addition of the accumulator; else 13 fraction bits


TENSOR_CORES = {
    each.__name__: TensorCore(each.__name__, each.FRACTION_BITS, bool(each.SPLITS), bool(each.FP8_AS_F16))
    for each in (numbers.ampere, numbers.ada, numbers.hopper)
}

GPU_MODELS = {  # the name that a user gives -> whose tensor cores it has
    **dict.fromkeys(("a100", "a30", "a10", "a40", "rtx3090"), "ampere"),
    **dict.fromkeys(("l4", "l40", "l40s", "rtx4090"), "ada"),
    **dict.fromkeys(("h100", "h200", "h800", "gh200"), "hopper"),
}
DEFAULT_GPU_MODEL = "h100"


def of_gpu(name: str) -> TensorCore:
    """The tensor cores of a GPU model. Raises ValueError for one whose numbers nobody measured."""
    if name not in GPU_MODELS:
        raise ValueError(f"unknown GPU model {name}: the emulator has {', '.join(GPU_MODELS)}")
    return TENSOR_CORES[GPU_MODELS[name]]


def is_modelled(form: Mma) -> bool:
    """Whether the form is of floats that are not doubles: doubles are chains of fma, integers exact."""
    return form.c in ("f32", "f16")
