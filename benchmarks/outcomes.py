"""All outcomes of litmus tests on the emulator: CPU seconds from PTX to the last outcome, the best of several.

    uv run python benchmarks/outcomes.py [--samples 5]

- SB: two threads store and load. MP: a message with release and acquire. IRIW: two writers, two readers.
- 4 x 3: four threads, each stores to its own place and loads the places of two others; twelve accesses.

Each thread also stores what it loaded, so that each answer is another outcome. The goal is 2 s for each.
"""

from __future__ import annotations

import argparse
import struct
import time

import numpy as np

from dsl import emulator
from dsl.emulator.execute.outcomes import Outcomes

GOAL_S = 2.0


def store(place: int, order: str = "relaxed.gpu.", value: int | str = 1) -> str:
    return f"st.{order}global.u32 [%m+{4 * place}], {value};"


def load(register: int, place: int, order: str = "relaxed.gpu.") -> str:
    return f"ld.{order}global.u32 %r{register}, [%m+{4 * place}];"


def keep(thread: int, *registers: int) -> str:
    return " ".join(store(16 + 2 * thread + n, "", f"%r{register}") for n, register in enumerate(registers))


TESTS = {
    "SB": [store(n) + load(1, 1 - n) + keep(n, 1) for n in range(2)],
    "MP": [store(0, "") + store(1, "release.gpu."), load(1, 1, "acquire.gpu.") + load(2, 0, "") + keep(1, 1, 2)],
    "IRIW": [
        store(0),
        store(1),
        load(1, 0, "acquire.gpu.") + load(2, 1, "acquire.gpu.") + keep(2, 1, 2),
        load(1, 1, "acquire.gpu.") + load(2, 0, "acquire.gpu.") + keep(3, 1, 2),
    ],
    "4 x 3": [store(n) + load(1, (n + 1) % 4) + load(2, (n + 2) % 4) + keep(n, 1, 2) for n in range(4)],
}


def ptx(threads: list[str]) -> str:
    """A kernel of one block a thread."""
    jumps = " ".join(f"setp.eq.u32 %p, %b, {n}; @%p bra T{n};" for n, _ in enumerate(threads))
    bodies = "\n".join(f"T{n}: {body} ret;" for n, body in enumerate(threads))
    return f""".version 9.0
.target sm_90a
.address_size 64
.visible .entry test(.param .u64 memory)
{{
  .reg .b64 %m; .reg .b32 %b, %r<4>; .reg .pred %p;
  ld.param.u64 %m, [memory]; mov.u32 %b, %ctaid.x;
  {jumps} ret;
{bodies}
}}
"""


def sample(threads: list[str], number: int) -> tuple[float, int]:
    """CPU seconds and the number of outcomes; by its number each sample is compiled again."""
    data, memory = np.zeros(32, np.uint32), emulator.Memory()
    memory.register(data.ctypes.data, data.nbytes, "memory")
    begun = time.process_time()
    program = emulator.load(f"// {number}\n{ptx(threads)}")
    found = Outcomes(program, "test", (len(threads), 1, 1), (1, 1, 1), [struct.pack("<Q", data.ctypes.data)], memory)
    count = len(list(found))
    seconds = time.process_time() - begun
    assert found.is_complete
    return seconds, count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5)
    samples = parser.parse_args().samples
    sample(TESTS["SB"], -1)  # imports and the library
    for name, threads in TESTS.items():
        rows = [sample(threads, number) for number in range(samples)]
        seconds, count = min(rows)
        print(
            f"{name:6} {count:4} outcomes {seconds:6.3f} s{'' if seconds < GOAL_S else '  over the goal'}", flush=True
        )


if __name__ == "__main__":
    main()
