# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90a"
# nvidia = { "<4.4" = { xfail = "setmaxregister_decrease is not there yet" } }
# ///
"""A warpgroup that gives registers back and one that takes them keep their values: setmaxnreg moves none that are used.
Source: PTX ISA, setmaxnreg (.dec releases extra registers; .inc waits for them and leaves theirs undefined).
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    value = x[thread]
    if warp < 4:
        # CHECK-PTX-DAG: setmaxnreg.dec.sync.aligned.u32 40
        cute.arch.setmaxregister_decrease(40)
        out[thread] = value + 1
    else:
        # CHECK-PTX-DAG: setmaxnreg.inc.sync.aligned.u32 232
        cute.arch.setmaxregister_increase(232)
        out[thread] = 2 * value


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor):
    # with the registers at launch known, 232 a thread: without that ptxas ignores setmaxnreg
    kernel(x, out).launch(grid=(1, 1, 1), block=(256, 1, 1), min_blocks_per_mp=1)


def run():
    x = torch.arange(256, dtype=torch.int32, device="cuda")
    out = torch.full((256,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(out))
    return {"out": out}


def expected():
    x = np.arange(256, dtype=np.int32)
    return {"out": np.where(x < 128, x + 1, 2 * x)}


if __name__ == "__main__":
    print(run())
