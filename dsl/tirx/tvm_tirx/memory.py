"""Tensors by tvm_tirx's names: the type of a parameter, allocations that take it, views, and elements."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.memory import memory
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.syntax.function import BufferType, OptionalType
from dsl.tirx.syntax.signature import Handle
from dsl.tirx.tvm_tirx.dynamic import valued
from dsl.tirx.values import dtypes

_TENSOR = 'T.Tensor((64,), "float32")'


class TensorType(BufferType):
    """`T.Tensor(shape, dtype)`: the type of a parameter, of an allocation or of a view."""

    def __init__(
        self,
        shape: Any,
        dtype: Any = None,
        scope: str = "global",
        align: int = 0,
        layout: Any = None,
        *,
        data_alignment: int | None = None,
        **unknown: Any,
    ):
        for option in unknown:
            raise DSLUserCodeTypeError(
                f"T.Tensor has no option `{option}`", id="TENSOR_TYPE", fix=f"leave it out: `{_TENSOR}`"
            )
        if dtype is None:
            raise DSLUserCodeTypeError("T.Tensor lacks the dtype of the tensor", id="TENSOR_TYPE", fix=_TENSOR)
        alignment = align if data_alignment is None else data_alignment
        super().__init__(shape, dtype, scope=str(scope), align=alignment, layout=layout)

    @property
    def extents(self) -> tuple:
        """The shape in the function that is being traced."""
        shape = self.shape if isinstance(self.shape, (tuple, list)) else (self.shape,)
        return tuple(map(valued, shape))

    def matched(self, handle: Handle) -> Buffer:
        """The tensor of a parameter."""
        return memory.match_buffer(handle, self.extents, self.dtype, **self.options)

    def __or__(self, other: Any) -> Any:
        return OptionalType(self) if other is None else NotImplemented


def _type_of(name: str, ty_args: Any) -> TensorType:
    """The one type that an allocation or a view is given."""
    given = list(ty_args) if isinstance(ty_args, (list, tuple)) else [ty_args]
    if len(given) != 1 or not isinstance(given[0], TensorType):
        raise DSLUserCodeTypeError(
            f"T.{name} takes one T.Tensor, got {', '.join(map(type_name, given)) or 'none'}",
            id="TENSOR_TYPE",
            fix=f"ty_args=[{_TENSOR}]",
        )
    return given[0]


def _refuse(name: str, options: dict[str, Any]) -> None:
    for option, value in options.items():
        if value is not None:
            raise DSLUserCodeError(f"T.{name}({option}=...) is not supported here", id="ALLOC", fix="leave it out")


def alloc_tensor(placement: Any = None, *, ty_args: Any, attrs: Any = None, annotations: Any = None) -> Buffer:
    """New memory of the scope that `ty_args=[T.Tensor(...)]` names, uninitialised."""
    _refuse("alloc_tensor", {"placement": placement, "attrs": attrs, "annotations": annotations})
    kind = _type_of("alloc_tensor", ty_args)
    return memory.alloc_buffer(kind.extents, kind.dtype, **kind.options)


def alloc_shared(shape: Any, dtype: Any = "float32", align: int = 0, layout: Any = None) -> Buffer:
    """Memory of the block, its size known while compiling: at most 48 KiB a kernel."""
    return memory.alloc_buffer(shape, dtype, "shared", align=max(align, 0), layout=layout)


def alloc_local(shape: Any, dtype: Any = "float32", align: int = 0, layout: Any = None) -> Buffer:
    """Memory of the thread."""
    return memory.alloc_buffer(shape, dtype, "local", align=max(align, 0), layout=layout)


def decl_tensor(data: Any, *, ty_args: Any, attrs: Any = None) -> Buffer:
    """A view of memory at a pointer; of a T.handle parameter, before the device part, its tensor."""
    _refuse("decl_tensor", {"attrs": attrs})
    kind = _type_of("decl_tensor", ty_args)
    if isinstance(data, Handle):
        return kind.matched(data)
    return memory.decl_buffer(kind.extents, kind.dtype, data=data, layout=kind.options["layout"])


class InitializedScalar(memory.Scalar):
    """The value of `T.local_scalar(dtype, init)`: assigning it declares a register with a value."""

    def __init__(self, dtype: dtypes.DType, value: Any):
        super().__init__(dtype)
        self.value = value


def local_scalar(dtype: Any = "float32", init: Any = None, *, name: Any = None, annotations: Any = None) -> Any:
    """A register of a dtype, without a value or with `init`."""
    _refuse("local_scalar", {"annotations": annotations})
    found = dtypes.find(dtype)
    return memory.Scalar(found) if init is None else InitializedScalar(found, init)


def _elements(name: str, tensor: Any, indices: Any) -> tuple[Buffer, tuple]:
    if not isinstance(tensor, Buffer):
        raise DSLUserCodeTypeError(
            f"T.{name} takes a tensor, got {type_name(tensor)}", id="TENSOR_TYPE", fix=f"T.{name}(A, [i])"
        )
    return tensor, tuple(indices) if isinstance(indices, (list, tuple)) else (indices,)


def TensorLoad(source: Any, indices: Any) -> Any:
    """`source[indices]`."""
    tensor, place = _elements("TensorLoad", source, indices)
    return tensor[place]


def tensor_store(dest: Any, indices: Any, value: Any) -> None:
    """`dest[indices] = value`."""
    tensor, place = _elements("tensor_store", dest, indices)
    tensor[place] = value


ALLOCATIONS = (alloc_tensor, alloc_shared, alloc_local)
