"""Prints what the keywords of a launch leave in the PTX, and what the launch gives; run under both compilers."""

import os
import re
import tempfile

import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor

LAUNCHES = [
    {},
    {"min_blocks_per_mp": 1},
    {"min_blocks_per_mp": 0},
    {"min_blocks_per_mp": -1},
    {"max_number_threads": (64, 1, 1)},
    {"max_number_threads": [16, 4, 1]},
    {"max_number_threads": [0, 0, 0]},
    {"max_number_threads": [32, 1, 1], "min_blocks_per_mp": 1},
    {"cooperative": True},
    {"use_pdl": True},
    {"smem": None},
    {"smem": 1024},
    {"cluster": None},
    {"cluster": (1, 1, 1)},
    {"fallback_cluster": (1, 1, 1)},
    {"async_deps": []},
    {"preferred_smem_carveout": 50},
    {"smem_merge_branch_allocs": True},
    {"launch_completion_event": None, "programmatic_event": None},
    {"blocks": 3},
    {"min_blocks_per_mp": "2"},
]
os.chdir(tempfile.mkdtemp())


@cute.kernel
def kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    a[t] = a[t] * 2


for keywords in LAUNCHES:

    @cute.jit
    def host(a: cute.Tensor):
        kernel(a).launch(grid=1, block=32, **keywords)

    try:
        fake = make_fake_compact_tensor(Float32, (64,), assumed_align=16)
        ptx = cute.compile(host, fake, options="--keep-ptx").__ptx__
        data = torch.ones(64)
        host(from_dlpack(data))
        print(keywords, re.findall(r"^\.(?:maxntid|reqntid|minnctapersm).*", ptx, re.MULTILINE), data.sum().item())
    except Exception:
        print(keywords, "refused")
