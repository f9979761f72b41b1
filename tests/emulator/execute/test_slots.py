"""Launches made again: a shape that came before finds its slot ready, and does what the first launch did.

Modules tested here: dsl/emulator/execute/repeats.py.
"""

import ctypes
import os
import threading

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.execute import slots
from dsl.emulator.execute.repeats import EVERY, MOST, _kept, take
from dsl.emulator.machine.numbers import relaunch

ADD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 by)
{
  .reg .b32 %t, %r<5>; .reg .b64 %x, %d; .reg .pred %p;
  .shared .align 4 .b32 once[64];
  ld.param.u64 %x, [x]; ld.param.u32 %r1, [by]; mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 4; add.u64 %x, %x, %d;
  mov.u32 %r3, once; mad.lo.u32 %r3, %t, 4, %r3; ld.shared.u32 %r4, [%r3]; st.shared.u32 [%r3], 5;
  ld.global.u32 %r2, [%x]; add.u32 %r2, %r2, %r1; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, 1; st.global.u32 [%x], %r2;
  ret;
}
"""
THREADS = 64


class Array:
    """An array that a launch may touch."""

    def __init__(self, memory: emulator.Memory, elements: int = THREADS):
        self.values, self.memory = np.zeros(elements, np.uint32), memory
        memory.register(self.values.ctypes.data, self.values.nbytes, "x")

    def gone(self) -> None:
        self.memory.unregister(self.values.ctypes.data)


def add(program, memory, array: Array, by: int, blocks: int = 1, **options) -> None:
    params = [array.values.ctypes.data.to_bytes(8, "little"), by.to_bytes(4, "little")]
    emulator.launch(program, "k", (blocks, 1, 1), (THREADS, 1, 1), params, memory, **options)


@pytest.fixture
def program():
    return emulator.Program(ADD)


def test_each_launch_has_its_own_parameters_and_fresh_shared_memory(program):
    memory = emulator.Memory()
    one, two = Array(memory), Array(memory)
    for by in range(1, 40):
        add(program, memory, one if by % 3 else two, by)
    assert any(key[0] is program for key in _kept)
    assert set(one.values) == {sum(by for by in range(1, 40) if by % 3)}
    assert set(two.values) == {sum(by for by in range(1, 40) if by % 3 == 0)}


def test_a_kernel_may_touch_only_memory_that_is_registered_now(program):
    memory = emulator.Memory()
    for _ in range(3):
        array = Array(memory)
        for by in (1, 2, 3):
            add(program, memory, array, by)
        array.gone()
        with pytest.raises(emulator.Fault) as fault:
            add(program, memory, array, 1)
        assert fault.value.kind == "out_of_bounds" and set(array.values) == {6}
    small = Array(memory, THREADS - 1)
    with pytest.raises(emulator.Fault, match="just past the end of `x`"):
        add(program, memory, small, 1)


def test_a_fault_of_a_launch_made_again_names_the_array_as_it_is_called_now(program):
    memory = emulator.Memory()
    array, values = Array(memory), np.zeros(8, np.uint32)
    for by in (1, 2, 3):
        add(program, memory, array, by)
    array.gone()
    memory.register(array.values.ctypes.data, array.values.nbytes, "renamed")
    array.values, kept = array.values[8:], array.values
    with pytest.raises(emulator.Fault, match="`renamed`"):
        add(program, memory, array, 1)
    array.values = kept
    add(program, memory, array, 1)
    add(program, memory, array, 1)
    assert values.sum() == 0 and set(kept[:8]) == {8}


def test_checks_and_seeds_are_of_one_launch(program):
    memory = emulator.Memory()
    array = Array(memory)
    for by in (1, 2, 3):
        add(program, memory, array, by)
    with pytest.raises(emulator.Fault) as fault:
        add(program, memory, array, 1, checks=("undefined",))
    assert fault.value.kind == "undefined_read"
    add(program, memory, array, 4, seed=3)
    add(program, memory, array, 5)
    assert set(array.values) == {16}


def test_threads_launch_one_program_at_once(program):
    memory = emulator.Memory()
    arrays = [Array(memory) for _ in range(6)]

    def work(array):
        for by in range(200):
            add(program, memory, array, by)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [set(array.values) for array in arrays] == [{sum(range(200))}] * 6


def test_a_fork_has_its_own_slots(program):
    memory = emulator.Memory()
    array = Array(memory)
    for by in (1, 2, 3):
        add(program, memory, array, by)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            add(program, memory, array, 10)
            status = 0 if set(array.values) == {16} else 2
        finally:
            os._exit(status)
    add(program, memory, array, 4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and set(array.values) == {10}


def test_shapes_and_programs_beyond_those_kept_run_all_the_same(program):
    memory = emulator.Memory()
    array = Array(memory)
    for _ in range(3):
        for blocks in range(1, 80):
            add(program, memory, array, 7, blocks)
    assert len(_kept) == MOST


# --- by machine code: what emu_relaunch does with a handle ---

BARRIER = ADD.replace("ld.shared.u32 %r4, [%r3];", "ld.shared.u32 %r4, [%r3]; bar.sync 0;")


class Caller:
    """Launches by machine code alone, where there is a handle."""

    def __init__(self, program, memory, blocks: int = 1, smem_bytes: int = 0):
        shape = "k", (blocks, 1, 1), (THREADS, 1, 1), (1, 1, 1), smem_bytes, (8, 4)
        self.handle = emulator.handle(program, shape, memory)
        self.config = (ctypes.c_uint32 * 14)(blocks, 1, 1, THREADS, 1, 1, smem_bytes)

    def __call__(self, array: Array, by: int) -> int:
        address, number = ctypes.c_uint64(array.values.ctypes.data), ctypes.c_uint32(by)
        params = (ctypes.c_void_p * 2)(ctypes.addressof(address), ctypes.addressof(number))
        code = ctypes.c_void_p.from_address(self.handle).value
        call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)(code)
        return call(ctypes.addressof(self.config), self.handle, ctypes.addressof(params), None)


@pytest.fixture(params=[ADD, BARRIER], ids=["in turn", "barrier"])
def called(request):
    """A program, a memory, an array that was added 1 to three times, and what calls the kernel again."""
    program, memory = emulator.Program(request.param), emulator.Memory()
    array = Array(memory)
    assert emulator.handle(program, ("k",), memory) == 0
    for _ in range(3):
        add(program, memory, array, 1)
    return program, memory, array, Caller(program, memory)


def test_machine_code_makes_a_launch_again(called):
    program, memory, array, call = called
    other = Array(memory)
    add(program, memory, array, 1)  # which prepares for what is registered now
    call.handle = Caller(program, memory).handle
    add(program, memory, array, 1)
    for by in range(1, 20):
        assert call(array, by) == call(other, 7) == 0
    assert set(array.values) == {5 + sum(range(1, 20))} and set(other.values) == {19 * 7}


@pytest.mark.parametrize("what", ["memory", "shape", "shared memory", "watched", "in use"])
def test_machine_code_makes_no_other_launch(called, what):
    program, memory, array, call = called
    used = None
    if what == "memory":
        Array(memory)
    elif what == "shape":
        call.config[0] = 2
    elif what == "shared memory":
        call.config[6] = 4
    elif what == "watched":
        memory.watch(True)
    else:
        used = take(program, ("k", (1, 1, 1), (THREADS, 1, 1), (1, 1, 1), 0, (8, 4)))
        assert used is not None
    assert call(array, 1) == relaunch.ELSEWHERE and set(array.values) == {3}
    if used is not None:
        used.close()


def test_python_looks_at_a_launch_now_and_then(called):
    program, memory, array, call = called
    answers = [call(array, 0) for _ in range(EVERY + 2)]
    assert answers == [0] * EVERY + [relaunch.ELSEWHERE] * 2
    code = program.code("k", THREADS)
    ran_s = code.ran_s
    add(program, memory, array, 0)
    assert code.ran_s > ran_s + EVERY * 1e-7 and call(array, 0) == 0


def test_a_launch_that_machine_code_makes_ends_badly(called):
    program, memory, array, call = called
    gone = np.zeros(THREADS, np.uint32)
    array.values, kept = gone, array.values
    number = call(array, 1)
    assert number > 0 and call(array, 1) == relaunch.ELSEWHERE  # until it is known what ended it
    fault = emulator.failure_of(number)
    assert isinstance(fault, emulator.Fault) and fault.kind == "out_of_bounds" and not gone.any()
    array.values = kept
    assert call(array, 1) == relaunch.ELSEWHERE
    for _ in range(2):
        add(program, memory, array, 1)
    assert call(array, 1) == 0 and set(kept) == {6}


def test_a_kept_launch_has_the_memory_of_its_coroutines(monkeypatch):
    monkeypatch.setattr(slots, "_kept", [])
    memory = emulator.Memory()
    small, large = emulator.Program(BARRIER), emulator.Program(BARRIER.replace("once[64]", "once[128]"))
    array = Array(memory, 2 * THREADS)
    params = [array.values.ctypes.data.to_bytes(8, "little"), (1).to_bytes(4, "little")]
    emulator.launch(small, "k", (1, 1, 1), (32, 1, 1), params, memory)  # leaves a slot with too little
    for _ in range(20):
        emulator.launch(large, "k", (1, 1, 1), (128, 1, 1), params, memory)
    kept = take(large, ("k", (1, 1, 1), (128, 1, 1), (1, 1, 1), 0, (8, 4)))
    frames = kept.launch.slots[0].ctx.frames
    kept.again(params, None)
    assert frames and kept.launch.slots[0].ctx.frames == frames
    assert set(array.values[:32]) == {22} and set(array.values[32:]) == {21}
