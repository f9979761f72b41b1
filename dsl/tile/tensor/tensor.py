"""Tensor: an iterator and a layout. The iterator is a pointer, or a coordinate for tensors of coordinates.

Element (c) is at `iterator + layout(c)`: element_address. An index is checked against static extents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from dsl import layout as lay
from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn_not_portable
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric, of_python
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer, element_name, span_bytes
from dsl.core.phrase import shown
from dsl.core.state import never_runs
from dsl.layout import ComposedLayout, Layout, LayoutError, Swizzle
from dsl.layout.int_tuple import add, divisor_of, join_dynamic, split_dynamic, text
from dsl.layout.layout import check_coord
from dsl.tile.tensor.element_address import element_iterator, in_memory, moved, offset_of, static_size, strided_part
from dsl.tile.tensor.index import as_index
from dsl.tile.vector import transfer
from dsl.tile.vector.ssa import TensorSSA

RMEM_ALIGNMENT_BYTES = 32
_MAX_REGISTER_ELEMENTS = 1 << 19  # CUDA C++ Programming Guide: 512 KB of local memory a thread


class Tensor:
    """Elements at `iterator + layout(coord)`; `t[coord]` is an element, or a subtensor where coord has None."""

    __slots__ = ("iterator", "layout")

    def __init__(self, iterator: Any, layout: Layout | ComposedLayout) -> None:
        self.iterator, self.layout = iterator, layout

    @property
    def shape(self) -> Any:
        return self.layout.shape

    @property
    def stride(self) -> Any:
        return strided_part(self.layout).stride

    @property
    def element_type(self) -> type[Numeric]:
        return self.pointer().dtype

    dtype = _dtype = element_type  # programs ask for upstream's private name too

    @property
    def memspace(self) -> AddressSpace:
        return self.pointer().space

    @property
    def leading_dim(self) -> Any:
        """The mode that is contiguous, or None."""
        return lay.leading_dim(self.shape, self.stride)

    @property
    def type(self) -> str:
        """The type as text: element type, memory, alignment and layout."""
        if not isinstance(self.iterator, Pointer):
            return f'!cute.coord_tensor<"{text(self.iterator)}", "{self.layout}">'
        start = self.iterator
        swizzle = f"{start.swizzle}, " if start.swizzle else ""
        return (
            f"!cute.memref<{element_name(start.dtype)}, {start.space_name}, align<{start.alignment_bytes}>, "
            f'{swizzle}"{self.layout}">'
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Raises DSLUserCodeTypeError: numpy, which asks for it, runs while compiling."""
        raise DSLUserCodeTypeError(
            f"is {self.type_text}: numpy runs while compiling, and cannot read its elements",
            fix="compute with the tensor in the kernel: `t.load()`, `t[i]`",
            id="PHASE_DYNAMIC_INDEX",
        )

    def pointer(self) -> Pointer:
        """The iterator of a tensor in memory. Raises DSLUserCodeTypeError for a tensor of coordinates."""
        if not isinstance(self.iterator, Pointer):
            raise DSLUserCodeTypeError(
                "is a tensor of coordinates: it has no memory to read or write",
                fix="index it for a coordinate, or make a tensor over a pointer",
            )
        return self.iterator

    def with_layout(self, layout: Layout | ComposedLayout) -> Tensor:
        """The same iterator seen through another layout."""
        return Tensor(self.iterator, layout)

    def with_iterator(self, iterator: Any) -> Tensor:
        """The same layout over another iterator."""
        return Tensor(iterator, self.layout)

    def through(self, change: Callable[[Tensor], Tensor]) -> Tensor:
        """What `change` makes of this tensor, which is a part of it or another view of it."""
        return change(self)

    def __flatten__(self) -> tuple[tuple, Any]:
        """The pointer and dynamic leaves, and the rest as a hashable key (core.pytree)."""
        start, hole = ((self.iterator,), Pointer) if _is_leaf(self.iterator) else split_dynamic(self.iterator)
        leaves, key = self.layout.__flatten__()
        return (*start, *leaves), (hole, len(start), type(self.layout), key)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> Tensor:
        hole, count, layout_class, layout_key = key
        iterator = children[0] if hole is Pointer else join_dynamic(hole, iter(children[:count]))
        return cls(iterator, layout_class.__unflatten__(layout_key, children[count:]))

    def __getitem__(self, coord: Any, *, loc=None, ip=None) -> Any:
        coord = checked_coord(coord, self)
        if lay.has_none(coord):
            return slice_tensor(self, coord)
        at = element_iterator(self, coord)
        return at.load() if isinstance(at, Pointer) else at

    def __iter__(self) -> NoReturn:
        """Not there: Python would ask for element after element. Raises DSLUserCodeTypeError."""
        raise DSLUserCodeTypeError(
            "a tensor is not iterated by Python: how many elements it has may be known at run time only",
            fix="loop over coordinates: `for i in range(cute.size(t)): t[i]`",
        )

    def __contains__(self, value: Any) -> bool:
        raise DSLUserCodeTypeError(
            "`in` does not search a tensor: its elements are known at run time",
            fix="compare each element: `for i in range(cute.size(t)): ... t[i] == x`",
        )

    def __len__(self) -> int:
        raise DSLUserCodeTypeError(
            "a tensor has no len()", fix="`cute.size(t)` is the number of its elements, `t.shape` their extents"
        )

    def __bool__(self) -> bool:
        raise DSLUserCodeTypeError("condition must be a number, got " + self.type_text, fix=self.truth_fix)

    truth_fix = "test an element, `t[i] != 0`, or ask `t is not None`"

    def __setitem__(self, coord: Any, value: Any, *, loc=None, ip=None) -> None:
        self.pointer()
        coord = checked_coord(coord, self)
        if not lay.has_none(coord):
            element = _as_element(value, self.element_type)
            stored = type(value) if isinstance(value, Numeric) else of_python(value)
            if stored is not None and not _is_stored_upstream(stored, self.element_type):
                warn_not_portable(
                    f"{type_name(value)} is stored in a tensor of {self.element_type.__name__}",
                    fix=f"convert it: .to(cutlass.{self.element_type.__name__})",
                )
            element_iterator(self, coord).store(element)
        elif isinstance(value, TensorSSA):
            slice_tensor(self, coord).store(value)
        elif isinstance(value, Tensor):
            raise DSLUserCodeTypeError(
                "assigns a tensor to a part of a tensor", fix="copy it: `cute.autovec_copy(src, dst[...])`"
            )
        else:
            slice_tensor(self, coord).fill(value)

    def fill(self, value: Any) -> None:
        """Store `value`, converted to the element type, in every element; the size must be static."""
        if isinstance(self.iterator, Pointer) and self.iterator.swizzle:
            in_memory(self).fill(value)
            return
        count = static_size(self, "fill")
        element = _as_element(value, self.element_type)
        if isinstance(self.layout, ComposedLayout) and self.element_type.width >= 8:
            transfer.fill(self, element)
            return
        for i in range(count):
            element_iterator(self, i).store(element)

    def load(self) -> TensorSSA:
        """All elements as one value, in colexicographic order; the shape must be static."""
        return transfer.load(in_memory(self))

    def store(self, data: TensorSSA) -> None:
        """Write a value of as many elements; a type of the same width, or a Boolean for integers."""
        transfer.store(in_memory(self), data)

    @property
    def type_text(self) -> str:
        """The type in an error: `Tensor of Float32 (4,2):(2,1)`."""
        if isinstance(self.iterator, Pointer):
            element = str(self.iterator.dtype)
        else:
            element = "matrix descriptors" if _is_leaf(self.iterator) else "coordinates"
        return f"Tensor of {element} {self.layout}"

    def __str__(self) -> str:
        start = self.iterator if _is_leaf(self.iterator) else text(self.iterator)
        return f"tensor<{start} o {self.layout}>"

    __repr__ = __str__


# --- indexing -------------------------------------------------------------------------------------------------------


def _is_leaf(iterator: Any) -> bool:
    """Whether an iterator is one value, a pointer or a matrix descriptor, and not a coordinate."""
    return isinstance(iterator, Pointer) or getattr(type(iterator), "is_leaf", False)


def checked_coord(coord: Any, tensor: Tensor) -> Any:
    """`coord` as an index. Raises DSLUserCodeError for a static coordinate outside the tensor."""
    return inside(coord, tensor.shape, lambda: f"the tensor is {text(tensor.shape)}")


def inside(coord: Any, shape: Any, owner: Callable[[], str]) -> Any:
    """`coord` as an index. Raises DSLUserCodeError for a static coordinate outside `shape`, which `owner` describes."""
    coord = as_index(coord)
    if never_runs.top(False):  # `if k < 3: t[k + 1]` of a static k
        return coord
    try:
        check_coord(coord, shape)
    except LayoutError as error:
        raise DSLUserCodeError(f"{error.message}; {owner()}", fix=error.fix, id="INDEX_OUT_OF_RANGE") from None
    return coord


def _as_element(value: Any, dtype: type[Numeric]) -> Numeric:
    if isinstance(value, Tensor):
        raise DSLUserCodeTypeError("stores a tensor where one element belongs", fix="index it first: `t[0]`")
    return dtype(value)


def _is_stored_upstream(stored: type[Numeric], element: type[Numeric]) -> bool:
    """Whether NVIDIA's compiler stores a `given` in an element (measured: numbers of 8 to 64 bits): a Boolean or a
    number of the same kind, no wider."""
    if stored is element or (stored is Boolean and element.is_integer):
        return True
    return (
        stored.is_integer == element.is_integer and Boolean not in (stored, element) and stored.width <= element.width
    )


def move_iterator(tensor: Tensor, coord: Any, layout: Layout) -> Tensor:
    """The tensor that starts at `coord` of `tensor` and has the (strided) `layout`."""
    offset = offset_of(tensor, coord)
    composed = tensor.layout
    if not isinstance(tensor.iterator, Pointer) and not isinstance(composed, ComposedLayout):
        return Tensor(tensor.iterator + offset if _is_leaf(tensor.iterator) else add(tensor.iterator, offset), layout)
    if isinstance(composed, ComposedLayout):
        return Tensor(tensor.iterator, ComposedLayout(composed.inner, add(composed.offset, offset), layout))
    return Tensor(moved(tensor.pointer(), offset, divisor_of(offset)), layout)


def slice_tensor(tensor: Tensor, coord: Any) -> Tensor:
    """The subtensor of the modes where `coord` is None, starting where its integers point."""
    return tensor if coord is None else tensor.through(lambda whole: _sliced(whole, coord))


def _sliced(tensor: Tensor, coord: Any) -> Tensor:
    whole = tensor.layout
    if isinstance(tensor.iterator, Pointer) and isinstance(whole, ComposedLayout) and isinstance(whole.inner, Swizzle):
        sliced = lay.slice_swizzled(whole, coord, offset_of(tensor, coord))
        return Tensor(moved(tensor.pointer(), sliced.moved, divisor_of(sliced.moved)), sliced.layout)
    return move_iterator(tensor, coord, lay.slice_(strided_part(tensor.layout), coord))


def domain_offset(coord: Any, tensor: Tensor) -> Tensor:
    """The tensor whose coordinate 0 is `coord` of `tensor`, with the same layout.

    Warns where a swizzle of the layout goes on from inside its period: NVIDIA's compiler begins a new one there.
    """
    result = move_iterator(tensor, as_index(coord), strided_part(tensor.layout))
    if isinstance(result.layout, ComposedLayout) and isinstance(result.layout.inner, Swizzle):
        swizzle, offset = result.layout.inner, result.layout.offset
        known = offset if isinstance(offset, int) else divisor_of(offset)
        if swizzle.bits and known % swizzle.period:
            warn_not_portable(
                f"domain_offset of {tensor.layout} goes on inside the {swizzle.period} elements of its swizzle",
                does="swizzles again from there, and reads other elements",
                fix="give the pointer the swizzle: recast_ptr(pointer, swizzle), over the layout without it",
            )
    return result


# --- making ---------------------------------------------------------------------------------------------------------


def as_layout(layout_or_shape: Any) -> Layout | ComposedLayout:
    """A layout, or the compact column-major layout of a shape."""
    if isinstance(layout_or_shape, (Layout, ComposedLayout)):
        return layout_or_shape
    return lay.make_layout(as_index(layout_or_shape))


def make_tensor(iterator: Any, layout: Any) -> Tensor:
    """A tensor over a pointer, or over a coordinate (an int tuple) with basis strides."""
    if isinstance(iterator, Tensor):
        iterator = iterator.iterator
    if not isinstance(iterator, Pointer):
        iterator = as_index(iterator)
    return Tensor(iterator, as_layout(layout))


def make_identity_tensor(shape: Any) -> Tensor:
    """The tensor whose element at every coordinate is that coordinate."""
    layout = lay.make_identity_layout(as_index(shape))
    return Tensor(lay.transform_leaf(lambda _: 0, layout.shape), layout)


def make_rmem_tensor(layout_or_shape: Any, dtype: type[Numeric]) -> Tensor:
    """A tensor in the registers of this thread, uninitialised; the layout must be static. A Boolean takes a byte."""
    if not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
        raise DSLUserCodeTypeError(
            f"a register tensor needs a numeric type, got {shown(dtype)}",
            fix="make_rmem_tensor(layout, cutlass.Float32)",
        )
    layout = as_layout(layout_or_shape)
    strided = strided_part(layout)
    if not lay.is_static(strided):
        raise DSLUserCodeError(
            f"layout of a register tensor must be static, got {layout}",
            fix="tile it with a static tiler, and make a fragment of one tile",
        )
    count = lay.storage_elements(layout)
    if count > _MAX_REGISTER_ELEMENTS:
        raise DSLUserCodeError(
            f"a register tensor of {count} elements is too large: a thread has at most {_MAX_REGISTER_ELEMENTS} bytes",
            fix="make a fragment of a smaller tile",
        )
    slots = span_bytes(dtype, count) if dtype.is_packed else count
    address = trace.entry_alloca(dtype.storage_type(), slots, RMEM_ALIGNMENT_BYTES)
    space = AddressSpace.rmem
    register = mlir.result("llvm.addrspacecast", mlir.ptr(space), address)
    return Tensor(Pointer(dtype, register, space, RMEM_ALIGNMENT_BYTES), layout)


def make_rmem_tensor_like(src: Tensor | Layout | ComposedLayout, dtype: type[Numeric] | None = None) -> Tensor:
    """A compact register tensor with the shape and stride order of `src`; its strides 0 stay 0.

    Raises DSLUserCodeTypeError for a layout without a `dtype`.
    """
    if not isinstance(src, Tensor):
        if dtype is None:
            raise DSLUserCodeTypeError(
                "make_rmem_tensor_like of a layout needs a type", fix="make_rmem_tensor_like(layout, cutlass.Float32)"
            )
        return make_rmem_tensor(lay.make_layout_like(strided_part(src)), dtype)
    return make_rmem_tensor(lay.make_layout_like(strided_part(src.layout)), dtype or src.element_type)


def make_fragment_like(src: Any, dtype: type[Numeric] | None = None) -> Any:
    """A compact register tensor like a tensor; of a layout, the compact layout whose first mode is column-major."""
    if isinstance(src, Tensor):
        return make_rmem_tensor_like(src, dtype)
    return lay.make_fragment_layout(strided_part(src))


def require_swizzle(function: str, swizzle: Any) -> None:
    """Raise DSLUserCodeTypeError unless a pointer can have this swizzle, or None."""
    if swizzle is not None and not isinstance(swizzle, Swizzle):
        raise DSLUserCodeTypeError(
            f"swizzle of {function} must be a swizzle, got {type_name(swizzle)}", fix="cute.make_swizzle(3, 4, 3)"
        )


def recast_tensor(src: Tensor, dtype: type[Numeric], swizzle_: Any = None) -> Tensor:
    """The same memory as elements of another type: 8 Float16 are 4 Float32 in the contiguous mode.

    `swizzle_`: the swizzle of byte addresses that the new tensor's pointer has, where it is another one.
    """
    if not isinstance(src, Tensor) or not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
        raise DSLUserCodeTypeError(
            f"recast_tensor takes a tensor and a numeric type, got {type_name(src)} and {type_name(dtype)}",
            fix="recast_tensor(t, cutlass.Int32), for example",
        )
    layout = lay.recast_layout(dtype.storage_width, src.element_type.storage_width, src.layout)
    require_swizzle("recast_tensor", swizzle_)
    pointer = src.pointer().recast(dtype)
    return Tensor(pointer if swizzle_ is None else pointer.swizzled(swizzle_), layout)
