"""The attributes of an H100, by CUdevice_attribute; cudaDeviceAttr has the same numbers.  CUDA driver API."""

from __future__ import annotations

from dsl.launch.devices.torch_mapping import torch_cuda
from dsl.launch.driver import tables

NAME, TOTAL_BYTES = "PTX emulator", torch_cuda.PROPERTIES["total_memory"]
UUID = b"PTX-emulator-001"
_POOLS = 115  # libraries do without them where there are none
ATTRIBUTES = tables.attributes() | {_POOLS: 0}  # those without a row are 0
_NUMBERS = tables.numbers()
DRIVER_VERSION, COUNT = _NUMBERS["DRIVER_VERSION"], _NUMBERS["DEVICE_ATTRIBUTES"]
RESERVED_SMEM_BYTES, BLOCKS_PER_SM = ATTRIBUTES[111], ATTRIBUTES[106]
PORTABLE_CLUSTER_BLOCKS, MOST_CLUSTER_BLOCKS = _NUMBERS["PORTABLE_CLUSTER_BLOCKS"], _NUMBERS["MOST_CLUSTER_BLOCKS"]
