"""MLIR text to llvm dialect text, by MLIR's own conversions."""

from __future__ import annotations

import re

from dsl.core.ir import mlir
from dsl.exceptions import ToolFailure
from dsl.lower.call_sites import into_file_names

_CONVERSIONS = (
    "convert-scf-to-cf",
    "convert-nvvm-to-llvm",
    "convert-vector-to-llvm",
    "convert-math-to-llvm",
    "convert-ub-to-llvm",
    "convert-arith-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)
_DEBUG_LINES = "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}"
_LEFT_OVER = re.compile(r'^\s*(?:%[\w:]+(?:, %[\w:]+)* = )?"?((?:scf|arith|math|cf|vector|ub)\.\w+)', re.MULTILINE)

# scf calls it llvm.loop_annotation and cf hands it on under that name; the llvm dialect's branch reads its own.
_LOOP_ANNOTATION = re.compile(r"^(\s*llvm\.br .*[{ ])llvm\.loop_annotation(?= = )", re.MULTILINE)


# A register of the author's before anything is stored in it. Read from local memory that nobody writes, it stays what
# it is: LLVM would give `undef` a value that fits, and no checker would see it.
_UNSET = re.compile(r"^(\s*)(%[\w$.-]+) = llvm\.mlir\.undef : (i\d+|bf16|f\d+)(?!\w)(.*)$", re.MULTILINE)
_READ_UNSET = "{ .local .align 8 .b64 %dsl_unset; ld.local.bBITS $0, [%dsl_unset]; }"


class LoweringError(ToolFailure):
    """A module that a stage refuses: the stage, and the text its tool gave."""

    def __init__(self, stage: str, text: str):
        super().__init__(stage, text)  # both, so that it survives pickling
        self.stage, self.text = stage, text
        self.problem = f"fails in the stage `{stage}`"

    def __str__(self) -> str:
        return f"{self.stage}: {self.text}"


def _concerns(conversion: str, mlir_text: str) -> bool:
    """Whether a conversion may find an op of its dialect; the earlier ones leave no others than of arith and cf."""
    dialect = conversion.split("-")[1]
    return dialect in ("arith", "unrealized") or f"{dialect}." in mlir_text  # `scf.` has `cf.` in it


def convert_to_llvm(mlir_text: str, debug_lines: bool = True) -> str:
    """A module of llvm.func with llvm, arith, scf, cf, math, vector, ub and nvvm ops, in the llvm dialect only.

    `debug_lines` keeps each op's location so that PTX gets `.loc` lines. Raises LoweringError naming what remains.
    """
    mlir_text = (
        into_file_names(_UNSET.sub(_read_unset, mlir_text)) if debug_lines else _UNSET.sub(_read_unset, mlir_text)
    )
    pipeline = *(name for name in _CONVERSIONS if _concerns(name, mlir_text)), *((_DEBUG_LINES,) if debug_lines else ())
    try:
        text = mlir.run_passes(mlir_text, f"builtin.module({','.join(pipeline)})", places=debug_lines)
    except mlir.ir.MLIRError as error:
        raise LoweringError("MLIR passes", str(error)) from None
    left_over = sorted(set(_LEFT_OVER.findall(text)))
    if left_over:
        raise LoweringError("MLIR passes", f"no conversion to the llvm dialect for {', '.join(left_over)}")
    return _LOOP_ANNOTATION.sub(r"\1loop_annotation", text)


def _read_unset(match: re.Match) -> str:
    """The ops that stand for an unset register of a scalar type."""
    indent, name, type_, place = match.groups()
    width = int(re.sub(r"\D", "", type_))
    bits = max(width, 32)
    stem = re.sub(r"\W", "", name)
    asm = _READ_UNSET.replace("BITS", str(bits))
    steps = [(f'llvm.inline_asm "{asm}", "={"l" if bits == 64 else "r"}" : () -> i{bits}', f"i{bits}")]
    if width < 32:
        steps.append((f"llvm.trunc {{}} : i{bits} to i{width}", f"i{width}"))
    if steps[-1][1] != type_:
        steps.append((f"llvm.bitcast {{}} : {steps[-1][1]} to {type_}", type_))
    lines, before = [], ""
    for number, (step, _) in enumerate(steps):
        step_name = name if number == len(steps) - 1 else f"%unset_{stem}_{number}"
        lines.append(f"{indent}{step_name} = {step.replace('{}', before)}{place}")
        before = step_name
    return "\n".join(lines)
