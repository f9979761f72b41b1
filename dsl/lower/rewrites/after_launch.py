"""A host function ends with the first launch that fails."""

from __future__ import annotations

import re

_LAUNCH = re.compile(r"^( *)(%\w+) = llvm\.call @dsl_launch\(.*$", re.MULTILINE)


def return_after_failed_launch(llvm_dialect_text: str) -> str:
    """The module with `if (failed = dsl_launch(...)) return failed;` in place of each call of `@dsl_launch`."""
    numbers = iter(range(llvm_dialect_text.count("@dsl_launch(")))

    def split(call: re.Match) -> str:
        indent, failed, number = call[1], call[2], next(numbers)
        block = indent.removesuffix("  ")
        return "\n".join(
            [
                call[0],
                f"{indent}%dsl_zero_{number} = llvm.mlir.constant(0 : i32) : i32",
                f'{indent}%dsl_failed_{number} = llvm.icmp "ne" {failed}, %dsl_zero_{number} : i32',
                f"{indent}llvm.cond_br %dsl_failed_{number}, ^dsl_failed_{number}, ^dsl_launched_{number}",
                f"{block}^dsl_failed_{number}:",
                f"{indent}llvm.return {failed} : i32",
                f"{block}^dsl_launched_{number}:",
            ]
        )

    return _LAUNCH.sub(split, llvm_dialect_text)
