"""tvm_tirx.target: what a module is compiled for, as tvm.target has it."""

from dsl.tirx.target import Target

__all__ = ["Target"]
