"""Which products become part of an fma: those whose every use is a sum, as in NVIDIA's compiler.

LLVM's NVPTX makes an fma of each sum with a product that may be contracted, and the product once more for its other
uses. NVIDIA's compiler rounds such a product once, and adds what was rounded. The difference is in the last bit.
"""

from __future__ import annotations

import re
from collections import defaultdict

from dsl.lower.llvm_ir import with_each_function

_PRODUCT = re.compile(r"^  (%[\w.]+) = fmul contract ", re.MULTILINE)
_NAME = re.compile(r"%[\w.]+")
# what adds a product, and what only takes elements of a vector of products to where they are added
_ADDS = re.compile(r"^  %\S+ = (?:(?:fadd|fsub) |(?:tail )?call contract \S+ @llvm\.vector\.reduce\.fadd)")
_MOVES = re.compile(r"^  %\S+ = (?:extractelement|shufflevector|insertelement) ")


def with_contracted_sums_only(llvm_ir: str) -> str:
    """Optimised LLVM IR in which a product that is used for a sum and otherwise is not contracted."""
    return with_each_function(llvm_ir, _without_others) if "fmul contract" in llvm_ir else llvm_ir


def _without_others(function: str) -> str:
    products = set(_PRODUCT.findall(function))
    if not products:
        return function
    uses = _uses(function.split("\n"))
    return _PRODUCT.sub(
        lambda product: product[0].replace("contract ", "") if len(uses[product[1]]) == 2 else product[0], function
    )


def _uses(lines: list[str]) -> dict[str, set[str]]:
    """Of `sum` and `other`, what each value is used for; what is moved is used for what its mover is used for."""
    uses: dict[str, set[str]] = defaultdict(set)
    while True:  # once or twice: the uses of a value are mostly below it
        before = sum(map(len, uses.values()))
        for line in reversed(lines):
            made, _, rest = line.partition(" = ")
            moved = _MOVES.match(line)
            purposes = uses[made.strip()] if moved else {"sum" if _ADDS.match(line) else "other"}
            for name in _NAME.findall(rest or made):
                uses[name] |= purposes
        if sum(map(len, uses.values())) == before:
            return uses
