"""What an instruction does to the bytes at its address, as the checkers see it.

An emitter that lets `memory.host_address` check an address has said enough: `kind_of` knows the opcode. One that
touches memory in another way calls `body.accessed` (now) or `body.copied` (until it is waited for) itself.
"""

from __future__ import annotations

from dsl.emulator.check.numbers import access, orders
from dsl.emulator.ptx.syntax import TYPE_BITS, Function, Instr

READS = frozenset({"ld", "ldu", "ldmatrix"})
WRITES = frozenset({"st", "stmatrix"})
ATOMICS = frozenset({"atom", "red"})
_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "mmio"})
SHARED_SPACES = frozenset({"global", "shared", "generic"})


def kind_of(instr: Instr) -> int | None:
    """The kind of the access; None for a prefetch and for operations on mbarriers, which access no data."""
    if instr.opcode == "mbarrier" and ("init" in instr.mods or "inval" in instr.mods):
        return access.WRITE | access.STRONG | access.OBJECT
    if instr.opcode in ATOMICS:
        return access.WRITE | access.STRONG | (access.CTA if "cta" in instr.mods else 0)
    write = access.WRITE if instr.opcode in WRITES else 0
    if not write and instr.opcode not in READS:
        return None
    if _STRONG.isdisjoint(instr.mods):
        return write
    return write | access.STRONG | (access.CTA if "cta" in instr.mods else 0)


def is_volatile_shared(instr: Instr) -> bool:
    """Whether it is what old code makes lanes of a warp exchange values with."""
    return instr.opcode in ("ld", "st") and "volatile" in instr.mods and any(m.startswith("shared") for m in instr.mods)


def unit_shift(functions: list[Function]) -> int:
    """log2 of the bytes of the narrowest access to memory that threads share; 2 at most."""
    least = 4
    for function in functions:
        for item in function.items:
            if isinstance(item, Instr) and kind_of(item) is not None and item.opcode in (*READS, *WRITES, *ATOMICS):
                bits = next((TYPE_BITS[m] for m in reversed(item.mods) if m in TYPE_BITS), 32)
                if not {"param", "const", "local"} & {m.split("::")[0] for m in item.mods}:
                    least = min(least, max(bits // 8, 1))
    return least.bit_length() - 1


_MEETS = frozenset({"bar", "barrier", "shfl", "vote", "match", "redux", "elect"})


def order_kinds(functions: list[Function]) -> int:
    """What orders threads besides barriers of whole blocks, as bits: meetings of some threads, of blocks too, and
    whether by releases and acquires of memory; whether wgmma, or bulk copies, read what they write; whether threads
    meet at all, which check/divergence.py looks at."""
    kinds = 0
    for function in functions:
        for item in function.items:
            if isinstance(item, Instr):
                kinds |= _orders(item) | orders.MEETS * (item.opcode in _MEETS or "aligned" in item.mods)
    return kinds


def _orders(instr: Instr) -> int:
    mods = instr.mods
    if instr.opcode == "mapa" or mods[:1] == ("cluster",):
        return orders.THREADS | orders.BLOCKS
    if instr.opcode in ("bar", "barrier"):
        partial = "warp" in mods or "arrive" in mods or len(instr.operands) > 1 + ("red" in mods)
        return orders.THREADS if partial else 0
    if instr.opcode == "mbarrier" or "mbarrier" in mods:
        return orders.THREADS
    if instr.opcode == "wgmma":
        return orders.THREADS | orders.MATRICES
    if "async" in mods and instr.opcode in ("st", "red"):
        return orders.THREADS | orders.BLOCKS | orders.BULK
    if instr.opcode == "tensormap" or (instr.opcode == "cp" and "bulk" in mods and "prefetch" not in mods):
        peers = "multicast::cluster" in mods or ("shared::cta" in mods and "shared::cluster" in mods)
        return orders.THREADS | orders.BULK | orders.BLOCKS * peers
    if instr.opcode in ("fence", "membar"):
        if "proxy" in mods or "mbarrier_init" in mods:
            return 0
        return orders.MEMORY | orders.THREADS if "cta" in mods else orders.MEMORY | orders.THREADS | orders.BLOCKS
    if instr.opcode in ("ld", "st", "atom", "red") and not {"acquire", "release", "acq_rel"}.isdisjoint(mods):
        shared = "cta" in mods or any(m.split("::")[0] == "shared" for m in mods)
        return orders.MEMORY | orders.THREADS if shared else orders.MEMORY | orders.THREADS | orders.BLOCKS
    return 0
