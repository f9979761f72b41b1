# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { votes = ["none", "one", "even", "high", "all"] }
# ///
"""Bit n of vote.sync.ballot is lane n's predicate; any and all are its OR and AND, the same in every lane.
Source: PTX ISA, vote.sync.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

LANES = 32
VOTES = {"none": 0x00000000, "one": 0x00000080, "even": 0x55555555, "high": 0xFFFF0000, "all": 0xFFFFFFFF}


@cute.kernel
def kernel(votes: cute.Tensor, out: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    vote = votes[lane] != 0
    # CHECK-PTX-DAG: vote.sync.ballot.b32
    # CHECK-PTX-DAG: vote.sync.any.pred
    # CHECK-PTX-DAG: vote.sync.all.pred
    out[0, lane] = cute.arch.vote_ballot_sync(vote)
    out[1, lane] = cutlass.Int32(cute.arch.vote_any_sync(vote))
    out[2, lane] = cutlass.Int32(cute.arch.vote_all_sync(vote))


@cute.jit
def host(votes: cute.Tensor, out: cute.Tensor):
    kernel(votes, out).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def run(votes):
    lanes = [VOTES[votes] >> lane & 1 for lane in range(LANES)]
    ballot = torch.tensor(lanes, dtype=torch.int32, device="cuda")
    out = torch.full((3, LANES), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(ballot), from_dlpack(out))
    return {"ballot": out[0], "any": out[1], "all": out[2]}


def expected(votes):
    bits = VOTES[votes]
    ballot = np.full(LANES, bits, np.uint32).view(np.int32)
    ones = np.ones(LANES, np.int32)
    return {"ballot": ballot, "any": ones * (bits != 0), "all": ones * (bits == 0xFFFFFFFF)}


if __name__ == "__main__":
    print(run(votes="none"))
