"""The forms of tcgen05 in our rows, against the syntax of the PTX ISA and NVIDIA's assembler."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter

import pytest

from dsl import emulator
from dsl.emulator.families import table as isa
from dsl.emulator.ir import operand_grammar
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import Instr
from tests.emulator import legality
from tests.emulator.conftest import HEADER_100, use
from tests.emulator.families.tcgen05 import instructions as syntax

# of sm_100a, and refused by name
REFUSED: dict[str, int] = {}


def module(instructions: list[str]) -> str:
    return f"{HEADER_100}.visible .entry k() {{ {syntax.DECLARATIONS}\n{chr(10).join(instructions)}\nret; }}"


def runs(instr: Instr) -> bool:
    row = isa.find(instr)
    return row is not None and not operand_grammar.problem(row.operands, instr)


def family_of(text: str) -> str:
    """The key of REFUSED."""
    words = re.match(r"tcgen05\.(mma(?:\.ws)?(?:\.sp)?|\w+)", text)[1]
    return f"{words} .block_scale" if words == "mma.sp" and ".block_scale" in text else words


def every_instruction() -> dict[str, Instr]:
    """Those of both groups by their text, once each."""
    found = {}
    for group in (1, 2):
        texts = syntax.instructions(group)
        items = parse(module(texts)).functions["k"].items
        found |= dict(zip(texts, (each for each in items if isinstance(each, Instr))))
    return found


@pytest.mark.parametrize("group", [1, 2])
def test_ptxas_takes_the_syntax(ptxas, group):
    ptxas(module(syntax.instructions(group)), "sm_100a")


def test_forms_that_do_not_run_are_known():
    assert Counter(family_of(text) for text, instr in every_instruction().items() if not runs(instr)) == REFUSED


def test_ptxas_has_the_same_reductions(ptxas):
    texts = list(syntax.reductions())
    text = module(texts).replace("sm_100a", "sm_103a")
    ptxas(text, "sm_103a")
    assert len(texts) == 168
    use(text, "b300")


@pytest.mark.parametrize("old, new", [
    (".x2.", ".x1."), (".32x32b.", ".16x64b."), (".min.f32", ".min.abs.u32"), (".min.f32", ".min.NaN.s32"),
    (".min.f32", ".min.b32"), (".min.f32", ".add.f32"), (".min.f32", ".min.pack::16b.f32"), (", %r128", ""),
])  # fmt: skip
def test_reductions_that_ptxas_refuses_are_refused(ptxas, old, new):
    text = next(syntax.reductions()).replace(old, new)
    text = text.replace("{%r0, %r1}", "{%r0}") if ".x1." in text else text
    source = module([text]).replace("sm_100a", "sm_103a")
    with pytest.raises(AssertionError, match="error"):
        ptxas(source, "sm_103a")
    with pytest.raises((emulator.PtxError, emulator.Unsupported)):
        use(source, "b300")


def those_that_run(group: int) -> list[str]:
    return [each for each in syntax.instructions(group) if family_of(each) not in REFUSED]


@pytest.mark.parametrize("group", [1, 2])
def test_the_others_are_translated(group):
    use(module(those_that_run(group)), "b200")


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize(
    "target, version",
    [
        ("sm_100a", "8.6"),
        ("sm_100a", "8.7"),
        ("sm_100a", "8.8"),
        ("sm_100f", "8.8"),
        ("sm_103a", "9.0"),
        ("sm_103f", "9.0"),
    ],
)
def test_targets_and_versions_agree_with_ptxas(ptxas_path, target, version, group):
    texts = [*those_that_run(group), *syntax.reductions()]
    text = module(texts).replace("sm_100a", target).replace(".version 9.0", f".version {version}")
    argv = [ptxas_path, f"-arch={target}", "-o", "/dev/null", "-"]
    errors = subprocess.run(argv, input=text, text=True, capture_output=True).stderr
    first = text.splitlines().index(texts[0]) + 1
    refused = {texts[int(line) - first] for line in re.findall(r"line (\d+); error", errors)}
    instrs = dict(zip(texts, parse(text).functions["k"].items, strict=False))
    assert {each for each, instr in instrs.items() if isa.need(instr).refusal(target, version)[0]} == refused


def changes(most: int) -> list[legality.Change]:
    """Some changed instructions of those whose family runs."""
    texts = [each for each in every_instruction() if family_of(each) not in REFUSED]
    random.Random(0).shuffle(texts)
    return legality.changes(most, map(syntax.form, texts))


@pytest.mark.parametrize("most", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_changed_forms_that_ptxas_refuses_do_not_run(ptxas_path, most):
    found = legality.disagreements(changes(most), ptxas_path)
    assert found == []


F16 = "tcgen05.mma.cta_group::{}.kind::{} [%r0], %d0, %d1, %r3"
OPERANDS = [
    F16.format(1, "f16") + ", %e, 16;", F16.format(1, "tf32") + ", %e, -1;", F16.format(1, "f8f6f4") + ", %e, 3;",
    F16.format(1, "f16") + f", {syntax.words(8)}, %e;", F16.format(2, "f16") + f", {syntax.words(4)}, %e;",
    F16.format(1, "f16") + ";", "tcgen05.cp.cta_group::1.64x128b [%r0], %d0;",
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0}, [%r0];", "tcgen05.ld.sync.aligned.32x32b.x1.b32 %r0, [%r0];",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r0], 2;", "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r0}, [%r0];",
    "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r0}, [%r0], %r1;",
    "tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r0], {%r0}, 2;",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%d0], %r0;",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32; " + F16.format(2, "f16") + ", %e;",
    "tcgen05.mma.cta_group::1.kind::f16.ashift [%r0], %d0, %d1, %r3, %e;",
    F16.format(1, "f16").replace("mma", "mma.ws") + f", {syntax.words(4)}, %e;",
    F16.format(2, "f16").replace("mma", "mma.ws") + ", %e;",
    "tcgen05.mma.ws.cta_group::1.kind::f16.collector::a::fill [%r0], %d0, %d1, %r3, %e;",
]  # fmt: skip


@pytest.mark.parametrize("instruction", OPERANDS)
def test_operands_that_ptxas_refuses_are_refused(ptxas, instruction):
    with pytest.raises(AssertionError, match="error"):
        ptxas(module([instruction]), "sm_100a")
    with pytest.raises((emulator.PtxError, emulator.Unsupported)):
        use(module([instruction]), "b200")
