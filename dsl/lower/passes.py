"""MLIR text to llvm dialect text, by MLIR's own conversions."""

from __future__ import annotations

from collections.abc import Sequence

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
_CONVERTED = "scf.", "arith.", "math.", "cf.", "vector.", "ub."  # dialects of which nothing may remain

_LOOP_ANNOTATION = "llvm.loop_annotation"
_READ_UNSET = "{{ .local .align 8 .b64 %dsl_unset; ld.local.b{bits} $0, [%dsl_unset]; }}"


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


def convert_to_llvm(
    mlir_text: str, debug_lines: bool = True, before: Sequence[mlir.Rewrite] = (), after: Sequence[mlir.Rewrite] = ()
) -> str:
    """A module of llvm.func with llvm, arith, scf, cf, math, vector, ub and nvvm ops, in the llvm dialect only.

    `debug_lines` keeps each op's location so that PTX gets `.loc` lines. `before` and `after` the conversion the module
    is rewritten. Raises LoweringError naming what remains.
    """
    pipeline = *(name for name in _CONVERSIONS if _concerns(name, mlir_text)), *((_DEBUG_LINES,) if debug_lines else ())
    before = (_read_unset_registers, *before) if "llvm.mlir.undef" in mlir_text else before
    after = (_rename_loop_annotations, *after) if _LOOP_ANNOTATION in mlir_text else after
    try:
        text = mlir.run_passes(
            into_file_names(mlir_text) if debug_lines else mlir_text,
            f"builtin.module({','.join(pipeline)})",
            debug_lines,
            before,
            after,
        )
    except mlir.ir.MLIRError as error:
        raise LoweringError("MLIR passes", str(error)) from None
    if any(dialect in text for dialect in _CONVERTED):
        left_over = [name for name in mlir.operation_names(text) if name.startswith(_CONVERTED)]
        if left_over:
            raise LoweringError("MLIR passes", f"no conversion to the llvm dialect for {', '.join(left_over)}")
    return text


def _rename_loop_annotations(module: mlir.Operation) -> None:
    """Rename the attribute of scf's loops to the one that a branch of the llvm dialect reads: cf keeps scf's name."""
    for branch in mlir.operations_named(module, "llvm.br"):
        if _LOOP_ANNOTATION in branch.attributes:
            branch.attributes["loop_annotation"] = branch.attributes[_LOOP_ANNOTATION]
            del branch.attributes[_LOOP_ANNOTATION]


def _read_unset_registers(module: mlir.Operation) -> None:
    """Read registers of the author's that nothing is stored in from local memory that nobody writes.

    LLVM would give `undef` a value that fits, and no checker would see it.
    """
    for unset in mlir.operations_named(module, "llvm.mlir.undef"):
        type_ = unset.results[0].type
        if not isinstance(type_, (mlir.ir.IntegerType, mlir.ir.FloatType)):
            continue
        read_bits = max(type_.width, 32)
        types = [mlir.integer(read_bits), mlir.integer(type_.width), type_]
        with mlir.building(unset, unset.location) as build:
            asm = {"asm_string": _READ_UNSET.format(bits=read_bits), "constraints": "=l" if read_bits == 64 else "=r"}
            value = build(
                "llvm.inline_asm", [types[0]], [], {name: mlir.string_attr(text) for name, text in asm.items()}
            ).results[0]
            for name, to in zip(("llvm.trunc", "llvm.bitcast"), types[1:]):
                if value.type != to:
                    value = build(name, [to], [value]).results[0]
        unset.results[0].replace_all_uses_with(value)
        unset.erase()
