"""st.async, red.async: stores and reductions in another block's shared memory that signal an mbarrier there.
PTX ISA 9.7.9.12, 9.7.13.7."""

from __future__ import annotations

from dsl.emulator.families.bulk.checked import overwritten
from dsl.emulator.families.bulk.numbers import async_store
from dsl.emulator.ptx.syntax import TYPE_BITS, Vec

_SIGNED_MATTERS = ("min", "max")


def store(body, instr):
    """st.async: one, two or four words."""
    body.uses.add("bulk")
    address, source, barrier = instr.operands
    kind = next(m for m in instr.mods if m in TYPE_BITS)
    items = source.items if isinstance(source, Vec) else (source,)
    bits = TYPE_BITS[kind]
    words = ["0", "0"]
    for i, item in enumerate(items):
        word, shift = divmod(i * bits, 64)
        value = body.shl(body.resize(body.read(item, bits), bits, 64), shift, "i64")
        words[word] = body.or_(words[word], value, "i64")
    _start(body, instr, async_store.STORE, address, barrier, len(items) * bits // 8, *words)


def reduce(body, instr):
    """red.async: add, min, max, and, or, xor, inc, dec."""
    body.uses.add("bulk")
    address, value, barrier = instr.operands
    kind = next(m for m in instr.mods if m in TYPE_BITS)
    operation = next(m for m in instr.mods if m in ("add", "min", "max", "and", "or", "xor", "inc", "dec"))
    bits = TYPE_BITS[kind]
    name = f"{operation}_{kind if operation in _SIGNED_MATTERS else bits}"
    low = body.resize(body.read(value, bits), bits, 64)
    _start(body, instr, getattr(async_store, name.upper()), address, barrier, bits // 8, low, "0")


def _start(body, instr, kind: int, address, barrier, nbytes: int, low: str, high: str) -> None:
    body.uses.add("mbarrier")
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {kind}"
    places = f"i64 {body.address(address)}, i64 {body.address(barrier)}, i32 {nbytes}"
    body.stop_unless(body.op(f"call i32 @emu_async_store(ptr %ctx, {where}, {places}, i64 {low}, i64 {high})"))
    is_atomic = kind != async_store.STORE
    overwritten(body, instr, body.address(address), str(nbytes), body.address(barrier), is_atomic=is_atomic)
