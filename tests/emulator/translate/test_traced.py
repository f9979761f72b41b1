"""Threads that run alone: each access is an event, and each value carries the reads that it depends on."""

from __future__ import annotations

import pytest

from dsl.emulator.ptx.syntax import Unsupported
from tests.emulator.explored import Explored, load, store, threads

X, Y, SEEN = 0, 1, 2
WRITE = store(Y, "%r2")
MEMORY = ".local .align 4 .b32 L; .shared .align 4 .b32 S;"
GENERIC = "mov.u64 %d3, L; cvta.local.u64 %d3, %d3; "
FUNCTION = ".func (.reg .b32 %out) same(.reg .b32 %in) { add.u32 %out, %in, 0; ret; }\n"
# Ways from the value of %r1, which is 0 or 1, to a store of 1 to y if it is 1.
DEPENDENT = {
    "arithmetic": "add.u32 %r2, %r1, 0; " + WRITE,
    "64 bits": "mov.b64 %d1, {%r1, %r1}; mov.b64 {%r2, %r3}, %d1; " + WRITE,
    "select": "setp.eq.u32 %p, %r1, 1; selp.u32 %r2, 1, 0, %p; " + WRITE,
    "predicates": "setp.ne.u32 %p, %r1, 0; not.pred %q, %p; selp.u32 %r2, 0, 1, %q; " + WRITE,
    "guarded move": "mov.u32 %r2, 0; setp.eq.u32 %p, %r1, 1; @%p mov.u32 %r2, 1; " + WRITE,
    "move that the guard skips": "mov.u32 %r2, 1; setp.ne.u32 %p, %r1, 1; @%p mov.u32 %r2, 0; " + WRITE,
    "load that the guard skips": "mov.u32 %r2, 1; setp.ne.u32 %p, %r1, 1; @%p ld.global.u32 %r2, [%a+20]; " + WRITE,
    "guarded store": "setp.eq.u32 %p, %r1, 1; @%p " + store(Y),
    "branch": "setp.ne.u32 %p, %r1, 1; @%p bra X; " + store(Y) + "X: ret; ",
    "exit": "setp.ne.u32 %p, %r1, 1; @%p exit; " + store(Y),
    "return": "setp.ne.u32 %p, %r1, 1; @%p ret; " + store(Y),
    "table": "W: .branchtargets P, Q; brx.idx %r1, W; P: ret; Q: " + store(Y),
    "address of a store": "mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %a, %d1; st.relaxed.gpu.global.u32 [%d1], 1; ",
    "local memory": "st.local.u32 [L], %r1; ld.local.u32 %r2, [L]; " + WRITE,
    "local memory by generic addresses": GENERIC + "st.u32 [%d3], %r1; ld.u32 %r2, [%d3]; " + WRITE,
    "a generic store to local memory": GENERIC + "st.u32 [%d3], %r1; ld.local.u32 %r2, [L]; " + WRITE,
    "a generic load of local memory": GENERIC + "st.local.u32 [L], %r1; ld.u32 %r2, [%d3]; " + WRITE,
    "shared memory": "st.shared.u32 [S], %r1; ld.shared.u32 %r2, [S]; " + WRITE,
    "atomic operations": "atom.shared.exch.b32 %r3, [S], %r1; atom.shared.add.u32 %r2, [S], 0; " + WRITE,
    "global memory": "st.global.u32 [%a+16], %r1; ld.global.u32 %r2, [%a+16]; " + WRITE,
    "function": "call.uni (%r2), same, (%r1); " + WRITE,
}


def seen(way: str) -> set[tuple[int, ...]]:
    """Thread 0 goes from x to y, thread 1 copies y to x, thread 2 writes x unless it sees y."""
    third = load(3, Y) + store(SEEN, "%r3") + "setp.eq.u32 %p, %r3, 0; @%p " + store(X)
    kernel = threads(load(1, X) + way, load(1, Y) + store(X, "%r1"), third)
    found = Explored(kernel, grid=3, declared=MEMORY, functions=FUNCTION)
    assert found.is_complete
    return found.values(SEEN)


@pytest.mark.parametrize("way", DEPENDENT)
def test_no_value_out_of_thin_air(way):
    """PTX ISA 8.10.4: if thread 2 sees y, then nobody wrote x first, except through x itself."""
    assert seen(DEPENDENT[way]) == {(0,)}


def test_without_a_dependency_the_store_may_come_first():
    """The pair of the test above."""
    assert seen(store(Y)) == {(0,), (1,)}


@pytest.mark.parametrize("holds", [0, 1])
def test_a_guarded_load_is_an_access_only_if_its_guard_holds(holds):
    body = f"mov.u32 %r1, 9; setp.eq.u32 %p, %n, {holds}; @%p ld.global.u32 %r1, [%a]; st.global.u32 [%b+4], %r1;"
    found = Explored(body, grid=1, initial=[5])
    assert found.values(1) == {(9,) if holds else (5,)}
    assert len(found.found.traces[0][0].events) == 2 - holds


def test_each_element_of_a_vector_is_an_access():
    """PTX ISA 8.2.2: they have no order among each other."""
    writer, reader = (
        "st.global.v2.u32 [%a], {1, 2};",
        "ld.global.v2.u32 {%r1, %r2}, [%a]; st.global.v2.u32 [%a+8], {%r1, %r2};",
    )
    assert Explored(threads(writer, reader)).values(2, 3) == {(0, 0), (1, 0), (0, 2), (1, 2)}


def test_each_block_has_its_shared_memory():
    body = "st.shared.u32 [S], %n; ld.shared.u32 %r1, [S]; st.global.u32 [%b], %r1;"
    assert Explored(body, declared=MEMORY).values(0, 1) == {(0, 1)}


def test_each_thread_has_its_local_memory():
    body = "st.local.u32 [L], %n; ld.local.u32 %r1, [L]; st.global.u32 [%b], %r1;"
    assert Explored(body, grid=1, block=2, declared=MEMORY).values(0, 1) == {(0, 1)}


@pytest.mark.parametrize("sleep", ["", "nanosleep.u32 20;"])
def test_a_loop_that_waits_ends_when_the_value_is_there(sleep):
    wait = f"L: {sleep} {load(1, 1, 'acquire.gpu')} setp.eq.u32 %p, %r1, 0; @%p bra L; "
    found = Explored(threads(store(0, 7, "") + store(1, 1, "release.gpu"), wait + load(2, 0, "") + store(2, "%r2", "")))
    assert found.values(2) == {(7,)} and not found.stuck and found.is_complete


@pytest.mark.parametrize(
    "instruction",
    [
        "activemask.b32 %r1;", "bar.red.popc.u32 %r1, 0, %p;", "mapa.u64 %d1, %a, %r1;", "getctarank.u64 %r1, %a;",
        "ld.global.nc.u32 %r1, [%a];", "bar.red.and.pred %p, 0, %q;",
    ],
)  # fmt: skip
def test_other_instructions_are_refused_by_name(instruction):
    with pytest.raises(Unsupported) as refused:
        Explored(instruction, declared=".shared .align 16 .b8 S[64];")
    assert str(refused.value) == (
        f"UNSUPPORTED_PTX `{instruction.split()[0].rstrip(';')}`: the memory model here has no such instruction\n"
        f"    PTX line 8: {instruction}\n"
        "fix: `repro run FILE --seed N` runs the kernel in another order"
    )
