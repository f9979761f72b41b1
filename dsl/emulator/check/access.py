"""The effect of an instruction on the bytes at its address, as the checkers see it.

An emitter that lets `memory.host_address` check an address needs no more: `kind_of` reads the traits. One that touches
memory in another way calls `body.accessed` (now) or `body.copied` (until it is waited for) itself.
"""

from __future__ import annotations

from dsl.emulator.check import ordering
from dsl.emulator.check.numbers import access, orders, scope
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.syntax import TYPE_BITS, Function, Instr

DATA = traits.READS | traits.WRITES | traits.UPDATES


def _narrow(instr: Instr) -> int:
    """The bits of a kind that a scope sets: a narrow scope has the bits of all wider ones."""
    return {scope.CTA: access.CTA | access.NEAR, scope.CLUSTER: access.NEAR}.get(ordering.scope_of(instr), 0)


def kind_of(instr: Instr) -> int | None:
    """The kind of the access; None for a prefetch and for operations on mbarriers, which access no data."""
    if instr.traits & traits.INIT:
        return access.WRITE | access.STRONG | access.OBJECT
    if instr.traits & traits.UPDATES:
        return access.WRITE | access.STRONG | _narrow(instr)
    write = access.WRITE if instr.traits & traits.WRITES else 0
    if not write and not instr.traits & traits.READS:
        return None
    if "nc" in instr.mods:  # PTX ISA 9.7.9.9: the memory must be read-only while the kernel runs
        return access.STALE
    if ordering.STRONG.isdisjoint(instr.mods):
        return write
    return write | access.STRONG | _narrow(instr)


def is_volatile_shared(instr: Instr) -> bool:
    """Whether it is what old code makes lanes of a warp exchange values with."""
    moves = instr.traits & (traits.LOAD | traits.STORE)
    return bool(moves) and "volatile" in instr.mods and any(m.startswith("shared") for m in instr.mods)


def unit_shift(functions: list[Function]) -> int:
    """log2 of the bytes of the narrowest access to memory that threads share; 2 at most."""
    least = 4
    for function in functions:
        for item in function.items:
            if isinstance(item, Instr) and item.traits & DATA:
                bits = next((TYPE_BITS[m] for m in reversed(item.mods) if m in TYPE_BITS), 32)
                if not {"param", "const", "local"} & {m.split("::")[0] for m in item.mods}:
                    least = min(least, max(bits // 8, 1))
    return least.bit_length() - 1


def order_kinds(functions: list[Function]) -> int:
    """The ways to order threads besides barriers of whole blocks, as bits: meetings of some threads, of blocks too, and
    whether by releases and acquires of memory; whether wgmma, or bulk copies, read what they write; whether threads
    meet at all, which check/divergence.py looks at."""
    kinds = 0
    for function in functions:
        for item in function.items:
            if isinstance(item, Instr):
                row = ordering.find(item)
                kinds |= (row.kinds_in(item.mods) if row else 0) | orders.MEETS * is_meeting(item)
    return kinds


def is_meeting(instr: Instr) -> bool:
    """Whether threads meet at it."""
    return bool(instr.traits & (traits.BARRIER | traits.EXCHANGE)) or "aligned" in instr.mods
