"""Prints, as JSON, what a generated program stores when a compiler runs it on the host: `on_host.py PROGRAM`."""

import importlib.util
import json
import sys
import warnings

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

THREADS, SLOTS, UNTOUCHED = 4, 32, -987654321

warnings.simplefilter("ignore")
spec = importlib.util.spec_from_file_location("generated", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


@cute.jit
def call(inputs: cute.Tensor, ints: cute.Tensor, floats: cute.Tensor, thread: cutlass.Int32):
    module.program(inputs, ints, floats, thread)


inputs = np.array(module.INPUTS, np.int32)
ints, floats = np.full(THREADS * SLOTS, UNTOUCHED, np.int64), np.full(THREADS * SLOTS, float(UNTOUCHED))
tensors = [from_dlpack(array) for array in (inputs, ints, floats)]
compiled = cute.compile(call, *tensors, cutlass.Int32(0))
for thread in range(THREADS):
    compiled(*tensors, thread)
print(json.dumps({"ints": ints.tolist(), "floats": floats.tolist()}))
