# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm"]
# [tool.repro]
# arch = "sm_80"
# outcome = "rejected"
# ///
"""A constant index past the end of a buffer is an error.
Source: TIRx, Buffers and memory; apache-tvm 0.26.0 compiles it without a word.
"""

import tvm
from tvm.script import tirx as T


def run():
    @T.prim_func
    def main(out: T.Buffer((64,), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([1])
        out[64] = 1

    tvm.compile(tvm.IRModule({"main": main}), target="cuda", tir_pipeline="tirx")
    return {}


if __name__ == "__main__":
    print(run())
