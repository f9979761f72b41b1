"""The effect of an instruction on the bytes at its address, as the checkers see it.

An emitter that lets `memory.host_address` check an address needs no more: `kind_of` reads the traits. One that touches
memory in another way calls `body.accessed` (now) or `body.copied` (until it is waited for) itself.
"""

from __future__ import annotations

from dsl.emulator.check.numbers import access, orders, scope
from dsl.emulator.ptx import traits
from dsl.emulator.ptx.operands import result
from dsl.emulator.ptx.syntax import TYPE_BITS, Function, Instr

DATA = traits.READS | traits.WRITES | traits.UPDATES
_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "mmio"})
_SCOPES = {"cta": scope.CTA, "cluster": scope.CLUSTER} | dict.fromkeys(("gl", "gpu", "sys"), scope.ALL)
SHARED_SPACES = frozenset({"global", "shared", "generic"})


def scope_of(mods: tuple[str, ...], unsaid: int = scope.ALL) -> int:
    """The scope of an instruction: of a strong access, of a fence, of an arrival. `unsaid`: where it names none."""
    return next((_SCOPES[each] for each in mods if each in _SCOPES), unsaid)


def _narrow(mods: tuple[str, ...]) -> int:
    """The bits of a kind that a scope sets: a narrow scope has the bits of all wider ones."""
    return {scope.CTA: access.CTA | access.NEAR, scope.CLUSTER: access.NEAR}.get(scope_of(mods), 0)


def kind_of(instr: Instr) -> int | None:
    """The kind of the access; None for a prefetch and for operations on mbarriers, which access no data."""
    if instr.traits & traits.INIT:
        return access.WRITE | access.STRONG | access.OBJECT
    if instr.traits & traits.UPDATES:
        return access.WRITE | access.STRONG | _narrow(instr.mods)
    write = access.WRITE if instr.traits & traits.WRITES else 0
    if not write and not instr.traits & traits.READS:
        return None
    if "nc" in instr.mods:  # PTX ISA 9.7.9.8: the memory must be read-only while the kernel runs
        return access.STALE
    if _STRONG.isdisjoint(instr.mods):
        return write
    return write | access.STRONG | _narrow(instr.mods)


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
                kinds |= _orders(item) | orders.MEETS * is_meeting(item)
    return kinds


def is_meeting(instr: Instr) -> bool:
    """Whether threads meet at it."""
    return bool(instr.traits & (traits.BARRIER | traits.EXCHANGE)) or "aligned" in instr.mods


def _orders(instr: Instr) -> int:
    mods = instr.mods
    if instr.traits & traits.CLUSTER:
        return orders.THREADS | orders.BLOCKS
    if instr.traits & traits.BARRIER:
        partial = "warp" in mods or "arrive" in mods or len(instr.operands) > 1 + (result(instr) is not None)
        return orders.THREADS if partial else 0
    if instr.traits & traits.MBARRIER:
        return orders.THREADS
    if instr.traits & traits.PRODUCT:
        return orders.THREADS | orders.MATRICES
    if instr.traits & traits.REMOTE:
        return orders.THREADS | orders.BLOCKS | orders.BULK
    if instr.traits & traits.BULK:
        peers = "multicast::cluster" in mods or ("shared::cta" in mods and "shared::cluster" in mods)
        return orders.THREADS | orders.BULK | orders.BLOCKS * peers
    if instr.traits & traits.FENCE:
        if "proxy" in mods or "mbarrier_init" in mods:
            return 0
        return orders.MEMORY | orders.THREADS if "cta" in mods else orders.MEMORY | orders.THREADS | orders.BLOCKS
    if instr.traits & DATA and not {"acquire", "release", "acq_rel"}.isdisjoint(mods):
        shared = "cta" in mods or any(m.split("::")[0] == "shared" for m in mods)
        return orders.MEMORY | orders.THREADS if shared else orders.MEMORY | orders.THREADS | orders.BLOCKS
    return 0
