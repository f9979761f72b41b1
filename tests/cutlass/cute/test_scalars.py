"""Atomics, accesses, packed and long numbers, PTX text: what NVIDIA's compiler prints, and what is refused.

Modules tested here: dsl/gpu/arithmetic/convert.py, dsl/gpu/inline.py, dsl/gpu/memory/access.py.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.launch import session
from tests import fork_server
from tests.one_block import run

PROGRAM = Path(__file__).with_name("scalar_program.py")
TABLE = Path(__file__).with_name("scalar_table.txt")  # python -m dsl --compiler nvidia scalar_program.py > it
arch = cute.arch


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


def output_of() -> str:
    done = fork_server.run(["-W", "ignore", "-m", "dsl", str(PROGRAM)], env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_values_are_upstreams():
    theirs = TABLE.read_text()
    assert len(theirs.splitlines()) == 11
    assert output_of() == theirs


x = cutlass.Int32
REFUSED = {
    "and of a float": (lambda t: arch.atomic_and(t.iterator, cutlass.Float32(1)), "no atomic `and` exists for Float32"),
    "16 bits": (lambda t: arch.atomic_add(t.iterator, cutlass.Int16(1)), "no atomic `add` exists for Int16"),
    "no pointer": (
        lambda t: arch.atomic_add(t, x(1)),
        "atomic_add takes a pointer and a number, got Tensor of Int32 (8):(1) and Int32",
    ),
    "scope": (
        lambda t: arch.atomic_add(t.iterator, x(1), scope="block"),
        "scope must be one of gpu, cta, cluster, sys, got 'block'",
    ),
    "registers": (
        lambda t: arch.atomic_add(cute.make_rmem_tensor(1, x).iterator, x(1), scope="sys"),
        "no other thread sees rmem memory: an atomic operation works on global or shared memory",
    ),
    "8 bits": (
        lambda t: arch.atomic_cas(t.iterator, cmp=cutlass.Int8(0), val=cutlass.Int8(1)),
        "no atomic compare-and-swap exists for Int8",
    ),
    "red and": (
        lambda t: arch.red(t.iterator, x(1), op="and", dtype="s32", sem="relaxed"),
        "no reduction 'and' exists for s32",
    ),
    "red order": (
        lambda t: arch.red(t.iterator, x(1), op="add", dtype="s32"),
        "sem of red must be relaxed or release, got None",
    ),
    "no scope": (
        lambda t: arch.load(t.iterator, x, sem="acquire"),
        'sem="acquire" needs the scope of the threads it is for',
    ),
    "cop": (lambda t: arch.store(t.iterator, x(1), cop="ca"), "cop of a store must be one of wb, cg, cs, wt, got 'ca'"),
    "ss": (lambda t: arch.load(t.iterator, x, ss="cta"), "ss is for shared memory, but the pointer is to gmem memory"),
    "two types": (
        lambda t: arch.add_cc(t[0], cutlass.Uint32(1)),
        "add_cc takes 2 integers of one type of 32 or 64 bits, got Int32, Uint32",
    ),
    "one half": (
        lambda t: arch.add_packed_f16x2((t[0],), (t[1],)),
        "packed operand must be a tuple of two numbers, got tuple of 1",
    ),
    "no operand": (
        lambda t: arch.inline_ptx("mov.b32 {$w0}, {$r1};", write_only_types=[x], read_only_args=[t[0]]),
        "the PTX text names {$r1}, but there is no such operand",
    ),
    "read and written": (
        lambda t: arch.inline_ptx("add.s32 {$rw0}, {$rw0}, 1;", read_write_args=[t[0]]),
        "a number here is a value, which PTX text cannot change: read_write_args has none to write to",
    ),
    "another": (lambda t: arch.issue_clc_query(), "cutlass.cute.arch.issue_clc_query is not part of this compiler yet"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_calls_are_refused(case):
    body, message = REFUSED[case]

    @cute.kernel
    def kernel(t: cute.Tensor):
        body(t)

    with pytest.raises(cutlass.DSLUserCodeError) as error:
        run(kernel, np.zeros(8, np.int32))
    assert error.value.message == message
    assert error.value.fix
