"""MLIR text to llvm dialect text, by MLIR's own conversions."""

from __future__ import annotations

import re

from dsl.core import mlir

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


class LoweringError(Exception):
    """A module that a stage refuses: the stage, and the text its tool gave. `fails`: what an author is told."""

    def __init__(self, stage: str, text: str):
        super().__init__(stage, text)          # both, so that it survives pickling
        self.stage, self.text = stage, text
        self.fails = f"fails in the stage `{stage}`"

    def __str__(self) -> str:
        return f"{self.stage}: {self.text}"


def _concerns(conversion: str, mlir_text: str) -> bool:
    """Whether a conversion may find an op of its dialect; the earlier ones leave no others than of arith and cf."""
    dialect = conversion.split("-")[1]
    return dialect in ("arith", "unrealized") or f"{dialect}." in mlir_text          # `scf.` has `cf.` in it


def convert_to_llvm(mlir_text: str, debug_lines: bool = True) -> str:
    """A module of llvm.func with llvm, arith, scf, cf, math, vector, ub and nvvm ops, in the llvm dialect only.

    `debug_lines` keeps each op's location so that PTX gets `.loc` lines. Raises LoweringError naming what remains.
    """
    pipeline = *(name for name in _CONVERSIONS if _concerns(name, mlir_text)), *((_DEBUG_LINES,) if debug_lines else ())
    try:
        text = mlir.run_passes(mlir_text, f"builtin.module({','.join(pipeline)})", places=debug_lines)
    except mlir.ir.MLIRError as error:
        raise LoweringError("MLIR passes", str(error)) from None
    left_over = sorted(set(_LEFT_OVER.findall(text)))
    if left_over:
        raise LoweringError("MLIR passes", f"no conversion to the llvm dialect for {', '.join(left_over)}")
    return _LOOP_ANNOTATION.sub(r"\1loop_annotation", text)
