"""ld, st, prefetch, fences, and the address checks of all accesses. PTX ISA 9.7.9, 9.7.13.4."""

from __future__ import annotations

from dsl.emulator.check.ordering import ACQUIRES, GLOBAL, RELEASES, SHARED, STRONG, of
from dsl.emulator.families.cluster import emit as cluster
from dsl.emulator.families.memory.addresses import of_param, window
from dsl.emulator.families.multimem import emit as multimem
from dsl.emulator.families.tensor_map.emit import tell
from dsl.emulator.ir.body import CACHED_SITES, kinds_of
from dsl.emulator.machine import context
from dsl.emulator.ptx.operands import space_of
from dsl.emulator.ptx.syntax import SIGNED, TYPE_BITS, Addr, PtxError, Reg, Sym, Vec, type_of

_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_DISCARDED_BYTES = 128


def host_address(body, instr, operand: Addr, space: str, size_bytes: int, used_bytes: int = 0) -> str:
    """A checked pointer for an access of `size_bytes` (a power of two), of which it may touch the first ones alone."""
    pointer = _host_address(body, instr, operand, space, size_bytes)
    return body.accessed(instr, pointer, space, used_bytes or size_bytes)


def _host_address(body, instr, operand: Addr, space: str, size_bytes: int) -> str:
    pointer = body.linear_pointer(instr, operand, space, size_bytes)
    if pointer is not None:
        return pointer
    address = body.address(operand)
    if space == "param":
        address = of_param(body, address)
    in_register = isinstance(operand.base, Reg)
    base = (body.read_reg(operand.base), operand.offset) if in_register else address
    access = base, space, size_bytes
    if space in ("cluster", "multicast"):  # each time: the other block may have ended; the memory is elsewhere
        return checked(body, instr, address, space, size_bytes)
    if access in body.checked:
        if space in ("shared", "local"):
            address = body.add(window(body, space), address, "i64")
        return body.cast("inttoptr", address, "i64", "ptr")
    pointer = checked(body, instr, address, space, size_bytes)
    body.checked.add(access)
    return pointer


def checked(body, instr, address: str, space: str, size_bytes: int) -> str:
    """The pointer for an i64 address in `space`, after the bounds and alignment test."""
    site = body.site(instr)
    if space == "cluster":
        return cluster.checked(body, address, size_bytes, site)
    if space == "multicast":
        return multimem.checked(body, address, size_bytes, site)
    if space in ("shared", "local"):
        return _checked_window(body, address, space, size_bytes, site)
    shift = size_bytes.bit_length() - 1
    lo_slot, limit_slot, *kept = _cache(body, site)
    lo, limit = body.get(lo_slot, "i64"), body.get(limit_slot, "i64")
    fine = body.cmp("ult", _rotated(body, body.sub(address, lo, "i64"), shift), limit, "i64")
    slow, hit, after = body.fresh("miss"), body.fresh("hit"), body.fresh("in")
    body.do(f"br i1 {fine}, label %{after}, label %{slow}, !prof !1")
    body.start(slow, keep=True)
    arguments = f"i64 {address}, i64 {size_bytes}, i32 {kinds_of(space)}, i32 {site}, i32 {body.threads['linear']}"
    pair = body.op(f"call {{ i64, i64 }} @emu_slow(ptr %ctx, {arguments})")
    new_limit = body.op(f"extractvalue {{ i64, i64 }} {pair}, 1")
    bad = body.cmp("eq", new_limit, 0, "i64")
    body.do(f"br i1 {bad}, label %stop, label %{hit}")
    body.start(hit, keep=True)
    new_lo = body.op(f"extractvalue {{ i64, i64 }} {pair}, 0")
    for places in ((lo_slot, limit_slot), kept):
        for place, value in zip(places, (new_lo, new_limit)):
            body.put(place, value, "i64")
    body.branch(after)
    body.start(after, keep=True)
    return body.cast("inttoptr", address, "i64", "ptr")


def _cache(body, site: int) -> tuple[str, ...]:
    """The place of this instruction's last hit (lo, limit): memory; in a loop over threads stack slots before it."""
    if body.hits_in_memory or len(body.cached_sites) >= CACHED_SITES:
        base = body.cast("inttoptr", body.load("sites", constant=True), "i64", "ptr")
        return tuple(body.op(f"getelementptr i64, ptr {base}, i64 {2 * site + i}") for i in range(2))
    slots = body.alloca("i64"), body.alloca("i64")
    body.cached_sites.append((site, *slots))
    return (*slots, f"%site{site}.lo", f"%site{site}.limit")


def _rotated(body, value: str, shift: int) -> str:
    if shift == 0:
        return value
    return body.op(f"call i64 @llvm.fshl.i64(i64 {value}, i64 {value}, i64 {64 - shift})")


def _checked_window(body, offset: str, space: str, size_bytes: int, site: int) -> str:
    """A shared or local offset: below the window's size, aligned."""
    field = "smem_bytes" if space == "shared" else "local_bytes"
    shift = size_bytes.bit_length() - 1
    limit = body.lshr(body.load(field, constant=True), shift, "i64")
    fine = body.cmp("ult", _rotated(body, offset, shift), limit, "i64")
    bad, after = body.fresh("bad"), body.fresh("in")
    body.do(f"br i1 {fine}, label %{after}, label %{bad}, !prof !1")
    body.start(bad, keep=True)
    crooked = body.cmp("ne", body.and_(offset, size_bytes - 1, "i64"), 0, "i64")
    status = body.select(crooked, context.MISALIGNED, context.OUT_OF_BOUNDS)
    detail = kinds_of(space)
    body.do(
        f"call void @emu_fault(ptr %ctx, i32 {status}, i32 {site}, i32 {body.threads['linear']}, i64 {offset}, "
        f"i64 {size_bytes}, i64 {detail})"
    )
    body.branch("stop")
    body.start(after, keep=True)
    address = body.add(window(body, space), offset, "i64")
    return body.cast("inttoptr", address, "i64", "ptr")


def _param_pointer(body, operand: Addr, size_bytes: int) -> str | None:
    """A pointer into a named .param; None where the address is computed."""
    base = operand.base
    if not isinstance(base, Sym) or base.name not in body.frame.params:
        return None
    pointer, size = body.frame.params[base.name]
    offset = base.offset + operand.offset
    if not 0 <= offset <= size - size_bytes:
        raise PtxError(f"it reads past the end of `{base.name}` ({size} bytes)")
    return body.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")


def shape(instr) -> tuple[str, int, int, int]:
    """(type, bits of an element, elements, bytes of the access)."""
    kind = type_of(instr)
    count = next((_VECTORS[m] for m in instr.mods if m in _VECTORS), 1)
    bits = TYPE_BITS[kind]
    return kind, bits, count, count * bits // 8


def _pointer(body, instr, operand, size_bytes: int) -> tuple[str, bool]:
    space = space_of(instr)
    if not isinstance(operand, Addr):
        raise PtxError("its address is not in brackets")
    if space == "param":
        pointer = _param_pointer(body, operand, size_bytes)
        if pointer is not None:
            return pointer, True
    return host_address(body, instr, operand, space, size_bytes), False


def load(body, instr):
    """ld, ldu: a wider destination is sign- or zero-extended by the type."""
    kind, bits, count, size = shape(instr)
    destination, source = instr.operands[:2]
    pointer, is_param = _pointer(body, instr, source, size)
    how, order = _strength(instr, bits)
    align = 1 if is_param else size
    constant = ", !invariant.load !0" if is_param and _is_entry_param(body, source) else ""
    items = destination.items if isinstance(destination, Vec) else (destination,)
    if len(items) != count:
        raise PtxError(f"it names {len(items)} registers for {count} elements")
    for i, item in enumerate(items):
        place = pointer if i == 0 else body.op(f"getelementptr i8, ptr {pointer}, i64 {i * bits // 8}")
        each = min(align, bits // 8) if i else align
        value = body.op(f"load {how}i{bits}, ptr {place}{order}, align {each}{constant}")
        body.write(item, value, bits, kind in SIGNED)


def _is_entry_param(body, operand: Addr) -> bool:
    return body.frame.params[operand.base.name][0].startswith("%param")


SHARED_BY_BLOCKS = ("global", "generic", "multicast")


def _strength(instr, bits: int) -> tuple[str, str]:
    """What LLVM writes before the type and after the pointer of an access that other threads may observe."""
    strong = [m for m in instr.mods if m in STRONG]
    if not strong:
        return "", ""
    if space_of(instr) not in SHARED_BY_BLOCKS or bits > 64:
        return "volatile ", ""
    return "atomic volatile ", " " + (strong[0] if strong[0] in ("acquire", "release") else "monotonic")


def store(body, instr):
    """st: the low bits of wider registers."""
    _, bits, count, size = shape(instr)
    destination, source = instr.operands[:2]
    pointer, is_param = _pointer(body, instr, destination, size)
    items = source.items if isinstance(source, Vec) else (source,)
    if len(items) != count:
        raise PtxError(f"it names {len(items)} registers for {count} elements")
    how, order = _strength(instr, bits)
    align = 1 if is_param else size
    for i, item in enumerate(items):
        place = pointer if i == 0 else body.op(f"getelementptr i8, ptr {pointer}, i64 {i * bits // 8}")
        each = min(align, bits // 8) if i else align
        value = body.read(item, bits)
        if body.idle_poll is not None and not is_param:
            old = body.op(f"load i{bits}, ptr {place}, align {each}")
            idle = body.select(body.cmp("eq", old, value, f"i{bits}"), body.load("idle"), 0)
            body.store("idle", idle)
        body.do(f"store {how}i{bits} {value}, ptr {place}{order}, align {each}")


def fill(body, instr):
    """st.bulk [address], size, 0: zeros in shared memory."""
    operand, size, _ = instr.operands
    address, nbytes = body.address(operand), body.read(size, 64)
    if "shared::cta" in instr.mods:
        address = body.add(window(body, "shared"), address, "i64")
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {address}, i64 {nbytes}"
    body.stop_unless(body.op(f"call i32 @emu_fill(ptr %ctx, {where})"))
    pointer = body.cast("inttoptr", address, "i64", "ptr")
    body.accessed(instr, pointer, "shared", body.resize(nbytes, 64, 32))


def discard(body, instr):
    """discard [address], 128: a weak write of values that nobody knows."""
    pointer = host_address(body, instr, instr.operands[0], space_of(instr), _DISCARDED_BYTES)
    body.do(f"call void @emu_discard(ptr %ctx, ptr {pointer}, i64 {_DISCARDED_BYTES})")


def policy(body, instr):
    """createpolicy: 64 bits that only caches understand; there are none here."""
    value = body.read(instr.operands[1], 64) if "cvt" in instr.mods else "0"
    body.write(instr.operands[0], value, 64)


def fence(body, instr):
    """membar and fence: a fence of the host. Threads of one block run in turn: for them the compiler keeps order."""
    row = of(instr)
    if row.event == context.ORDER_FENCE:
        body.ordered(row.event, str(row.scope_in(instr.mods)), str(int(row.is_sc)))
    elif row.event == context.ORDER_PROXY:
        body.ordered(row.event, str(GLOBAL * ("global" in row.spaces) | SHARED * ("shared" in row.spaces)))
    elif row.event == context.ORDER_MAP_FENCED:
        tell(body, instr, context.ORDER_MAP_FENCED, body.address(instr.operands[0]))
    elif row.event is not None:
        body.ordered(row.event)
    scope = 'syncscope("singlethread") ' if "cta" in instr.mods else ""
    body.do(f"fence {scope}{'seq_cst' if (ACQUIRES | RELEASES).isdisjoint(instr.mods) else 'acq_rel'}")
