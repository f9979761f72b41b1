"""Faults of clusterlaunchcontrol, in words."""

from __future__ import annotations

from dsl.emulator.diagnosis import places
from dsl.emulator.machine import context

_STOP = "leave the loop as soon as `is_canceled` is false: no later request can be granted"


def _asked_again(launch, instr):
    seen = launch.code.sites[launch.ctx.address]
    return (
        f"asks for another cluster, after this block saw at {places.at(launch, seen, instr)} that a request failed: "
        "the PTX ISA leaves open what a GPU does then"
    ), _STOP


def _no_answer(launch, instr):
    return "reads 16 bytes that are not an answer of clusterlaunchcontrol.try_cancel", (
        "wait for the phase of the mbarrier that the request signals, then load the answer, from the same address"
    )


def _refused(address: int, use: str) -> tuple[str, str]:
    return f"reads the first block of a cluster from an answer that grants none. {use}", (
        "ask query_cancel.is_canceled first, and use the block only if it is true"
    )


UNDEFINED = {"clusterlaunchcontrol": _refused}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.ASKED_AGAIN: _asked_again, context.NO_ANSWER: _no_answer}
