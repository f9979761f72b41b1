"""Instructions whose result the PTX ISA leaves open, with the bound that it states. Sections: PTX ISA 9.0."""

from __future__ import annotations

from dataclasses import dataclass

from dsl.emulator.ptx.syntax import FLOATS, SINK, Instr, Special
from dsl.emulator.tensor_core.tensor_core import TensorCore

_HALVES = frozenset({"f16x2", "bf16x2"})


@dataclass(frozen=True, slots=True)
class Leeway:
    """What an instruction's result may be: `relative` or `absolute` is the largest error, None where none is stated.

    `decides`: whether a branch that depends on the value passes the dependence on. What only says who comes first
    (clocks, tickets, the leader of a warp) does not: kernels choose by it who works, not what comes out.
    """

    bound: str
    relative: float | None = None
    absolute: float | None = None
    decides: bool = True


def _ulp(count: int) -> Leeway:
    return Leeway(f"{count} ulp", relative=count * 2.0**-23)


def _relative(power: float) -> Leeway:
    return Leeway(f"relative error 2^{power:g}", relative=2.0**power)


def _absolute(power: float, where: str = "") -> Leeway:
    return Leeway(f"absolute error 2^{power:g}{where}", absolute=2.0**power)


_UNSTATED = Leeway("no bound is stated")
_TURN = " in [-2pi, 2pi]"
APPROXIMATE = {  # (opcode, type) -> leeway of the form with .approx; 9.7.3.8 to 9.7.3.22, 9.7.4.9 and 9.7.4.10
    ("div", "f32"): _ulp(2),
    ("rcp", "f32"): _ulp(1),
    ("rcp", "f64"): _UNSTATED,
    ("sqrt", "f32"): _relative(-23),
    ("rsqrt", "f32"): _relative(-22.9),
    ("rsqrt", "f64"): _UNSTATED,
    ("sin", "f32"): _absolute(-20.5, _TURN),
    ("cos", "f32"): _absolute(-20.5, _TURN),
    ("lg2", "f32"): _absolute(-22, " in (0.5, 2), relative elsewhere"),
    ("ex2", "f32"): _ulp(2),
    ("ex2", "f16"): _relative(-9.9),
    ("ex2", "bf16"): _relative(-7),
    ("tanh", "f32"): _relative(-11),
    ("tanh", "f16"): _absolute(-10.987),
    ("tanh", "bf16"): _absolute(-8),
}
ORDER_OF_SUMS = Leeway("the order of the additions is open")
ORDER_OF_THREADS = Leeway("the order of the threads is open", decides=False)
UNMEASURED = Leeway("nobody measured this form on the chip")
ABSENT_LANE = Leeway("a lane that takes no part was read")  # of a shuffle, where a launch was seen to do so
MACHINE = Leeway("the machine's own", decides=False)
_OPCODES = frozenset(opcode for opcode, _ in APPROXIMATE)
_MACHINE_REGISTERS = ("clock", "globaltimer", "smid", "nsmid", "warpid", "nwarpid", "gridid", "envreg")
_ATOMS = frozenset({"atom", "red"})


def leeway_of(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    """The leeway of an instruction's result, None where the ISA (or a measurement) says every bit.

    `is_read`: whether another instruction reads the register that it sets.
    """
    if instr.opcode in _OPCODES:
        return _approximate(instr)
    if instr.opcode in _ATOMS:
        return _atomic(instr, is_read)
    if instr.opcode == "cp" and "reduce" in instr.mods:
        return ORDER_OF_SUMS if _sums_floats(instr) else None
    if instr.opcode == "mma":
        return UNMEASURED if _is_unmeasured(instr, core) else None
    if instr.opcode == "shfl":
        return ABSENT_LANE
    return MACHINE if instr.opcode in ("activemask", "elect") else None


def leeway_of_register(register: Special) -> Leeway | None:
    """The leeway of a predefined register's value."""
    return MACHINE if register.name.removeprefix("%").startswith(_MACHINE_REGISTERS) else None


def _approximate(instr: Instr) -> Leeway | None:
    if instr.opcode == "div" and "full" in instr.mods:  # 9.7.3.8
        return _ulp(2)
    if "approx" not in instr.mods:
        return None
    kind = instr.mods[-1].removesuffix("x2")
    return APPROXIMATE.get((instr.opcode, kind), _UNSTATED)


def leaves_open(instr: Instr) -> bool:
    """Whether what an atomic leaves in memory depends on who comes first, and not only what it returns."""
    return _sums_floats(instr) or not {"exch", "cas"}.isdisjoint(instr.mods)


def _sums_floats(instr: Instr) -> bool:
    return "add" in instr.mods and not (FLOATS | _HALVES).isdisjoint(instr.mods)


def _atomic(instr: Instr, is_read: bool) -> Leeway | None:
    if _sums_floats(instr):
        return ORDER_OF_SUMS
    returns = instr.opcode == "atom" and instr.operands[0] != SINK and is_read
    return ORDER_OF_THREADS if returns or leaves_open(instr) else None


def _is_unmeasured(instr: Instr, core: TensorCore) -> bool:
    """`mma` of 8-bit floats where they are made of instructions of f16: ptxas says how, no chip was asked."""
    return core.fp8_as_f16 and not {"e4m3", "e5m2"}.isdisjoint(instr.mods)
