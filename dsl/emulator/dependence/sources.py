"""Instructions whose result the PTX ISA leaves open, with the bound that it states. Sections: PTX ISA 9.0."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from dsl.emulator import families
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Instr, Special
from dsl.emulator.tensor_core.tensor_core import TensorCore


@dataclass(frozen=True, slots=True)
class Leeway:
    """The values that an instruction's result may have: `relative` or `absolute` is the largest error, or None.

    `decides`: whether a branch that depends on the value passes the dependence on. Values that only show who
    comes first (clocks, tickets, the leader of a warp) do not: kernels choose by them who works, not the result.
    `seen`: it counts only if a launch was seen to do so (a bit of `seen` of machine/context.py); 0: always.
    """

    bound: str
    relative: float | None = None
    absolute: float | None = None
    decides: bool = True
    seen: int = 0


ORDER_OF_SUMS = Leeway("the order of the additions is open")
ABSENT_LANE = Leeway("a lane that takes no part was read", seen=context.SEEN_ABSENT_LANE)
MACHINE = Leeway("the machine's own", decides=False)
_MACHINE_REGISTERS = ("clock", "globaltimer", "smid", "nsmid", "warpid", "nwarpid", "gridid", "envreg")


def leeway_of(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    """The leeway of an instruction's result, None if the ISA (or a measurement) defines every bit.

    `is_read`: whether another instruction reads the register that it sets.
    """
    rule = _rules().get(instr.opcode)
    return rule(instr, core, is_read) if rule is not None else None


@functools.cache
def _rules() -> dict:
    """By opcode, from the families' leeway.py; the rest have none."""
    return {opcode: rule for each in families.named("leeway", "LEEWAY") for opcode, rule in each.items()}


def leeway_of_register(register: Special) -> Leeway | None:
    """The leeway of a predefined register's value."""
    return MACHINE if register.name.removeprefix("%").startswith(_MACHINE_REGISTERS) else None
