"""The attributes of an H100, by CUdevice_attribute; cudaDeviceAttr has the same numbers.  CUDA driver API."""

from __future__ import annotations

from dsl.launch.devices.torch_mapping import torch_cuda

_OF = torch_cuda.PROPERTIES
NAME, TOTAL_BYTES = "PTX emulator", _OF["total_memory"]
DRIVER_VERSION = 13090  # above every CUDA 13 release, so that PTX of any NVRTC 13.x is accepted
COUNT = 149  # attributes that a driver of this version answers; those without a row below are 0
RESERVED_SMEM_BYTES, BLOCKS_PER_SM = 1024, 32
PORTABLE_CLUSTER_BLOCKS = 8
UUID = b"PTX-emulator-001"

ATTRIBUTES = {
    1: _OF["max_threads_per_block"],
    2: 1024, 3: 1024, 4: 64,  # extents of a block
    5: 2**31 - 1, 6: 65535, 7: 65535,  # and of a grid
    8: _OF["shared_memory_per_block"],
    9: 65536,  # constant memory
    10: _OF["warp_size"],
    11: 2**31 - 1,  # pitch
    12: _OF["regs_per_multiprocessor"],  # of a block
    13: 1_980_000,  # clock, kHz
    14: 512,  # texture alignment
    15: 1,
    16: _OF["multi_processor_count"],
    19: 1,  # maps host memory
    30: 512,  # surface alignment
    31: 1,  # concurrent kernels
    32: 1,  # ECC
    33: 1,  # PCI bus
    36: 2_619_000,  # memory clock, kHz
    37: 5120,  # bits of the bus
    38: _OF["L2_cache_size"],
    39: _OF["max_threads_per_multi_processor"],
    40: 3,  # copy engines
    41: 1,  # unified addressing
    51: 32,  # texture pitch
    75: _OF["major"], 76: _OF["minor"],
    78: 1, 79: 1, 80: 1,  # stream priorities, L1 of globals and locals
    81: _OF["shared_memory_per_multiprocessor"],
    82: _OF["regs_per_multiprocessor"],
    83: 1,  # managed memory
    87: 2,  # single to double
    88: 0, 89: 1, 90: 1,  # no pageable memory of the host; concurrent managed access, preemption
    95: 1,  # cooperative launches
    97: _OF["shared_memory_per_block_optin"],
    99: 1,  # registers host memory
    106: BLOCKS_PER_SM,
    108: 32 << 20,  # persisting L2
    109: 134_213_632,  # access policy window
    111: RESERVED_SMEM_BYTES,
    115: 0,  # no memory pools, which libraries then do without
    120: 1,  # clusters
    127: 1,  # tensor maps
    129: 1,  # unified function pointers
}  # fmt: skip
