"""bra, brx.idx, ret, exit, trap: PTX ISA 9.7.12. Every backward branch looks at the stop flag."""

from __future__ import annotations

from dsl.emulator.families.control import registers
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import PtxError, Sym

NS_OF_A_TURN = 6  # the logarithm of how long, in nanoseconds, a thread sleeps while each other thread makes an access
MOST_TURNS = 1 << 12


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


def wait_for_grids(body, instr):
    """griddepcontrol.wait: the launch before has ended here, which the checkers hear of.  PTX ISA 9.7.13.13."""
    body.ordered(context.ORDER_GRIDS)


def set_registers(body, instr):
    """setmaxnreg: it changes no values; checkers hear of it.  PTX ISA 9.7.19.5."""
    count = instr.operands[0].value
    if count % registers.STEP or not registers.LEAST <= count <= registers.MOST:
        raise body.malformed(
            instr, f"its count must be a multiple of {registers.STEP} from {registers.LEAST} to {registers.MOST}"
        )
    what = (
        count
        | registers.IS_INC * ("inc" in instr.mods)
        | registers.at_entry(body.module, body.entry) << registers.ENTRY_SHIFT
    )
    body.ordered(context.ORDER_REGISTERS, str(body.site(instr)), str(what))


def branch(body, instr):
    """bra: with a guard, a conditional branch; without, what follows is reached by label only."""
    place = instr.operands[0]
    if not isinstance(place, Sym):
        raise PtxError("its target is not a label")
    label = body.target(instr, place.name)
    if instr.guard is not None:
        after = body.fresh("else")
        body.do(f"br i1 {body.read(instr.guard, 1)}, label %{label}, label %{after}")
        values, checked = dict(body.values), set(body.checked)
        body.emit_polls()
        body.start(after)
        body.values.update(values)
        body.checked = checked
    else:
        body.branch(label)
        body.emit_polls()
        body.start(body.fresh("dead"))


def branch_indexed(body, instr):
    """brx.idx: an index past the list is undefined in the ISA; here it is a fault."""
    index, table = instr.operands[:2]
    targets = body.frame.function.targets.get(table.name)
    if targets is None:
        raise PtxError(f"there is no .branchtargets list `{table.name}`")
    value = body.read(index, 32)
    bad = body.fresh("bad")
    rows = " ".join(f"i32 {i}, label %{body.target(instr, name)}" for i, name in enumerate(targets))
    body.do(f"switch i32 {value}, label %{bad} [{rows}]")
    body.emit_polls()
    body.start(bad)
    fault(body, instr, context.ILLEGAL, detail=context.BAD_INDEX)
    body.start(body.fresh("dead"))


def fault(body, instr, status: int, detail: int = 0) -> None:
    """End the launch with a fault of this instruction."""
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
    fault(body, instr, context.TRAP)
    body.start(body.fresh("dead"))
