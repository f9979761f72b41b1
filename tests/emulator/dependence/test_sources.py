"""Every instruction that the ISA leaves open has its bound; instructions whose bits it defines have none.

Modules tested here: dsl/emulator/families/arithmetic/leeway.py, dsl/emulator/families/bulk/leeway.py,
dsl/emulator/families/conversion/leeway.py, dsl/emulator/families/matrix/leeway.py,
dsl/emulator/families/memory/leeway.py, dsl/emulator/families/warp/leeway.py.
"""

import math

import pytest

from dsl.emulator.dependence.sources import leeway_of, leeway_of_register
from dsl.emulator.ptx.syntax import SINK, Instr, Reg, Special
from dsl.emulator.tensor_core.tensor_core import TENSOR_CORES

HOPPER, AMPERE = TENSOR_CORES["hopper"], TENSOR_CORES["ampere"]
ORDER, TICKET = "the order of the additions is open", "the order of the threads is open"


def instruction(name: str, operands=None) -> Instr:
    opcode, *mods = name.split(".")
    return Instr(opcode, tuple(mods), operands or [Reg("%d", 32)], None, 1, None, name)


def bound(name: str, core=HOPPER, is_read=True, operands=None) -> str | None:
    leeway = leeway_of(instruction(name, operands), core, is_read)
    return leeway and leeway.bound


@pytest.mark.parametrize("name, text, error", [
    ("ex2.approx.ftz.f32", "2 ulp", 2 * 2**-23),
    ("ex2.approx.f16x2", "relative error 2^-9.9", 2**-9.9),
    ("ex2.approx.ftz.bf16", "relative error 2^-7", 2**-7),
    ("lg2.approx.f32", "absolute error 2^-22 in (0.5, 2), relative elsewhere", 2**-22),
    ("sin.approx.ftz.f32", "absolute error 2^-20.5 in [-2pi, 2pi]", 2**-20.5),
    ("cos.approx.f32", "absolute error 2^-20.5 in [-2pi, 2pi]", 2**-20.5),
    ("tanh.approx.f32", "relative error 2^-11", 2**-11),
    ("tanh.approx.bf16x2", "absolute error 2^-8", 2**-8),
    ("rcp.approx.ftz.f32", "1 ulp", 2**-23),
    ("rsqrt.approx.f32", "relative error 2^-22.9", 2**-22.9),
    ("sqrt.approx.f32", "relative error 2^-23", 2**-23),
    ("div.approx.f32", "2 ulp", 2 * 2**-23),
    ("div.full.f32", "2 ulp", 2 * 2**-23),
    ("rcp.approx.ftz.f64", "no bound is stated", None),
])  # fmt: skip
def test_approximations_have_the_bound_of_the_isa(name, text, error):
    leeway = leeway_of(instruction(name), HOPPER, True)
    assert leeway is not None and leeway.bound == text and leeway.decides
    stated = leeway.absolute if leeway.relative is None else leeway.relative
    assert stated == error if error is None else math.isclose(stated, error)


@pytest.mark.parametrize(
    "name", ["div.rn.f32", "sqrt.rn.f32", "rcp.rn.f64", "add.f32", "fma.rn.f32", "div.s32", "cvt.rn.f16.f32", "ld.f32"]
)
def test_instructions_with_bits_that_the_isa_defines_have_no_leeway(name):
    assert bound(name) is None


def test_elements_that_share_random_bits_are_open():
    assert bound("cvt.rs.satfinite.e4m3x4.f32") == "how two elements share random bits is open"
    assert bound("cvt.rs.relu.satfinite.e2m1x4.f32") == "how two elements share random bits is open"
    assert bound("cvt.rs.bf16x2.f32") is None


@pytest.mark.parametrize("name, is_read, text", [
    ("atom.global.add.f32", True, ORDER),
    ("atom.global.add.f32", False, ORDER),
    ("red.global.add.noftz.f16x2", False, ORDER),
    ("atom.global.add.u32", True, TICKET),
    ("atom.global.add.u32", False, None),
    ("atom.global.exch.b32", False, TICKET),
    ("red.global.max.s32", False, None),
    ("atom.global.max.f32", False, None),
])  # fmt: skip
def test_atomics_leave_open_who_comes_first(name, is_read, text):
    assert bound(name, is_read=is_read) == text


def test_an_atomic_without_a_result_takes_no_ticket():
    assert bound("atom.global.add.u32", operands=[SINK]) is None


def test_a_whole_sum_in_memory_has_no_order():
    assert bound("atom.global.add.u32", is_read=False) is None
    assert all(bound(f"atom.global.{name}", is_read=False) for name in ("add.f32", "cas.b32", "exch.b64"))


def test_mma_is_open_where_nobody_measured_it():
    eight = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
    assert bound(eight, HOPPER) == "nobody measured this form on the chip"
    assert bound(eight, AMPERE) is None
    assert bound("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", HOPPER) is None
    assert bound(eight, TENSOR_CORES["blackwell"]) == "nobody measured this form on the chip"
    geforce = TENSOR_CORES["blackwell_geforce"]
    assert bound(eight, geforce) is None
    scaled = "mma.sync.aligned.kind::mxf8f6f4.block_scale.m16n8k32.row.col.f32.e4m3.{}.f32.ue8m0"
    assert bound(scaled.format("e5m2"), geforce) is None
    assert bound(scaled.format("e2m1"), geforce) == "nobody measured this form on the chip"
    assert bound("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e3m2.e4m3.f32", geforce) is not None
    assert bound("mma.sync.aligned.kind::mxf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0", geforce) is None


@pytest.mark.parametrize("name, is_open", [
    ("%clock64", True), ("%clock_hi", True), ("%globaltimer_lo", True), ("%smid", True), ("%envreg3", True),
    ("%tid.x", False), ("%ctaid.y", False), ("%laneid", False), ("%lanemask_lt", False),
])  # fmt: skip
def test_registers_of_the_machine(name, is_open):
    leeway = leeway_of_register(Special(name))
    assert (leeway is not None) == is_open
    assert leeway is None or not leeway.decides
