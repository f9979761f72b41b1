"""The first launch of small kernels in a fresh process here and in another checkout: CPU milliseconds without imports.

    uv run python benchmarks/first_launches.py ../other-checkout [--samples 5]

The other checkout runs in its own .venv. Both take turns; the least of the samples counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import emulator
import wgmma

HERE = Path(__file__).parents[1]
SHUFFLE = """.visible .entry shuffle(.param .u64 out)
{
  .reg .b32 %t, %v; .reg .b64 %o, %off;
  mov.u32 %t, %tid.x; shfl.sync.bfly.b32 %v, %t, 1, 31, -1;
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off; st.global.u32 [%o], %v;
  ret;
}
"""
COPY = """.visible .entry copy(.param .u64 out)
{
  .shared .align 128 .b8 a[1024]; .shared .align 8 .b64 full;
  .reg .b32 %t, %v, %i; .reg .b64 %o, %off, %state; .reg .pred %first, %done;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [full], 1; bar.sync 0; @!%first bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 %state, [full], 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [%o], 1024, [full];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [full], 0; @!%done bra WAIT;
  mov.u32 %i, a; mad.lo.u32 %i, %t, 4, %i; ld.shared.u32 %v, [%i];
  mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off; st.global.u32 [%o+2048], %v;
  ret;
}
"""
# The PTX, its entry, threads, and the parameters: a number, or "p" for the address of 1 MiB.
KERNELS = {
    "barrier": (emulator.HEADER + emulator.EXCHANGE.replace("{load}", emulator.STRONG), "exchange", 1024, [10, "p"]),
    "shuffle": (emulator.HEADER + SHUFFLE, "shuffle", 128, ["p"]),
    "mma": (emulator.HEADER + emulator.MMA, "product", 128, [10, "p"]),
    "wgmma": (wgmma.ptx(), "product", 256, ["p", "p", "p", 1]),
    "bulk copy": (emulator.HEADER + COPY, "copy", 128, ["p"]),
}
CHILD = """
import json, sys, time
import numpy as np
from dsl import emulator
text, entry, threads, values = json.load(sys.stdin)
memory, data = emulator.Memory(), np.zeros(1 << 20, np.uint8)
memory.register(data.ctypes.data, data.nbytes, "data")
params = [data.ctypes.data.to_bytes(8, "little") if v == "p" else v.to_bytes(4, "little") for v in values]
start = time.process_time()
program = emulator.load(text)
emulator.launch(program, entry, (1, 1, 1), (threads, 1, 1), params, memory)
print(time.process_time() - start)
"""


def first(checkout: Path, kernel: tuple) -> float:
    """Milliseconds of CPU in a process of a checkout."""
    python = checkout / ".venv/bin/python"
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    argv = [str(python if python.exists() else sys.executable), "-c", CHILD]
    done = subprocess.run(
        argv, input=json.dumps(kernel), capture_output=True, text=True, env=environment, cwd=checkout, check=True
    )
    return 1e3 * float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--samples", type=int, default=5, help="samples of each, besides the one dropped")
    options = parser.parse_args()
    other = options.other.resolve()
    print(f"{'first launch of':16}{'here':>8}{'there':>8}{'ratio':>8}   CPU ms, least of {options.samples}")
    for name, kernel in KERNELS.items():
        rows = [(first(HERE, kernel), first(other, kernel)) for _ in range(options.samples + 1)][1:]
        here, there = (min(each) for each in zip(*rows))
        print(f"{name:16}{here:8.1f}{there:8.1f}{here / there:8.2f}")


if __name__ == "__main__":
    main()
