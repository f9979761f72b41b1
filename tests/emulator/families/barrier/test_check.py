"""Named barriers, in pairs: two groups of warps that may mix at one barrier, and the same kernel put right. Whatever the
order of warps, one finding or none. PTX ISA 9.7.13.1 (barrier)."""

import warnings

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import Machine

HEAD = """.visible .entry k(.param .u64 out)
{
  .reg .b32 %t, %w, %r<9>; .reg .b64 %d; .reg .pred %p, %q, %w0, %w1, %w2, %w3, %low, %lead;
  .shared .align 8 .b64 m[8];
  mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %r0, %t, 31; setp.eq.u32 %lead, %r0, 0; setp.lt.u32 %low, %w, 2;
  setp.eq.u32 %w0, %w, 0; setp.eq.u32 %w1, %w, 1; setp.eq.u32 %w2, %w, 2; setp.eq.u32 %w3, %w, 3;
"""
TWO_ROLES = "@%low bra A; {first} bar.sync 3, 64; bra E; A: bar.sync {low}, 64;"
ROUNDS = "mov.u32 %r1, 0; L: {body} add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 4; @%p bra L; bra E;"
PRODUCER = "@%w0 bra P; " + ROUNDS.format(body="bar.sync 1, 64; {back}") + " P: " + ROUNDS.replace("L", "M").format(
    body="bar.arrive 1, 64; {wait}"
)  # fmt: skip
PING_PONG = (
    "@%low bra A; bar.arrive {one}, 128; " + ROUNDS.format(body="bar.sync 2, 128; bar.arrive {one}, 128;")
    + " A: " + ROUNDS.replace("L", "M").format(body="bar.sync {one}, 128; bar.arrive 2, 128;")
)  # fmt: skip
# name: (kernel, what differs of the wrong one, of the right one, threads)
PAIRS = {
    "two roles, one barrier": (TWO_ROLES, {"low": 3, "first": ""}, {"low": 4, "first": ""}, 128),
    "two roles, one after the other": (
        TWO_ROLES + " {after}", {"low": 3, "first": "", "after": ""},
        {"low": 3, "first": "bar.sync 5, 128;", "after": "bar.sync 5, 128;"}, 128),
    "one line, a count of one group": ("bar.sync {n};", {"n": "3, 64"}, {"n": "3, 128"}, 128),
    "one line, an id by group": (
        "shr.u32 %r2, %w, 1; {id} bar.sync %r2, 64;", {"id": "mov.u32 %r2, 3;"}, {"id": "add.u32 %r2, %r2, 3;"}, 128),
    "three warps at a barrier of two": ("@%w3 bra E; bar.sync 1, {n};", {"n": 64}, {"n": 96}, 128),
    "four warps, two at a time": (
        "{order} bar.sync 1, 64;", {"order": ""},
        {"order": "@%low bra A; bar.sync 2, 128; bar.sync 1, 64; bra E; A: bar.sync 1, 64; bar.sync 2, 128; bra E;"}, 128),
    "a producer that does not wait": (PRODUCER, {"back": "", "wait": ""},
                                      {"back": "bar.arrive 2, 64;", "wait": "bar.sync 2, 64;"}, 64),
    "ping-pong": (PING_PONG, {"one": 2}, {"one": 1}, 128),
    "an mbarrier as the way back": (
        "{{ .reg .pred %z; setp.eq.u32 %z, %t, 0; @%z mbarrier.init.shared.b64 [m], 1; }} bar.sync 0; mov.u32 %r2, 0; "
        + PRODUCER, {"back": "", "wait": ""},
        {"back": "@%lead mbarrier.arrive.shared.b64 %d, [m];",
         "wait": "W: mbarrier.try_wait.parity.shared.b64 %q, [m], %r2; @!%q bra W; xor.b32 %r2, %r2, 1;"}, 64),
    "another count at one time": (
        "@%low bra A; bar.sync 1, 128; bra E; A: {first} bar.sync 1, 128;", {"first": "bar.sync 1, 64;"},
        {"first": "bar.sync 2, 64;"}, 128),
    "all threads and some at barrier 0": (
        "@!%low bra S; bar.sync {n}, 64; S: bar.sync 0;", {"n": 0}, {"n": 1}, 128),
    "arrivals alone": ("@%low bra A; bra E; A: bar.{how} 1, 64;", {"how": "arrive"}, {"how": "sync"}, 128),
    "a reduction of two groups": (
        "setp.eq.u32 %p, %t, 5; @%low bra A; bar.red.or.pred %q, {n}, 64, %p; bra E; A: bar.red.or.pred %q, 2, 64, %p;",
        {"n": 2}, {"n": 3}, 128),
}  # fmt: skip
# More kernels that must stay silent: (kernel, threads)
RIGHT = {
    "several sites of one group": (
        "@!%low bra E; bar.sync 1, 64; @%w0 bra A; bar.sync 1, 64; bra B; A: bar.sync 1, 64; B: bar.sync 1, 64;", 128),
    "three groups take turns": (
        "@%w3 bra E; @%w0 bra A; @%w1 bra B; bar.arrive 1, 96; bar.arrive 2, 96; "
        + ROUNDS.format(body="bar.sync 3, 96; bar.arrive 1, 96; bar.arrive 2, 96;") + " A: "
        + ROUNDS.replace("L", "M").format(body="bar.sync 1, 96; bar.arrive 2, 96; bar.arrive 3, 96;")
        + " B: bar.arrive 1, 96; "
        + ROUNDS.replace("L", "N").format(body="bar.sync 2, 96; bar.arrive 1, 96; bar.arrive 3, 96;"), 128),
    "one of two consumers answers for both": (
        PRODUCER.replace("1, 64", "1, 96").format(back="@%w1 bar.arrive 2, 64;", wait="bar.sync 2, 64;"), 96),
    "an arrival that is left over": (
        "@%w0 bra P; bar.sync 1, 64; bar.arrive 2, 64; bra E; P: bar.arrive 1, 64; bar.sync 2, 64; bar.arrive 1, 64;", 64),
    "an epilogue of two groups, in turn": (
        "@%low bra A; bar.sync 4, 128; bar.sync 1, 64; bar.sync 1, 64; bra E; A: bar.sync 1, 64; bar.sync 1, 64; "
        "bar.arrive 4, 128;", 128),
    "a group whose other warps have left": ("@!%low bra E; bar.sync 1, 64; bar.sync 1, 64;", 128),
    "a short warp": ("bar.sync 1, 64; bar.sync 1, 64;", 40),
}  # fmt: skip


def outcome(body: str, threads: int, seed: int = 0, checks=("race",)):
    """The Fault of a launch, or None."""
    try:
        Machine().run(
            HEAD + body + "\nE: ret;\n}\n", block=threads, checks=checks, seed=seed, out=np.zeros(1024, np.uint32)
        )
    except emulator.Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("name", PAIRS)
def test_groups_that_may_mix_are_found_in_every_order(name):
    kernel, wrong, right, threads = PAIRS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in (0, 1, 2, 5):
            found = outcome(kernel.format(**wrong), threads, seed)
            assert found is not None, (name, seed)
            assert found.kind in ("barrier_collision", "illegal" if "count" in name or "all" in name else ""), str(
                found
            )
            none = outcome(kernel.format(**right), threads, seed)
            assert none is None, f"{name}, seed {seed}\n{none}"
    assert outcome(kernel.format(**right), threads, checks=()) is None


@pytest.mark.parametrize("name", RIGHT)
def test_ordered_kernels_are_silent(name):
    body, threads = RIGHT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in (0, 1, 2, 5):
            found = outcome(body, threads, seed)
            assert found is None, f"{name}, seed {seed}\n{found}"


def test_a_barrier_takes_no_more_than_it_counts():
    """Without checks too: of three warps two go on, as on a GPU."""
    found = outcome("@%w3 bra E; bar.sync 1, 64;", 128, checks=())
    assert found.kind == "deadlock" and "for 32 more threads of the 64 that barrier 1 counts" in str(found)
    assert outcome("bar.sync 1, 64;", 128, checks=()) is None
