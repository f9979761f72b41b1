"""Extents that a call brings."""

import pytest
import torch

from dsl.core.errors import DSLUserCodeValueError
from dsl.core.number.dtypes import Float32, Int32, Int64
from dsl.launch.argument.fake_arguments import make_fake_compact_tensor
from dsl.launch.argument.kinds import typed
from dsl.launch.argument.signature import Signature
from dsl.launch.argument.symbolic_int import sym_int, sym_int64


def test_symbols_check_divisibility():
    signature = Signature("f", ["a"], [typed(make_fake_compact_tensor(Float32, (sym_int(divisibility=4),)))])
    with pytest.raises(ValueError, match="expected to be a multiple of 4, got 6"):
        signature.bind([torch.zeros(6)])


def test_text_and_width():
    assert [repr(each) for each in (sym_int(), sym_int64(), sym_int(64, divisibility=8), sym_int(symbol="n"))] == [
        "?",
        "?{i64}",
        "?{i64 div=8}",
        "n",
    ]
    assert sym_int().dtype is Int32 and sym_int64().dtype is Int64
    assert sym_int() != sym_int()  # each object is a separate value
    with pytest.raises(DSLUserCodeValueError) as error:
        sym_int(16)
    assert (error.value.message, error.value.fix) == (
        "a symbol is 32 or 64 bits wide, not 16",
        "sym_int(32) or sym_int(64)",
    )
