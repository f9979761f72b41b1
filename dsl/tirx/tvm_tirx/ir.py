"""tvm_tirx.ir: modules, and whether two functions are the same."""

from dsl.tirx.ir import IRModule, assert_structural_equal, structural_equal

__all__ = ["IRModule", "assert_structural_equal", "structural_equal"]
