"""Figures of machine code: what is counted, and which loop is the main one."""

import pytest

from dsl.lower import sass
from harness.reporting.code_figures import figures, functions, main_loop, memory_kind, without_padding

HEAD = "\t.section\t.text.k\n.text.k:\n"
TAIL = """.L_x_9:
        /*0900*/                   BRA `(.L_x_9);
        /*0910*/                   NOP;
        /*0920*/                   NOP;
"""
LOG = """ptxas info    : Compiling entry function 'k' for 'sm_80'
    48 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, 400 bytes cmem[0]
"""


def text(*lines):
    """SASS of a kernel; a line that ends in a colon is a label."""
    body = [line if line.endswith(":") else f"        /*{16 * i:04x}*/   {line} ;" for i, line in enumerate(lines)]
    return HEAD + "\n".join(body) + "\n" + TAIL


def opcodes(code, lines):
    return [code[line].opcode for line in lines]


def code_of(*lines):
    return without_padding(functions(text(*lines))["k"])


def test_padding_is_not_an_instruction():
    assert [each.opcode for each in code_of("MOV R1, c[0x0][0x28]", "NOP", "@P0 EXIT", "EXIT")] == [
        "MOV",
        "NOP",
        "EXIT",
        "EXIT",
    ]


def test_figures_of_a_kernel():
    found = figures(
        LOG, text("LDG.E.128 R4, [R2.64]", "@!P0 STS.U16 [R3], R4", "HMMA.16816.F32 R8, R4, R6, R8", "STG.E [R2], R8")
    )
    assert (found.registers, found.stack_bytes, found.spill_bytes) == (40, 48, 20)
    assert (found.instructions, found.matrix, found.loop) == (4, 1, 0)
    assert found.memory == {"LDG.128": 1, "STS.U16": 1, "STG.32": 1}


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("LDG.E.64.CONSTANT", "LDG.64"),
        ("LDSM.16.MT88.4", "LDSM.MT88.4"),
        ("LDGSTS.E.BYPASS.LTC128B.128", "LDGSTS.128"),
        ("LDL.U8", "LDL.U8"),
        ("UTMALDG.2D", "UTMALDG"),
        ("LDGDEPBAR", None),
        ("ULDC.64", None),
        ("IMAD.WIDE", None),
    ],
)
def test_kinds_of_memory_instructions(opcode, kind):
    assert memory_kind(code_of(f"{opcode} R4, [R2]")[0]) == kind


def test_the_main_loop_is_the_innermost_with_the_most_mma():
    code = code_of(
        ".L_x_0:",
        "HMMA.1 R0",
        ".L_x_1:",
        "HMMA.2 R0",
        "HMMA.3 R0",
        "@P0 BRA `(.L_x_1)",
        ".L_x_2:",
        *["FADD R0"] * 9,
        "@P1 BRA `(.L_x_2)",
        "@P2 BRA `(.L_x_0)",
        "EXIT",
    )
    assert opcodes(code, main_loop(code)) == ["HMMA.2", "HMMA.3", "BRA"]


def test_a_loop_without_mma_counts_where_there_is_no_other():
    code = code_of(
        ".L_x_0:", "FADD R0", "@P0 BRA `(.L_x_0)", ".L_x_1:", "FMUL R0", "FMUL R1", "@P0 BRA `(.L_x_1)", "EXIT"
    )
    assert opcodes(code, main_loop(code)) == ["FMUL", "FMUL", "BRA"]


def test_code_moved_out_of_line_makes_no_loop_of_what_is_between():
    code = code_of(
        "SYNCS.TRYWAIT P0",
        "@!P0 BRA `(.L_x_3)",
        ".L_x_1:",
        "HGMMA R0",
        "EXIT",
        ".L_x_3:",
        "SYNCS.TRYWAIT P0",
        "@!P0 BRA `(.L_x_3)",
        "BRA `(.L_x_1)",
    )
    assert opcodes(code, main_loop(code)) == ["SYNCS.TRYWAIT", "BRA"]


def test_one_kernel_at_a_time():
    with pytest.raises(ValueError, match="of one kernel, got 0"):
        figures(LOG, "")


def test_output_of_the_tools_is_read(ptxas_path):
    body = "\n".join(["ld.global.v4.f32 {%a, %b, %c, %d}, [%p];", "st.global.f32 [%p], %a;", "ret;"])
    ptx = (
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n"
        f".reg .b64 %p; .reg .f32 %a, %b, %c, %d; ld.param.u64 %p, [x];\n{body}\n}}\n"
    )
    cubin, log = sass.assemble_verbose(ptx, "sm_80")
    found = figures(log, sass.disassemble(cubin))
    assert found.registers > 0 and found.stack_bytes == 0 and 4 <= found.instructions < 12
    assert found.memory == {"LDG.32": 1, "STG.32": 1} or found.memory == {"LDG.128": 1, "STG.32": 1}
