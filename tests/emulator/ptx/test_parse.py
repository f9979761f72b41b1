"""PTX text -> syntax: what compilers write and people get wrong.

Modules tested here: dsl/emulator/ptx/syntax.py.
"""

from __future__ import annotations

import random
import re

import pytest

from dsl import emulator
from dsl.emulator.ptx import syntax
from dsl.emulator.ptx.parse import parse
from dsl.forms.table import forms
from tests.emulator.conftest import use

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def instructions(body: str) -> list[syntax.Instr]:
    text = (
        HEAD
        + ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<3>;\n"
        + body
        + "\nret; }"
    )
    return [i for i in parse(text).functions["k"].items if isinstance(i, syntax.Instr)]


def test_operands():
    (first, *_) = instructions("@!%p1 shfl.sync.up.b32 %r1|%p2, %r2, 0x1F, -1, 0b101;")
    R, P = syntax.Reg("%r1", 32), syntax.Reg("%p2", 1)
    assert first.operands == [syntax.Pair(R, P), syntax.Reg("%r2", 32), syntax.Imm(31), syntax.Imm(-1), syntax.Imm(5)]
    assert first.guard == syntax.Not(syntax.Reg("%p1", 1)) and first.mods == ("sync", "up", "b32") and first.line == 5


def test_modifiers_may_follow_a_space():
    first, second, _ = instructions("add  .s32 %r1, %r2, 5;\nst.global .v2 .u32 [%rd1], {%r1, %r2};")
    assert (first.opcode, first.mods, len(first.operands)) == ("add", ("s32",), 3)
    assert (second.opcode, second.mods) == ("st", ("global", "v2", "u32"))
    copy, _ = instructions(
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group .L2::cache_hint [%rd1, {%r1}], [%r2], %rd2;"
    )
    assert copy.mods[-2:] == ("bulk_group", "L2::cache_hint") and len(copy.operands) == 3


def test_addresses_constants_and_vectors():
    load, store, move = instructions(
        "ld.global.L1::evict_last.v2.f32 {%r1, _}, [%rd1+-8]; st.param.b64 [out-4], 0d3FF0000000000000;"
        "mov.b32 %r1, -0f3F800000;"
    )[:3]
    assert load.operands == [syntax.Vec((syntax.Reg("%r1", 32), syntax.SINK)), syntax.Addr(syntax.Reg("%rd1", 64), -8)]
    assert "L1::evict_last" in load.mods
    assert store.operands[1] == syntax.FloatImm(0x3FF0000000000000, 64)
    assert store.operands[0] == syntax.Addr(syntax.Sym("out", -4), 0)
    assert move.operands[1] == syntax.FloatImm(0xBF800000, 32)


def test_comments_places_and_text():
    items = instructions(
        "// no\n/* nor\n this */ .loc 2 10 3, function_name $L__info+4, inlined_at 1 5 6\nadd.s32 %r1,\n  %r1, 1;"
    )
    assert items[0].text == "add.s32 %r1, %r1, 1;" and items[0].loc == (2, 10, 3) and items[0].line == 8
    assert items[0].callers == ((1, 5, 6),)


def test_callers_of_an_inlined_function_come_from_the_place_it_is_inlined_at():
    """The last .loc of that place counts: a helper may be called twice."""
    rows = [".loc 1 5 6", ".loc 2 7 1, function_name $L, inlined_at 1 5 6", ".loc 3 1 1, inlined_at 2 7 1", ".loc 1 9 9",
            ".loc 2 7 1, inlined_at 1 9 9", ".loc 3 1 1, inlined_at 2 7 1", ".loc 3 1 1, inlined_at 3 1 1", ".loc 1 5 6"]  # fmt: skip
    items = instructions("".join(f"{row}\nadd.s32 %r1, %r1, 1;\n" for row in rows))
    a, b, first, second = (1, 5, 6), (2, 7, 1), (2, 7, 1), (1, 9, 9)
    assert [each.callers for each in items[:8]] == [
        (), (a,), (first, a), (), (second,), (b, second), ((3, 1, 1), b, second), ()
    ]  # fmt: skip


def test_directives_of_entries_and_debug_sections():
    module = parse(
        HEAD
        + """
.file 1 "/a/b.py", 123, 456
.visible .entry k(.param .align 8 .b8 t[24], .param .u64 .ptr .global .align 16 p, .param .u32 n)
.reqntid 32, 4
.maxnreg 64 .minnctapersm 2
{ .pragma "nounroll"; .loc 1 1 1
ret; }
.section .debug_str { $L: .b8 1, 2 }
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 4 .u32 table[2][2] = {{1, 2}, {3, 4}};
"""
    )
    function = module.functions["k"]
    assert function.reqntid == (32, 4, 1) and [p.size for p in function.params] == [24, 8, 4]
    assert module.files == {1: "/a/b.py"} and module.variables["table"].size == 16
    assert [(row[0], row[2].value) for row in module.variables["table"].init] == [(0, 1), (4, 2), (8, 3), (12, 4)]


@pytest.mark.parametrize("text, message", [
    ("hello", "PTX line 1: expected a directive, found `hello`"),
    (HEAD + ".visible .entry k() { ret; ", "PTX line 4: expected `}`, found `end of text`"),
    (HEAD + ".visible .entry k() { 5; }", "PTX line 4: expected an instruction, found `5`"),
    (HEAD + ".visible .entry k() { .reg .b32 %r<3>; .reg .u32 %r1; }", "PTX line 4: `%r1` is defined twice"),
    (HEAD + ".visible .entry k() { A: ret; A: ret; }", "PTX line 4: `A` is defined twice"),
    (HEAD + ".visible .entry k() { .shared .b32 s; .local .b32 s; }", "PTX line 4: `s` is defined twice"),
    (HEAD + ".global .b32 g; .global .b32 g;", "PTX line 4: `g` is defined twice"),
    (HEAD + ".visible .entry k() { ret; } .visible .entry k() { ret; }", "PTX line 4: `k` is defined twice"),
    (HEAD + ".visible .entry k() { .reg .q8 %r; }", "PTX line 4: expected a type, found `.q8`"),
    (HEAD + ".visible .entry k() { .reg .b32 %r; mov.u32 %r, %nope; ret; }",
     "PTX line 4: the register `%nope` is neither declared nor predefined: mov.u32 %r, %nope;"),
    (HEAD + ".visible .entry k() { .reg .b32 %r; mov.u32 %r, ~foo; ret; }",
     "PTX line 4: expected an integer after `~`, found `foo`"),
    (HEAD + ".visible .entry k() { .reg .b32 %r; mov.u32 %r, ~1.5; ret; }",
     "PTX line 4: expected an integer after `~`, found `1.5`"),
    (HEAD + ".visible .entry k() { .reg .b32 %r; mov.u32 %r, -foo; ret; }",
     "PTX line 4: expected a number after `-`, found `foo`"),
    (HEAD + ".visible .entry k() { bra", "PTX line 4: expected `a token`, found `end of text`"),
    (HEAD + ".reg .b32 %r;", "PTX line 4: expected a directive, found `.reg`"),
    (HEAD + ".global .u32 x = %tid.x;", "PTX line 4: expected a constant or an address before this, found `;`"),
    (HEAD + ".visible .entry k() { .reg .b32 %r<99999999>; }",
     "PTX line 4: expected at most 1048576 registers, found `>`"),
    ("", None),
])  # fmt: skip
def test_text_that_is_not_ptx(text, message):
    if message is None:
        assert emulator.load(text).entries == {}
        return
    with pytest.raises(emulator.PtxError) as caught:
        emulator.load(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("instruction", [
    "add.s32 %r1, %r2;", "add.s32 5, %r1, %r2;", "ld.global.u32 %r1, %r2;", "mov.b64 %rd1, {%r1, %r2, %r3};",
    "bra NOWHERE;", "shfl.sync.idx.b32 %r1, %r2;", "st.global.v2.u32 [%rd1], {%r1};", "ld.param.u32 %r1, [out+8];",
    "ld.param.u32 %r1, [nothing];", "selp.b32 %r1, 1, 2, [%rd1];", "brx.idx %r1, NOWHERE;", "mov.u64 %rd1, nothing;",
    "cvt.u32.f32 %r1, %r2;", "call f;", "setp.lt.s32 %p1|%p2;", "cp.async.ca.shared.global [%r1], [%rd1], 5;",
    "lop3.b32 %r1, %r1, %r1, %r1, %r1;", "vote.sync.all.pred %p1;", "bar.sync;", "atom.global.add.u32 %r1;",
])  # fmt: skip
def test_malformed_instructions_are_refused_not_run(instruction):
    text = HEAD + ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<3>;\n"
    with pytest.raises((emulator.PtxError, emulator.Unsupported)):
        use(text + instruction + "\nret; }")


# A kernel with most kinds of operands, and what authors put where it does not belong.
WHOLE = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.global .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry k(.param .u64 x, .param .u32 n)
.reqntid 32, 1, 1
{
  .reg .b16 %h<3>; .reg .b32 %t, %r<9>; .reg .f32 %f<4>; .reg .b64 %x, %d<4>; .reg .pred %p<3>;
  .shared .align 16 .b8 smem[64];
  ld.param.u64 %x, [x]; ld.param.u32 %r0, [n]; mov.u32 %t, %tid.x;
  setp.lt.u32 %p1, %t, %r0; @!%p1 bra $L2;
  mad.wide.u32 %d1, %t, 4, %x; ld.global.v2.u32 {%r1, %r2}, [%d1+8];
  mov.b64 %d2, {%r1, %r2}; cvt.rn.f32.s32 %f1, %r1; fma.rn.f32 %f2, %f1, 0f3F800000, %f1;
  atom.global.add.u32 %r3, [%d1], 1; shfl.sync.idx.b32 %r4|%p2, %r1, 0, 31, -1;
  mov.u32 %r5, smem; st.shared.u32 [%r5+4], %r4; bar.sync 0;
  selp.b32 %r6, %r4, 7, %p2; prmt.b32 %r7, %r6, %r4, 0x3210; lop3.b32 %r8, %r1, %r2, %r3, 0xe8;
$L1: add.u32 %r6, %r6, -1; setp.ne.u32 %p1, %r6, 0;
  @%p1 bra.uni $L2; bra $L1;
$L2: { .reg .b32 %q; mov.u32 %q, table; }
  ret;
}
"""
STRANGE = """~foo ~ - + [ ] { } ! | ( ) 0f 0x % %r99 %nope foo $L9 @ @! .v4 .u8 .f64 _ -1 1.5 0dZZ "a" // /* \\ \0 é ; , <9>
9999999999999999999999 -99999999999999999999 %tid.w %laneid dyn smem[4] table+4 table- !%p1 %r1|%p1 {%r1} [%d1+%r1] [5]
[smem+4] [] 0b11 017 1u 08 0x 0f00 0b12 0d12 12a 1e400 .5 1.5.2 0xG WARP_SZ %f1 .loc .file .reg .param .shared .align call .func""".split()


# Words of Python's exceptions and of our classes, which no report has.
PYTHON = re.compile(
    r"Traceback|NoneType|object has no|list index|unpack|expected \d+\)|KeyError|\b(?:Reg|Imm|Sym|Vec|Addr|Special)\(|dsl/"
)


def mutant_of(text: str, chosen: random.Random) -> str:
    """A token removed, replaced or put in, or the end cut off."""
    tokens = re.findall(r"\s+|[\w.$%]+|.", text)
    for _ in range(chosen.choice((1, 1, 1, 2))):
        at, how = chosen.randrange(len(tokens)), chosen.randrange(4)
        new = tokens[chosen.randrange(len(tokens))] if how == 3 else chosen.choice(STRANGE)
        tokens[at : at + (how != 2)] = [] if how == 1 else [new]
    mutant = "".join(tokens)
    return mutant[: chosen.randrange(len(mutant))] if chosen.randrange(20) == 0 else mutant


def assert_loads_or_says_where(text: str) -> bool:
    """Whether a text is refused: by PtxError or Unsupported with a PTX line, and no word of Python."""
    try:
        program = emulator.load(text)
        for name in program.entries:
            program.code(name, 1)
    except (emulator.PtxError, emulator.Unsupported) as error:
        assert re.search(r"PTX line [1-9]\d*", str(error)) and not PYTHON.search(str(error)), f"{error}\n{text}"
        return True
    except Exception as error:
        pytest.fail(f"{type(error).__name__}: {error}\n{text}")
    return False


@pytest.mark.parametrize("count", [100, pytest.param(1500, marks=pytest.mark.slow)])
def test_mutants_load_or_are_ptx_errors(count):
    """Text that cannot be read is an error with its line, not a fault of the reader."""
    chosen = random.Random(count)
    refused = sum(assert_loads_or_says_where(mutant_of(WHOLE, chosen)) for _ in range(count))
    assert 0.3 < refused / count < 0.95


@pytest.mark.slow
def test_mutants_of_every_form_load_or_are_ptx_errors():
    """Of the kernels of dsl/forms: one mutant each of some, and one with an operand too many or too few."""
    chosen = random.Random(29)
    for form in chosen.sample(list(forms()), 500):
        assert_loads_or_says_where(mutant_of(form.ptx, chosen))
        places = list(re.finditer(rf"(?<=[;{{}}\s]){form.name.split('.')[0]}[\w.:]*\s+([^;]*);", form.ptx))
        if places:
            place = chosen.choice(places)
            operands = re.split(r",\s*(?![^{\[]*[}\]])", place[1])
            at = chosen.randrange(len(operands))
            operands[at : at + 1] = [] if chosen.randrange(2) else [operands[at]] * 2
            assert_loads_or_says_where(form.ptx[: place.start(1)] + ", ".join(operands) + form.ptx[place.end(1) :])


def test_long_lists_of_registers_are_short_in_reports():
    names = ", ".join(f"%r{i}" for i in range(64))
    text = f".visible .entry k() {{ .reg .b32 %r<64>; .reg .b64 %d;\nfoo {{{names}}},\n  %d, {{%r1,%r2}}; ret; }}"
    instr = parse(text).functions["k"].items[0]
    assert instr.text == "foo {%r0, ..., %r63}, %d, {%r1,%r2};"
    assert len(instr.operands[0].items) == 64
