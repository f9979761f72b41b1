"""`qd.random` and `qd.randn`: different numbers for every launch, task, thread and call.

A number is a hash of (how many kernels with random numbers ran since qd.init, task, thread, how many numbers the thread
took in this task) under the key `random_seed`, so that a program gives the same numbers on every device.
Source: Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3 (2011): Philox4x32-10.
"""

from __future__ import annotations

import math
from typing import Any

from dsl.core import trace
from dsl.core.number.dtypes import Float32, Float64, Int32, Int64, Numeric, Uint32, Uint64
from dsl.core.phrase import shown
from dsl.quadrants import runtime
from dsl.quadrants.errors.errors import QuadrantsRuntimeError, QuadrantsTypeError
from dsl.quadrants.functions.task import Program, Task, active, dynamic, program
from dsl.quadrants.values import dtypes as types, ops
from dsl.quadrants.values.assignable import Element, Storage, Variable

ROUNDS = 10
_MULTIPLIERS, _WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


class Launches:
    """The number of kernels with random numbers that ran since qd.init: a word on the device."""

    def __init__(self):
        self.memory = runtime.Memory(4, "random numbers")

    def address(self) -> int:
        self.memory.check()
        return self.memory.address


def _launches() -> Launches:
    state, launches = runtime.Runtime, runtime.Runtime.random
    if launches is None or launches.memory.generation != state.generation:
        state.random = launches = Launches()
    return launches


def _count(traced: Program) -> Element:
    source = _launches()
    return Element(traced.pointer(source, Uint32, source.address))


def _counter(task: Task) -> Variable:
    """The variable that counts the random numbers of a thread in `task`."""
    counters = task.program.random_numbers
    if id(task) not in counters:
        storage = Storage(Uint32)
        with trace.within(task, task.prologue):
            storage.local.store(Uint32(0))
        counters[id(task)] = storage
    return Variable(Uint32, None, counters[id(task)])


def _words() -> list[Numeric]:
    """Four fresh words of 32 random bits."""
    traced = program()
    task = traced.task
    task.effect()
    counter = _counter(task)
    number = counter.load()
    counter.store(number + Uint32(1))
    position = [
        _count(traced).load(),
        Uint32(next(k for k, each in enumerate(traced.tasks) if each is task)),
        Uint32(task.thread_number()),
        number,
    ]
    seed = runtime.check().random_seed & 0xFFFFFFFFFFFFFFFF
    key = [seed & 0xFFFFFFFF, seed >> 32]
    return _hashed([dynamic(word) for word in position], key)


def _hashed(words: list[Numeric], key: list[int]) -> list[Numeric]:
    """Philox4x32-10 of four words under a key of two."""
    for _ in range(ROUNDS):
        products = [Uint64(words[2 * k]) * Uint64(_MULTIPLIERS[k]) for k in (0, 1)]
        high, low = zip(*((Uint32(product >> Uint64(32)), Uint32(product)) for product in products))
        words = [high[1] ^ words[1] ^ Uint32(key[0]), low[1], high[0] ^ words[3] ^ Uint32(key[1]), low[0]]
        key = [(part + step) & 0xFFFFFFFF for part, step in zip(key, _WEYL)]
    return words


def advance(traced: Program) -> None:
    """At the end of a kernel with random numbers: the next launch has others."""
    if traced.random_numbers:
        place = _count(traced)
        place.store(place.load() + Uint32(1))


def random(dtype: Any = float):
    """A random number: of a float type evenly in [0, 1), of an integer type of 32 or 64 bits any of its values.

    Raises QuadrantsTypeError for other types, QuadrantsRuntimeError outside kernels.
    """
    if not active():
        raise QuadrantsRuntimeError("qd.random works in a kernel or func only", "use Python's random, or numpy.random")
    element = types.of(dtype)
    if element is None or (element.core.is_integer and element.core.width < 32):
        raise QuadrantsTypeError.at(
            f"qd.random gives f16, f32, f64, i32, i64, u32 or u64, not {shown(dtype)}",
            "take qd.random(qd.i32), and convert",
        )
    words = _words()
    wide = Uint64(words[0]) << Uint64(32) | Uint64(words[1])
    if element.core.is_integer:
        return element.core(
            Int32(words[0])
            if element.core is Int32
            else words[0]
            if element.core.width == 32
            else Int64(wide)
            if element.core is Int64
            else wide
        )
    if element.core is Float64:
        return Float64(wide >> Uint64(11)) * Float64(2.0**-53)
    bits = 11 if element.core.width == 16 else 24
    number = Float32(words[0] >> Uint32(32 - bits)) * Float32(2.0**-bits)
    return element.core(number)


def randn(dt=None):
    """A random number of the standard normal distribution (Box and Muller), of a float type."""
    if not active():
        raise QuadrantsRuntimeError("qd.randn works in a kernel or func only", "use numpy.random.standard_normal()")
    element = types.of(dt or float)
    if element is None or not element.core.is_float:
        raise QuadrantsTypeError.at(f"qd.randn gives f16, f32 or f64, not {shown(dt)}", "take qd.randn(), and convert")
    core = element.core
    u = core(1.0) - random(element)  # never 0, whose logarithm is infinite
    return ops.sqrt(core(-2.0) * ops.log(u)) * ops.cos(core(2 * math.pi) * random(element))
