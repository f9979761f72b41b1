"""The table of instruction forms, docs/ptx-coverage.md: what runs, how its meaning is known, by what it is tested.

python tests/emulator/coverage_table.py           # write it again
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from dsl.emulator.families.arithmetic.leeway import APPROXIMATE
from dsl.emulator.families.matrix.leeway import UNMEASURED
from dsl.emulator.families.table import ROWS, Row
from dsl.forms import coverage
from harness.terminal import markdown

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "ptx-coverage.md"
COMMAND = "python tests/emulator/coverage_table.py"

# Every opcode of the PTX ISA 9.0, chapter 9.7, in alphabetical order.
OPCODES = """
abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clz
clusterlaunchcontrol cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns
getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min
mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret
rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc suld suq
sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vadd vmad vmax vmin vote vset vshl vshr vsub
wgmma wmma xor
""".split()
TYPES = re.compile(r"pred|[bsuf]\d+(x\d)?|bf16(x2)?|tf32|e\dm\d(x\d)?")
MATRIX = ("mma", "wgmma")

INTRODUCTION = f"""# Instructions of the emulator

A row for each instruction and section of the PTX ISA 9.0 that the emulator has; the types that it runs with; how its meaning is
known; tests that name it (tables that spell several opcodes in one string are not found). `{COMMAND}` writes this page.

An instruction whose modifiers do not make a form of a row is refused by name, and the message names the modifier that does not
go with the others or is missing. A register that does not have the size of the type is refused too.
`python tests/emulator/legality.py 400` changes the modifiers of each form and asks ptxas: of 12 536 changed instructions none
runs that ptxas 13.5 refuses for its modifiers. ptxas takes modifiers in almost any order, and so does the emulator.

An instruction that needs a later `.target` or `.version` than its module has is refused too, with the `.target` and `.version`
that cure it. Tests compare the needs of 2 439 forms and of 5 400 changed instructions with ptxas.

How it is known:

- **ISA**: the section defines every bit.
- **bound**: the ISA allows an error, and the emulator gives a value inside the bound: [marked outputs](fidelity.md#marked-outputs).
- **published**: measured on chips by others; the keys are in `repros/bibliography.toml`.
- **hardware**: forms of it ran on a GPU and agreed with the emulator ([validate.md](validate.md)).
- **open**: neither the ISA nor a publication defines it.
"""


def forms(row: Row) -> str:
    """The types of a row; the other modifiers by number."""
    types = sorted(each for each in row.modifiers if TYPES.fullmatch(each))
    others = len(row.modifiers) - len(types)
    return " ".join(types) + (f"{' and ' if types else ''}{others} modifiers" if others else "")


def hardware_evidence(root: Path = ROOT) -> dict[int, str]:
    """id of a row -> `hardware GPU (forms that agree)` for each GPU of validation/*.json that ran forms of it."""
    evidence: dict[int, list[str]] = defaultdict(list)
    for path in sorted((root / "validation").glob("*.json")):
        results = json.loads(path.read_text())
        status = {row["form"]: row["status"] for row in results["rows"]}
        for row, forms_of_row in coverage.every_form_by_row().items():
            ran = [
                status[form] for form in forms_of_row if status.get(form) in ("agrees", "bounded", "open", "disagrees")
            ]
            if ran:
                agree = len(ran) - ran.count("disagrees")
                evidence[row].append(
                    f"hardware {markdown(results['device']['name'])} ({agree} of {len(ran)} forms agree)"
                )
    return {row: "; ".join(texts) for row, texts in evidence.items()}


def knowledge(opcode: str, row: Row, evidence: dict[int, str]) -> str:
    """How the meaning of a row is known."""
    rule = _rule(opcode, row)
    return f"{rule}; {evidence[id(row)]}" if id(row) in evidence else rule


def _rule(opcode: str, row: Row) -> str:
    if opcode in MATRIX and any(map(TYPES.fullmatch, row.modifiers)):
        eight_bits = f"; 8-bit floats of mma on Hopper open: {UNMEASURED.bound}" if opcode == "mma" else ""
        return f"published xie2025, fasi2021 (f16, bf16, tf32); ISA (integers, f64){eight_bits}"
    bounds = {kind: leeway.bound for (name, kind), leeway in APPROXIMATE.items() if name == opcode}
    bounds = {kind: text for kind, text in bounds.items() if kind in row.modifiers and "approx" in row.modifiers}
    if bounds:
        exact = "ISA; " if row.modifiers & {"rn", "rz"} else ""
        return f"{exact}bound (.approx): " + ", ".join(f"{kind} {text}" for kind, text in bounds.items())
    if opcode in ("atom", "red") and "async" not in row.modifiers:
        return "ISA; the order of threads is open"
    return {"elect": "open: any lane of the mask", "activemask": "open: how the warp diverged"}.get(opcode, "ISA")


def tests_by_opcode() -> dict[str, list[str]]:
    """opcode -> up to three test files of the emulator that name an instruction of it, files in a folder emit first."""
    table = defaultdict(list)
    paths = sorted(
        (ROOT / "tests" / "emulator").rglob("test_*.py"), key=lambda path: (path.parent.name != "emit", path)
    )
    for path in paths:
        text = "" if path.parent.name == "dependence" or path.stem == "test_fidelity_page" else path.read_text()
        for opcode in OPCODES:
            if len(table[opcode]) < 3 and re.search(rf"(?<![\w.%]){opcode}(\.[a-z{{]|[\"';])", text):
                table[opcode].append(path.stem)
    return table


def page(root: Path = ROOT) -> str:
    tests, evidence = tests_by_opcode(), hardware_evidence(root)
    rows = ["| instruction | section | types | known by | tests |", "|---|---|---|---|---|"]
    for opcode in OPCODES:
        for row in ROWS.get(opcode, ()):
            files = ", ".join(tests[opcode]) or "none by name"
            rows.append(f"| `{opcode}` | {row.section} | {forms(row)} | {knowledge(opcode, row, evidence)} | {files} |")
    absent = ", ".join(f"`{opcode}`" for opcode in OPCODES if opcode not in ROWS)
    return "\n".join([INTRODUCTION, *rows, "", "## Refused", "", f"No form of these runs: {absent}.", ""])


if __name__ == "__main__":
    PAGE.write_text(page())
