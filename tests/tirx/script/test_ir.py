"""Modules written as classes, of tvm and of tvm_tirx.

Modules tested here: dsl/tirx/tvm_tirx/script/ir.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import dsl.tirx as tvm
import dsl.tirx.tvm_tirx as tvm_tirx
from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.core.errors import DSLUserCodeTypeError
from dsl.tirx.script import ir as I, tirx as T
from dsl.tirx.tvm_tirx.script import ir as tvm_tirx_ir, tirx as Tx


def test_each_function_is_called_by_its_name():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "int32")):
            T.device_entry()
            A[T.thread_id([4])] = 1

        @T.prim_func
        def other(A: T.Buffer((4,), "int32")):
            T.device_entry()
            A[T.thread_id([4])] = 2

    executable, a = tvm.compile(Module, target="cuda"), np.zeros(4, np.int32)
    executable(a)
    np.testing.assert_array_equal(a, [1, 1, 1, 1])
    executable["other"](a)
    np.testing.assert_array_equal(a, [2, 2, 2, 2])


def test_a_module_of_tvm_tirx():
    @tvm_tirx_ir.ir_module(check_well_formed=True)
    class Module:
        @Tx.function
        def main(A: Tx.Tensor((4,), "int32")):
            Tx.device_entry(launch=Tx.cuda.LaunchConfig(grid=1, block=4))
            A[Tx.cuda.thread_idx("x")] = 3

    a = np.zeros(4, np.int32)
    tvm_tirx.tirx.compile(Module, target="cuda")(a)
    np.testing.assert_array_equal(a, [3, 3, 3, 3])


def test_other_attributes_and_names_are_refused():
    with pytest.raises(DSLUserCodeTypeError, match="a module holds T.prim_func functions, got Python's int"):

        @I.ir_module
        class Module:
            count = 3

    with pytest.raises(DSLUserCodeTypeError, match="ir_module decorates a class"):
        I.ir_module(3)
    with pytest.raises(UnsupportedName, match="I.pyfunc is not part of this compiler"):
        _ = I.pyfunc
