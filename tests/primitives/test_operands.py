"""The operands of instructions: words, masks, static numbers and addresses."""

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Int32
from dsl.primitives import operands
from dsl.primitives.enums import MemScope


def test_a_word_is_a_member_or_its_text():
    assert operands.word(MemScope.GPU, MemScope, "scope") == operands.word("gpu", MemScope, "scope") == "gpu"
    with pytest.raises(DSLUserCodeError) as error:
        operands.word("warp", MemScope, "scope")
    assert (error.value.message, error.value.fix) == (
        "scope must be one of cta, cluster, gpu, sys, got 'warp'",
        "prims.MemScope.CTA",
    )


def test_static_numbers():
    assert operands.static(Int32(4), "size") == 4 and operands.mask(0xFFFFFFFF).value == -1
    operands.between(4, 1, 4, "count")
    with pytest.raises(DSLUserCodeError, match="size must be an integer known while compiling, got Python float"):
        operands.static(1.5, "size")


def test_refusals_name_what_is_missing():
    assert operands.refuse("prims.x").message == "prims.x is not part of this compiler yet"
    assert operands.needs_blackwell("prims.x").message == (
        "prims.x needs compute capability 10, and this compiler's newest is 9.0"
    )
