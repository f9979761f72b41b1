"""The adapter between LLVM 24 text and LLVM 22: bit patterns survive, convergent and contract are put in."""

import struct

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dsl.core.ir import mlir
from dsl.lower import llvm_ir

WIDTHS = {"half": ("f16", 16), "bfloat": ("bf16", 16), "float": ("f32", 32), "double": ("f64", 64)}
SPECIAL = {
    "f16": [0x0000, 0x8000, 0x0001, 0x3C00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x7C01, 0x7E01, 0x3555, 0xFFFF],
    "bf16": [0x0000, 0x8000, 0x0001, 0x3F80, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7F81, 0x7FC1, 0x3EAB, 0xFFFF],
    "f32": [
        0x0,
        0x80000000,
        0x1,
        0x7FFFFF,
        0x800000,
        0x3F800000,
        0x7F7FFFFF,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0xFFC00000,
        0x7F800001,
        0xFFA00000,
        0x7FC00001,
        0x3EAAAAAB,
        0x7149F2CA,
        0x501502F9,
        0xFFFFFFFF,
    ],
    "f64": [
        0x0,
        1 << 63,
        0x1,
        0x3FF0000000000000,
        0x7FEFFFFFFFFFFFFF,
        0x7FF0000000000000,
        0xFFF0000000000000,
        0x7FF8000000000000,
        0xFFF8000000000000,
        0x7FF0000000000001,
        0x7FF8000000000001,
        0x3FD5555555555555,
        0x4415AF1D78B58C40,
        (1 << 64) - 1,
    ],
}


def bits_read_by_llvmlite(text: str) -> list[int]:
    """The meaning of the adapted text in llvmlite: its own O1 folds `bitcast FLOAT to INT` of each function's value."""
    module = llvm.parse_assembly(llvm_ir.adapt(text))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    returned = [line.split()[-1] for line in str(module).split("\n") if line.startswith("  ret ")]
    return [int(value) for value in returned]


@pytest.fixture(scope="module", autouse=True)
def native_target():
    llvm.initialize_native_target()


def through_mlir(type_: str, patterns: list[int]) -> list[int]:
    width = int(type_.lstrip("bf"))
    functions = "\n".join(
        f"llvm.func @f{index}() -> i{width} {{ %0 = llvm.mlir.constant({bits:#x} : {type_}) : {type_}\n"
        f"%1 = llvm.bitcast %0 : {type_} to i{width}\n llvm.return %1 : i{width} }}"
        for index, bits in enumerate(patterns)
    )
    got = bits_read_by_llvmlite(mlir.translate_to_llvm_ir(functions))
    return [value % (1 << width) for value in got]


@pytest.mark.parametrize("type_", list(SPECIAL))
def test_special_constants_keep_every_bit(type_):
    assert through_mlir(type_, SPECIAL[type_]) == SPECIAL[type_]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(SPECIAL)), st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=40))
def test_random_bit_patterns_keep_every_bit(type_, patterns):
    patterns = [bits % (1 << int(type_.lstrip("bf"))) for bits in patterns]
    assert through_mlir(type_, patterns) == patterns


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(width=32) | st.integers(-(10**9), 10**9).map(float), min_size=1, max_size=40))
def test_round_decimals_keep_every_bit(values):
    patterns = [struct.unpack("<I", struct.pack("<f", value))[0] for value in values]
    assert through_mlir("f32", patterns) == patterns


def test_every_place_a_constant_can_stand():
    text = "\n".join(
        (
            "@v = constant <3 x half> <half +inf, half 5.960460e-08, half +qnan>",
            "@s = constant <4 x double> splat (double -nan(0x7FFFFFFFFFFFF))",
            '@t = private constant [9 x i8] c"float 1.5"',
            "@m = constant { i32, float, double } { i32 7, float 1.100000e+00, double 1.100000e+00 }",
            'define <2 x float> @"float 1.1"(<2 x float> %0, i1 %1, float %2) {',
            "  %4 = fadd <2 x float> %0, splat (float 1.100000e+00)",
            "  %5 = fcmp olt float f0x3EAAAAAB, %2",
            "  %6 = select i1 %5, float -inf, float 2.500000e+00",
            "  br i1 %1, label %7, label %9",
            "",
            "7:",
            "  %8 = phi <2 x float> [ %4, %3 ], [ splat (float 1.401300e-45), %9 ]",
            "  ret <2 x float> %8",
            "",
            "9:",
            "  br label %7",
            "}",
        )
    )
    adapted = llvm_ir.adapt(text)
    llvm.parse_assembly(adapted).verify()
    assert "<half 0xH7C00, half 0xH0001, half 0xH7E00>" in adapted
    assert 'c"float 1.5"' in adapted and '@"float 1.1"' in adapted
    assert "{ i32 7, float 0x3FF19999A0000000, double 0x3FF199999999999A }" in adapted


def test_inline_assembly_is_convergent():
    text = "\n".join(
        (
            "define void @k(i32 %0) {",
            '  call void asm sideeffect "bar.sync $0; // (x)", "r"(i32 %0), !srcloc !0',
            '  %2 = call i32 asm "mov.u32 $0, %laneid;", "=r"()',
            "  ret void",
            "}",
            "!0 = !{i32 1}",
        )
    )
    adapted = llvm_ir.adapt(text)
    assert '"r"(i32 %0) convergent, !srcloc !0' in adapted and '"=r"() convergent' in adapted
    llvm.parse_assembly(adapted).verify()


def test_attributes_only_the_newer_llvm_knows_are_dropped():
    text = "\n".join(
        (
            "define void @k() #0 {",
            "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
            "  ret void",
            "}",
            "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1",
            'attributes #0 = { "nvvm.reqntid"="32" }',
            "attributes #1 = { convergent attribute_of_tomorrow }",
        )
    )
    assert "attribute_of_tomorrow" not in llvm_ir.adapt(text)
    module = llvm.parse_assembly(llvm_ir.adapt(text))
    assert "convergent" in str(module) and '"nvvm.reqntid"="32"' in str(module)


def test_contraction_is_allowed_only_if_asked():
    text = "\n".join(
        (
            "define float @f(float %0) {",
            "  %2 = fmul nnan float %0, %0",
            "  %3 = fadd contract float %2, %0",
            "  ret float %3",
            "}",
        )
    )
    assert "fmul nnan float" in llvm_ir.adapt(text)
    assert "fmul contract nnan float" in llvm_ir.adapt(text, contract=True)
    assert llvm_ir.adapt(text, contract=True).count("contract") == 2


@pytest.mark.parametrize("to", ["float", "double"])
@pytest.mark.parametrize("count", [1, 2])
def test_half_of_a_computed_bfloat_is_computed_in_float(to, count):
    """instcombine takes bfloat for a narrower type than half: 70144 - 5000 was an infinity, though 65144 is a half."""

    def of(type_):
        return type_ if count == 1 else f"<{count} x {type_}>"

    def splat(text):
        return text if count == 1 else "<" + ", ".join([f"{to} {text}"] * count) + ">"

    text = f"""define {of("half")} @f({of("bfloat")} %0) {{
  %2 = fpext {of("bfloat")} %0 to {of(to)}
  %3 = fsub {of(to)} %2, {splat("5.000000e+03")}
  %4 = fptrunc {of(to)} %3 to {of("half")}
  ret {of("half")} %4
}}
define i16 @g() {{
  %1 = call {of("half")} @f({of("bfloat")} {"0xR4789" if count == 1 else "<bfloat 0xR4789, bfloat 0xR4789>"})
  {"%2 = fadd half %1, 0.0" if count == 1 else "%2 = extractelement <2 x half> %1, i32 1"}
  %3 = bitcast half %2 to i16
  ret i16 %3
}}
"""
    module = llvm.parse_assembly(llvm_ir.adapt(text))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    folded = str(module).rpartition("@g")[2]
    assert f"ret i16 {np.float16(70144 - 5000).view(np.int16)}" in folded


def test_a_product_that_is_rounded_first_stays_out_of_a_fused_sum():
    text = "\n".join(
        (
            "define half @f(half %0, half %1) {",
            "  %3 = fpext half %0 to float",
            "  %4 = fmul float %3, %3",
            "  %5 = fptrunc float %4 to half",
            "  %6 = fpext half %5 to float",
            "  %7 = fpext half %1 to float",
            "  %8 = fadd float %6, %7",
            "  %9 = fptrunc float %8 to half",
            "  ret half %9",
            "}",
        )
    )
    adapted = llvm_ir.adapt(text, contract=True)
    assert "%4 = fmul float" in adapted and "%8 = fadd contract float" in adapted
