"""cp.async.mbarrier.arrive in all outcomes of a kernel, by PTX ISA 9.7.13.15.15."""

from __future__ import annotations

import pytest

from dsl.emulator.ptx.syntax import Unsupported
from tests.emulator.explored import Explored, threads

DECLARED = ".shared .align 8 .b64 B; .shared .align 16 .b8 S[64];"
UNSET = 0xFFFFFFFF  # what shared memory begins with
BEGIN = "mbarrier.init.shared.b64 [B], 1; "
COPY = "cp.async.ca.shared.global [S], [%a], 4; "
ARRIVE = "cp.async.mbarrier.arrive.noinc.shared.b64 [B]; "
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %q, [B], 0; @!%q bra W; "
READ = "ld.shared.u32 %r1, [S]; st.global.u32 [%a+16], %r1; "


def explored(*bodies):
    return Explored(threads(*bodies), grid=1, block=len(bodies), declared=DECLARED, initial=(7,))


def test_the_arrival_comes_after_the_copies_before_it():
    found = explored(BEGIN + COPY + ARRIVE + WAIT + READ)
    assert found.values(4) == {(7,)} and found.is_complete and not found.stuck


def test_a_copy_after_the_arrival_is_not_waited_for():
    assert explored(BEGIN + ARRIVE + COPY + WAIT + READ).values(4) == {(UNSET,), (7,)}


def test_another_thread_sees_the_copy_by_its_wait():
    reader = "bar.sync 0; V: mbarrier.try_wait.parity.shared.b64 %q, [B], 0; @!%q bra V; " + READ
    assert explored(BEGIN + "bar.sync 0; " + COPY + ARRIVE, reader).values(4) == {(7,)}
    relaxed = reader.replace(".parity", ".parity.relaxed.cta")
    assert explored(BEGIN + "bar.sync 0; " + COPY + ARRIVE, relaxed).values(4) == {(UNSET,), (7,)}


def test_the_arrival_counts_for_its_thread_alone():
    assert explored(BEGIN.replace("], 1", "], 2") + COPY + ARRIVE + WAIT).stuck == {(0,)}


def test_an_arrival_that_raises_the_count_is_refused():
    with pytest.raises(Unsupported, match=r"add \.noinc"):
        explored(BEGIN + ARRIVE.replace(".noinc", ""))
