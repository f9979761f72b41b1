"""cp.async global -> shared, its groups and waits. PTX ISA 9.7.9.25.3."""

from __future__ import annotations

from dsl.emulator.families.mbarrier import emit as mbarrier, numbers
from dsl.emulator.families.memory.emit import checked
from dsl.emulator.ir.body import kinds_of
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Imm, Not, PtxError, Reg


def copy(body, instr):
    """cp.async: both addresses are checked now, the bytes land at the wait; src-size 0 never looks at the source."""
    if "wait_group" in instr.mods:
        return _wait(body, instr.operands[0])
    if "wait_all" in instr.mods:
        _commit(body)
        return _wait(body, Imm(0))
    if "commit_group" in instr.mods:
        return _commit(body)
    body.uses.add("cp.async")
    destination, source, size = instr.operands[:3]
    if not isinstance(size, Imm) or size.value not in ((16,) if "cg" in instr.mods else (4, 8, 16)):
        raise PtxError("cp-size must be 4, 8 or 16 (.cg: 16)")
    source_bytes = source_bytes_of(body, instr, size.value)
    target = checked(body, instr, body.address(destination), "shared", size.value)
    origin = body.address(source)
    check_source(body, instr, origin, source_bytes, size.value)
    destination = body.cast("ptrtoint", target, "ptr", "i64")
    arguments = f"i64 {destination}, i64 {origin}, i32 {size.value}, i32 {source_bytes}"
    body.do(f"call void @emu_queue_copy(ptr %ctx, i32 {body.threads['linear']}, {arguments})")
    _report_accesses(body, instr, target, origin, source_bytes, size.value)
    return None


def source_bytes_of(body, instr, size: int) -> str:
    """src-size, or 0 where ignore-src is true; the rest of the destination becomes zero."""
    rest = instr.operands[3:]
    if any(m.startswith("L2::cache_hint") for m in instr.mods):
        rest = rest[:-1]
    if not rest:
        return str(size)
    extra = rest[0]
    inner = extra.item if isinstance(extra, Not) else extra
    if isinstance(inner, Reg) and inner.bits == 1:
        return body.select(body.read(extra, 1), 0, size)
    return body.read(extra, 32)


def _report_accesses(body, instr, target: str, origin: str, source_bytes: str, size: int) -> None:
    """Tell the checkers: the copy reads its source now, where it does, and writes until its wait."""
    if source_bytes != "0":
        look, after = body.fresh("reads"), body.fresh("writes")
        body.do(f"br i1 {body.cmp('eq', source_bytes, 0)}, label %{after}, label %{look}")
        body.start(look, keep=True)
        body.accessed(instr, body.cast("inttoptr", origin, "i64", "ptr"), "global", size, kind=0)
        body.branch(after)
        body.start(after, keep=True)
    body.copied(instr, target, size)


def check_source(body, instr, origin: str, source_bytes: str, size: int) -> None:
    """A fault for a source that is larger than the copy, or that is not there."""
    if source_bytes == "0":
        return
    site, linear = body.site(instr), body.threads["linear"]
    over, size_fine = body.fresh("over"), body.fresh("fits")
    body.do(f"br i1 {body.cmp('ugt', source_bytes, size)}, label %{over}, label %{size_fine}, !prof !2")
    body.start(over, keep=True)
    value = body.resize(source_bytes, 32, 64)
    body.do(
        f"call void @emu_fault(ptr %ctx, i32 {context.ILLEGAL}, i32 {site}, i32 {linear}, i64 {value}, i64 {size}, "
        f"i64 {context.BAD_SOURCE_SIZE})"
    )
    body.branch("stop")
    body.start(size_fine, keep=True)
    look, after = body.fresh("look"), body.fresh("after")
    body.do(f"br i1 {body.cmp('eq', source_bytes, 0)}, label %{after}, label %{look}")
    body.start(look, keep=True)
    nbytes = body.resize(source_bytes, 32, 64)
    arguments = f"i64 {origin}, i64 {nbytes}, i64 {size}, i32 {kinds_of('global')}, i32 {site}, i32 {linear}"
    fine = body.op(f"call i1 @emu_range(ptr %ctx, {arguments})")
    body.do(f"br i1 {fine}, label %{after}, label %stop, !prof !1")
    body.start(after, keep=True)


def arrive_on(body, instr):
    """cp.async.mbarrier.arrive[.noinc]: an arrival once this thread's copies so far have landed, at a later look at an
    mbarrier.

    Without .noinc the phase waits for one arrival more, which this is.
    """
    body.uses.add("cp.async")
    word_at = body.cast("ptrtoint", mbarrier.place(body, instr, instr.operands[0]), "ptr", "i64")
    is_counted = "noinc" in instr.mods
    what = numbers.mbarrier.ARRIVES if is_counted else numbers.mbarrier.LOOKS
    mbarrier.note(body, instr, what, word_at)
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {word_at}"
    body.do(f"call void @emu_queue_arrive(ptr %ctx, {where}, i32 {int(not is_counted)})")


def _commit(body) -> None:
    body.uses.add("cp.async")
    body.do(f"call void @emu_queue_commit(ptr %ctx, i32 {body.threads['linear']})")


def _wait(body, keep) -> None:
    body.uses.add("cp.async")
    body.do(f"call void @emu_queue_wait(ptr %ctx, i32 {body.threads['linear']}, i32 {body.read(keep, 32)})")
