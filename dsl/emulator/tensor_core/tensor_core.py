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
    fp8_fraction_bits: int  # the same of `mma` of 8-bit floats; 0: two sums of f16, then the accumulator is added


TENSOR_CORES = {
    each.__name__: TensorCore(each.__name__, each.FRACTION_BITS, bool(each.SPLITS), each.FP8_FRACTION_BITS)
    for each in (numbers.ampere, numbers.ada, numbers.hopper, numbers.blackwell, numbers.blackwell_geforce)
}

GPU_MODELS = {  # the name that a user gives -> whose tensor cores it has
    **dict.fromkeys(("a100", "a30", "a10", "a40", "rtx3090"), "ampere"),
    **dict.fromkeys(("l4", "l40", "l40s", "rtx4090"), "ada"),
    **dict.fromkeys(("h100", "h200", "h800", "gh200"), "hopper"),
    **dict.fromkeys(("b200", "b300"), "blackwell"),
    "rtx5090": "blackwell_geforce",
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
