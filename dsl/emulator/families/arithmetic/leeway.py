"""The bounds of approximate instructions. PTX ISA 9.0, 9.7.3.8 to 9.7.3.22, 9.7.4.9 and 9.7.4.10."""

from __future__ import annotations

from dsl.emulator.dependence.sources import Leeway
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.tensor_core.tensor_core import TensorCore


def _ulp(count: int) -> Leeway:
    return Leeway(f"{count} ulp", relative=count * 2.0**-23)


def _relative(power: float) -> Leeway:
    return Leeway(f"relative error 2^{power:g}", relative=2.0**power)


def _absolute(power: float, where: str = "") -> Leeway:
    return Leeway(f"absolute error 2^{power:g}{where}", absolute=2.0**power)


_UNSTATED = Leeway("no bound is stated")
_TURN = " in [-2pi, 2pi]"
APPROXIMATE = {  # (opcode, type) -> leeway of the form with .approx
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


def _approximate(instr: Instr, core: TensorCore, is_read: bool) -> Leeway | None:
    if "full" in instr.mods:  # of a division, 9.7.3.8
        return _ulp(2)
    if "approx" not in instr.mods:
        return None
    kind = instr.mods[-1].removesuffix("x2")
    return APPROXIMATE.get((instr.opcode, kind), _UNSTATED)


LEEWAY = {opcode: _approximate for opcode, _ in APPROXIMATE}
