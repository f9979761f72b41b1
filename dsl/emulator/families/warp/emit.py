"""shfl, vote, match, redux, elect, activemask, bar.warp: threads of a warp meet. PTX ISA 9.7.9.6, 9.7.13."""

from __future__ import annotations

from dsl.emulator.families.warp.numbers import redux
from dsl.emulator.machine.numbers import meeting
from dsl.emulator.ptx.syntax import SIGNED, Pair, type_of


def meet(body, instr, key: int, mask: str, a: str = "0", b: str = "0", c: str = "0") -> None:
    """Wait for the lanes of `mask` that have not exited; afterwards result() reads what this lane got."""
    site = body.site(instr)
    arguments = f"i32 {body.threads['linear']}, i32 {key}, i32 {mask}, i64 {a}, i32 {b}, i32 {c}, i32 {site}"
    flag = body.op(f"call i32 @emu_wait_warp(ptr %ctx, {arguments})")
    body.stop_unless(flag)
    body.suspend()


def result(body) -> str:
    return body.load("out", body.threads["linear"])


def result_predicate(body) -> str:
    return body.cmp("ne", body.load("out_pred", body.threads["linear"]), 0)


SHUFFLES = {"up": meeting.SHFL_UP, "down": meeting.SHFL_DOWN, "bfly": meeting.SHFL_BFLY, "idx": meeting.SHFL_IDX}


def destinations(instr) -> tuple:
    """The destinations `d|p`: a register, and a predicate; None if it is missing."""
    first = instr.operands[0]
    return (first.first, first.second) if isinstance(first, Pair) else (first, None)


def shuffle(body, instr):
    """shfl.sync.mode.b32 d[|p], a, b, c, membermask."""
    mode = next(m for m in instr.mods if m in SHUFFLES)
    a, b, c, mask = (body.read(o, 32) for o in instr.operands[1:5])
    meet(body, instr, SHUFFLES[mode], mask, body.resize(a, 32, 64), b, c)
    first, second = destinations(instr)
    body.write(first, result(body), 32)
    if second is not None:
        body.write(second, result_predicate(body), 1)


def vote(body, instr):
    """vote.sync.ballot/all/any/uni."""
    mode = next(m for m in instr.mods if m in ("ballot", "all", "any", "uni"))
    p = body.read(instr.operands[1], 1)
    mask = body.read(instr.operands[2], 32)
    code = ("ballot", "all", "any", "uni").index(mode)
    meet(body, instr, meeting.VOTE | code << 8, mask, body.cast("zext", p, "i1", "i64"))
    votes = result(body)
    if mode == "ballot":
        body.write(instr.operands[0], votes, 32)
        return
    every, some = result_predicate(body), body.cmp("ne", votes, 0)
    value = {"all": every, "any": some}.get(mode) or body.or_(every, body.xor(some, "true", "i1"), "i1")
    body.write(instr.operands[0], value, 1)


def match(body, instr):
    """match.any/all.sync.b32/b64 d[|p], a, membermask."""
    bits = 64 if "b64" in instr.mods else 32
    every = "all" in instr.mods
    key = (meeting.MATCH_ALL if every else meeting.MATCH_ANY) | bits << 8
    value = body.resize(body.read(instr.operands[1], bits), bits, 64)
    meet(body, instr, key, body.read(instr.operands[2], 32), value)
    first, second = destinations(instr)
    body.write(first, result(body), 32)
    if second is not None:
        body.write(second, result_predicate(body), 1)


def reduction(instr) -> tuple[str, int]:
    """The operation as LLVM names it, and its number."""
    operation = next(m for m in instr.mods if m in ("add", "min", "max", "and", "or", "xor"))
    is_float = "f32" in instr.mods
    if operation in ("min", "max"):
        operation = ("s" if is_float or type_of(instr) in SIGNED else "u") + operation
    options = redux.FLOAT * is_float | redux.ABS * ("abs" in instr.mods) | redux.NAN * ("NaN" in instr.mods)
    return operation, getattr(redux, operation.upper()) | options


def reduce(body, instr):
    """redux.sync: add, min, max, and, or, xor of integers, or min and max of f32, over the lanes of the mask."""
    _, row = reduction(instr)
    value = body.resize(body.read(instr.operands[1], 32), 32, 64)
    meet(body, instr, meeting.REDUX | row << 8, body.read(instr.operands[2], 32), value)
    body.write(instr.operands[0], result(body), 32)


def elect(body, instr):
    """elect.sync d|p, membermask: the lowest lane of the mask is the leader (the ISA leaves the choice open)."""
    meet(body, instr, meeting.ELECT, body.read(instr.operands[1], 32))
    pair = instr.operands[0]
    body.write(pair.first, result(body), 32)
    body.write(pair.second, result_predicate(body), 1)


def active_mask(body, instr):
    """activemask: the lanes at this instruction when the warp can move no further."""
    body.do(f"call void @emu_wait_active(ptr %ctx, i32 {body.threads['linear']}, i32 {body.site(instr)})")
    body.suspend()
    body.write(instr.operands[0], result(body), 32)
