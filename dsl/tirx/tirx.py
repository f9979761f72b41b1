"""tvm.tirx, as far as TVM's own tests of this subset use it."""

from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.syntax.function import Parameter, PrimFunc

__all__ = ["Buffer", "PrimFunc", "is_buffer_var"]


def is_buffer_var(parameter: Parameter) -> bool:
    """Whether a parameter of a function is a tensor."""
    return parameter.is_tensor
