"""All outcomes of a kernel in PTX, as numbers: for tests of the memory model on the device."""

from __future__ import annotations

import struct

import numpy as np

from dsl import emulator
from dsl.emulator.execute.outcomes import Outcomes

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .b64 %a, %b, %d<8>; .reg .b32 %n, %r<16>; .reg .f32 %f<4>; .reg .b16 %h<4>; .reg .pred %p, %q;"


class Explored:
    """A kernel of some threads on `words` words of 32 bits. It has the address of the words in %a, the address of the
    thread's own word in %b, and the number of the thread among all threads in %n. `shape`: of the grid and a cluster,
    where they are not rows of blocks."""

    def __init__(
        self,
        body,
        grid=2,
        block=1,
        words=8,
        initial=(),
        cluster=1,
        declared="",
        functions="",
        shape=None,
        header=HEADER,
        **options,
    ):
        shapes = shape or ((grid, 1, 1), (cluster, 1, 1))
        ptx = f"""{header}{functions}.visible .entry k(.param .u64 p) {{
{REGISTERS} {declared}
ld.param.u64 %a, [p]; mov.u32 %r14, %ctaid.x; mov.u32 %r15, %ntid.x; mov.u32 %n, %tid.x;
mad.lo.u32 %n, %r14, %r15, %n; mul.wide.u32 %b, %n, 4; add.u64 %b, %a, %b;
{body}
ret;
}}
"""
        self.data = np.zeros(words, np.uint32)
        self.data[: len(initial)] = initial
        self._memory = emulator.Memory()
        self._memory.register(self.data.ctypes.data, self.data.nbytes, "a")
        self.found = Outcomes(
            emulator.load(ptx), "k", shapes[0], (block, 1, 1), [struct.pack("<Q", self.data.ctypes.data)],
            self._memory, cluster=shapes[1], **options,
        )  # fmt: skip
        self.outcomes = list(self.found)
        assert [*self.data[: len(initial)]] == [*initial]

    @property
    def is_complete(self) -> bool:
        return self.found.is_complete

    @property
    def stuck(self) -> set[tuple[int, ...]]:
        """The threads that wait for ever, of each outcome that has some."""
        return {tuple(thread for thread, _ in each.stuck) for each in self.outcomes if each.stuck}

    def values(self, *places: int) -> set[tuple[int, ...]]:
        """The values that these words may have at the end."""
        every = set()
        for each in self.outcomes:
            if not each.stuck:
                data = self.data.copy()
                for place, value in each.final:
                    at = place.address - self.data.ctypes.data
                    data.view(np.uint8)[at : at + place.size_bytes] = [*value.to_bytes(place.size_bytes, "little")]
                every.add(tuple(int(data[i]) for i in places))
        return every


def threads(*bodies: str) -> str:
    """A kernel in which each thread has a separate body."""
    jumps = "".join(f"setp.eq.u32 %p, %n, {i}; @%p bra T{i};\n" for i, _ in enumerate(bodies))
    return jumps + "ret;\n" + "\n".join(f"T{i}: {body} ret;" for i, body in enumerate(bodies))


def store(place: int, value: int | str = 1, order: str = "relaxed.gpu") -> str:
    return f"st{order and '.' + order}.global.u32 [%a+{4 * place}], {value}; "


def load(register: int, place: int, order: str = "relaxed.gpu") -> str:
    return f"ld{order and '.' + order}.global.u32 %r{register}, [%a+{4 * place}]; "
