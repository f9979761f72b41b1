"""Lanes that meet in a block whose threads all come: one step for all warps. See translate/collectives.py."""

from __future__ import annotations

from dsl.emulator.families.warp.emit import SHUFFLES, destinations, reduction
from dsl.emulator.ir.collective import Collective
from dsl.emulator.machine.numbers import meeting
from dsl.emulator.ptx.syntax import Imm, Instr

ALL = 0xFFFFFFFF
_VOTES = ("ballot", "all", "any", "uni")


def _whole(mask) -> bool:
    return isinstance(mask, Imm) and mask.value & ALL == ALL


def source_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that a shuffle of a whole warp reads, and its predicate. PTX ISA 9.7.9.6"""
    segment = c >> 8 & 31
    distance, low = b & 31, lane & segment
    bound = low | c & 31 & ~segment
    source = {"up": lane - distance, "down": lane + distance, "bfly": lane ^ distance}.get(
        mode, low | distance & ~segment
    )
    inside = source >= bound if mode == "up" else source <= bound
    return (source & 31 if inside else lane), inside


def _row(kind: str, values) -> str:
    return "<" + ", ".join(f"{kind} {value}" for value in values) + ">"


def _shuffle(instr: Instr) -> Collective | None:
    if len(instr.operands) < 5 or not _whole(instr.operands[4]):
        return None
    mode = next(each for each in instr.mods if each in SHUFFLES)
    a, b, c = instr.operands[1:4]
    known = isinstance(b, Imm) and isinstance(c, Imm)
    first, second = destinations(instr)

    def vector(code, given):
        rows = [source_lane(mode, lane, b.value, c.value) for lane in range(32)]
        mask = _row("i32", (source for source, _ in rows))
        value = code.op(f"shufflevector <32 x i32> {given}, <32 x i32> poison, <32 x i32> {mask}")
        return value, _row("i8", (int(inside) for _, inside in rows))

    return Collective(SHUFFLES[mode], a, 32, first, second, b, c, vector if known else None)


def _splat(code, value: str, kind: str) -> str:
    one = code.op(f"insertelement <32 x {kind}> poison, {kind} {value}, i32 0")
    return code.op(f"shufflevector <32 x {kind}> {one}, <32 x {kind}> poison, <32 x i32> zeroinitializer")


def _vote(instr: Instr) -> Collective | None:
    if len(instr.operands) < 3 or not _whole(instr.operands[2]):
        return None
    mode = next(each for each in instr.mods if each in _VOTES)
    ballot = mode == "ballot"

    def vector(code, given):
        votes = code.op(f"bitcast <32 x i1> {code.op(f'icmp ne <32 x i8> {given}, zeroinitializer')} to i32")
        every, none = code.cmp("eq", votes, -1), code.cmp("eq", votes, 0)
        flag = {"all": every, "uni": code.or_(every, none, "i1")}.get(mode) or code.xor(none, "true", "i1")
        return _splat(code, votes, "i32"), _splat(code, code.resize(flag, 1, 8), "i8")

    first = instr.operands[0]
    key = meeting.VOTE | _VOTES.index(mode) << 8
    return Collective(key, instr.operands[1], 1, first if ballot else None, None if ballot else first, vector=vector)


def _match(instr: Instr) -> Collective | None:
    if len(instr.operands) < 3 or not _whole(instr.operands[2]):
        return None
    bits = 64 if "b64" in instr.mods else 32
    key = meeting.MATCH_ALL if "all" in instr.mods else meeting.MATCH_ANY
    return Collective(key | bits << 8, instr.operands[1], bits, *destinations(instr))


def _reduce(instr: Instr) -> Collective | None:
    if len(instr.operands) < 3 or not _whole(instr.operands[2]):
        return None
    operation, row = reduction(instr)

    def vector(code, given):
        return _splat(code, code.op(f"call i32 @llvm.vector.reduce.{operation}.v32i32(<32 x i32> {given})"), "i32"), ""

    in_words = None if "f32" in instr.mods else vector
    return Collective(meeting.REDUX | row << 8, instr.operands[1], 32, instr.operands[0], None, vector=in_words)


COLLECTIVES = {"shfl": _shuffle, "vote": _vote, "match": _match, "redux": _reduce}
