"""bra, brx.idx, ret, exit, trap: PTX ISA 9.7.12. Every backward branch looks at the stop flag."""

from __future__ import annotations

from dsl.emulator.machine import context
from dsl.emulator.ptx.polling import PATIENCE
from dsl.emulator.ptx.syntax import PtxError, Sym

NS_OF_A_TURN = 6  # the logarithm of how long, in nanoseconds, a thread sleeps while each other thread makes an access
MOST_TURNS = 1 << 12


def target(body, instr, name: str) -> str:
    """The block to branch to; a backward branch goes through a poll of the stop flag."""
    label = body.label(name)
    if name not in body.label_positions:
        raise PtxError(f"there is no label `{name}`")
    if body.label_positions[name] > body.position:
        return label
    poll = body.fresh("poll")
    body.pending.append((poll, label, body.polls.get(name), instr))
    return poll


def emit_polls(body) -> None:
    """The poll blocks of the branches just emitted; spin loops also let other threads run."""
    for poll, label, wait, instr in body.pending:
        body.start(poll)
        stop = body.op(f"load volatile i32, ptr {body.field('stop')}")
        stopped, on = body.fresh("stopped"), body.fresh("on")
        body.do(f"br i1 {body.cmp('ne', stop, 0)}, label %{stopped}, label %{on}, !prof !2")
        body.start(stopped)
        ends = body.fresh("ends")
        answer = body.op(f"call i32 @emu_take_signals(i64 {body.cast('ptrtoint', '%ctx', 'ptr', 'i64')})")
        body.do(f"br i1 {body.cmp('eq', answer, 0)}, label %{on}, label %{ends}, !prof !2")
        body.start(ends)
        body.store("status", str(context.INTERRUPTED))
        body.store("stopped_site", str(body.site(instr) + 1))
        body.store("stopped_thread", str(context.ALL_THREADS) if body.in_regions else body.threads["linear"])
        body.branch("stop")
        body.start(on)
        if wait is not None and body.coroutine:
            _give_way(body, wait)
        body.branch(label)
    body.pending.clear()


def nanosleep(body, instr):
    """Let other threads run for some turns, where threads give way; else a hint.  PTX ISA 9.7.19.2."""
    if not body.gives_way:
        return
    duration = body.read(instr.operands[0], 32)
    turns = body.op(f"call i32 @llvm.umin.i32(i32 {body.lshr(duration, NS_OF_A_TURN)}, i32 {MOST_TURNS})")
    slot = body.alloca("i32", 4)
    body.put(slot, body.add(turns, 1))
    linear = body.threads["linear"]
    with body.loop() as done:
        left = body.get(slot)
        body.break_if(body.cmp("eq", left, 0), done)
        body.put(slot, body.sub(left, 1))
        body.set_bits("polling", body.lshr(linear, 5), body.shl(1, body.and_(linear, 31)))
        body.suspend()


def _give_way(body, wait) -> None:
    """A round of a loop that polls is over: let other threads run, at once or after some rounds. See polling.py."""
    after = None
    if not wait.at_once:
        slot, stays, after = body.alloca("i32", 4), body.fresh("stays"), body.fresh("goes")
        body.prologue.append(f"  store i32 0, ptr {slot}")
        rounds = body.add(body.get(slot), 1)
        body.put(slot, rounds)
        body.do(f"br i1 {body.cmp('ugt', rounds, PATIENCE)}, label %{stays}, label %{after}")
        body.start(stays)
        body.put(slot, PATIENCE)
    linear = body.threads["linear"]
    if wait.instr.opcode != "mbarrier":
        body.store("wait_site", str(body.site(wait.instr)), linear)
    if body.idle_poll is None:
        body.store("idle", "0")
    body.suspend()
    if after is not None:
        body.branch(after)
        body.start(after)


def branch(body, instr):
    """bra: with a guard, a conditional branch; without, what follows is reached by label only."""
    place = instr.operands[0]
    if not isinstance(place, Sym):
        raise PtxError("its target is not a label")
    label = target(body, instr, place.name)
    if instr.guard is not None:
        after = body.fresh("else")
        body.do(f"br i1 {body.read(instr.guard, 1)}, label %{label}, label %{after}")
        values, checked = dict(body.values), set(body.checked)
        emit_polls(body)
        body.start(after)
        body.values.update(values)
        body.checked = checked
    else:
        body.branch(label)
        emit_polls(body)
        body.start(body.fresh("dead"))


def branch_indexed(body, instr):
    """brx.idx: an index past the list is undefined in the ISA; here it is a fault."""
    index, table = instr.operands[:2]
    targets = body.frame.function.targets.get(table.name)
    if targets is None:
        raise PtxError(f"there is no .branchtargets list `{table.name}`")
    value = body.read(index, 32)
    bad = body.fresh("bad")
    rows = " ".join(f"i32 {i}, label %{target(body, instr, name)}" for i, name in enumerate(targets))
    body.do(f"switch i32 {value}, label %{bad} [{rows}]")
    emit_polls(body)
    body.start(bad)
    _fault(body, instr, context.ILLEGAL, detail=context.BAD_INDEX)
    body.start(body.fresh("dead"))


def _fault(body, instr, status: int, detail: int = 0) -> None:
    site = body.site(instr)
    thread = body.threads["linear"]
    body.do(f"call void @emu_fault(ptr %ctx, i32 {status}, i32 {site}, i32 {thread}, i64 0, i64 0, i64 {detail})")
    body.branch("stop")


def leave(body, instr):
    """ret: from an inlined function to its call, from an entry as exit."""
    body.branch(body.frame.leave)
    body.start(body.fresh("dead"))


def leave_thread(body, instr):
    body.branch("exit")
    body.start(body.fresh("dead"))


def trap(body, instr):
    """trap, brkpt: the launch ends with a fault."""
    _fault(body, instr, context.TRAP)
    body.start(body.fresh("dead"))
