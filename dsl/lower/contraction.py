"""Which products become part of an fma: those whose every use is a sum, as in NVIDIA's compiler.

LLVM's NVPTX makes an fma of each sum with a product that may be contracted, and the product once more for its other
uses. NVIDIA's compiler rounds such a product once, and adds what was rounded. The difference is in the last bit.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict

_PRODUCT = re.compile(r"^  (%[\w.]+) = fmul contract ", re.MULTILINE)
_FUNCTION = re.compile(r"^define .*?^}", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"%[\w.]+")
# what adds a product, and what only takes elements of a vector of products to where they are added
_ADDS = re.compile(r"^  %\S+ = (?:(?:fadd|fsub) |(?:tail )?call contract \S+ @llvm\.vector\.reduce\.fadd)")
_MOVES = re.compile(r"^  %\S+ = (?:extractelement|shufflevector|insertelement) ")


def with_contracted_sums_only(llvm_ir: str) -> str:
    """Optimised LLVM IR in which a product that is used for a sum and otherwise is not contracted."""
    return (
        _FUNCTION.sub(lambda function: _without_others(function[0]), llvm_ir) if "fmul contract" in llvm_ir else llvm_ir
    )


def _without_others(function: str) -> str:
    products = set(_PRODUCT.findall(function))
    if not products:
        return function
    users: dict[str, list[str]] = defaultdict(list)
    for line in function.split("\n"):
        made, _, rest = line.partition(" = ")
        for name in set(_NAME.findall(rest or made)):
            users[name].append(line)

    @functools.cache
    def uses(name: str) -> frozenset[str]:
        """Of `sum` and `other`, what the value is used for."""
        found: set[str] = set()
        for line in users[name]:
            moved = _MOVES.match(line)
            found |= uses(line.split(" = ")[0].strip()) if moved else {"sum" if _ADDS.match(line) else "other"}
        return frozenset(found)

    return _PRODUCT.sub(
        lambda product: product[0].replace("contract ", "") if len(uses(product[1])) == 2 else product[0], function
    )
