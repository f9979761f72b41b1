"""The places of the variables of an entry, in each state space."""

from __future__ import annotations

from dataclasses import dataclass, field

from dsl.emulator.tensor_core import tensor_core
from dsl.emulator.tensor_core.tensor_core import TensorCore

# Shared memory of the system, which CUDA's headers use for groups of several warps: PTX ISA, %reserved_smem_offset_1.
RESERVED, RESERVED_BYTES = "%reserved_smem", 1024


@dataclass
class Places:
    """The places of variables: name -> (space, offset in that space's area); and the GPU's tensor cores."""

    rows: dict = field(default_factory=dict)
    smem_static: int = 0
    local_bytes: int = 0
    param_offsets: list = field(default_factory=list)
    param_bytes: int = 0
    const_bytes: int = 0  # .const variables are the first of a module
    tensor_core: TensorCore = tensor_core.of_gpu(tensor_core.DEFAULT_GPU_MODEL)
