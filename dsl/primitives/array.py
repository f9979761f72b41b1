"""Arrays: numbers in memory, seen through a shape and strides. One is made in shared memory or in registers, or is a
tensor that a function gets where its parameter is annotated `Array`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from dsl import layout as lay
from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, is_dynamic, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer, natural_alignment
from dsl.core.phrase import shown
from dsl.gpu.debug import printf
from dsl.layout import Layout
from dsl.primitives.pointer import RawPointer
from dsl.primitives.vector import Vector, full
from dsl.tile.memory.memory import SmemAllocator
from dsl.tile.tensor.tensor import Tensor, make_rmem_tensor


class Array:
    """`a[i, j]` is an element, `a[i]` the one i elements after the first, `a[i:count]` a Vector from there on.

    `Array(dtype, shape, space=, alignment=)` allocates shared memory (`smem`) or registers' memory (`rmem`, the
    default); `Array(tensor)` and `Array(pointer, shape)` see memory that is there.
    """

    __slots__ = ("_pointer", "shape", "strides", "align")

    def __init__(
        self,
        base: Any = None,
        shape: Any = None,
        *,
        dtype: type[Numeric] | None = None,
        space: AddressSpace = AddressSpace.rmem,
        alignment: int | None = None,
    ) -> None:
        if isinstance(base, Tensor):
            self._see(base, dtype)
        elif isinstance(base, (Pointer, Array)):
            pointer = RawPointer.of(base.data_ptr() if isinstance(base, Array) else base)
            pointer = pointer if dtype is None else RawPointer.of(pointer.recast(dtype))
            self._set(pointer, _extents(shape, pointer.space), None, alignment)
        else:
            self._allocate(base if base is not None else dtype, shape, AddressSpace(space), alignment)

    def __class_getitem__(cls, item: Any) -> type[Array]:
        return cls

    @classmethod
    def __from_argument__(cls, value: Any) -> Any:
        """The value of a parameter annotated `Array` for the argument `value`: a tensor becomes an array."""
        return cls(value) if isinstance(value, Tensor) else value

    @classmethod
    def at(cls, pointer: Pointer, shape: tuple = (), strides: tuple = (), align: int | None = None) -> Array:
        """The array at a pointer."""
        array = object.__new__(cls)
        array._set(RawPointer.of(pointer), shape, strides, align)
        return array

    def _set(self, pointer: RawPointer, shape: tuple, strides: tuple | None, align: int | None) -> None:
        self._pointer, self.shape = pointer, shape
        self.strides = _row_major(shape) if strides is None else strides
        self.align = align or natural_alignment(pointer.dtype)

    def _see(self, tensor: Tensor, dtype: type[Numeric] | None) -> None:
        layout = tensor.layout
        if not isinstance(layout, Layout):
            raise DSLUserCodeTypeError(
                f"an Array has strides, but the tensor's layout is {layout}", fix="pass a tensor without a swizzle"
            )
        pointer = tensor.pointer() if dtype is None else tensor.pointer().recast(dtype)
        shape, strides = lay.flatten_to_tuple(layout.shape), lay.flatten_to_tuple(layout.stride)
        self._set(RawPointer.of(pointer), shape, strides, pointer.alignment_bytes)

    def _allocate(self, dtype: Any, shape: Any, space: AddressSpace, alignment: int | None) -> None:
        if not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
            raise DSLUserCodeTypeError(
                f"an Array is made of a numeric type, a tensor or a pointer, got {type_name(dtype)}",
                fix="cutlass.Array(cutlass.Float32, (16, 16), space=cutlass.AddressSpace.smem)",
            )
        extents = _extents(shape, space)
        count = math.prod(extents)
        if space is AddressSpace.smem:
            pointer = SmemAllocator().allocate_array(dtype, count, byte_alignment=alignment or 1)
        elif space is AddressSpace.rmem:
            trace.current()
            pointer = make_rmem_tensor(Layout(count, 1), dtype).pointer()
            alignment = alignment or pointer.alignment_bytes
        else:
            raise DSLUserCodeValueError(
                f"space of a new Array must be smem or rmem, got {space}", fix="space=cutlass.AddressSpace.smem"
            )
        self._set(RawPointer.of(pointer), extents, None, alignment)

    # --- what it is ---

    @property
    def dtype(self) -> type[Numeric]:
        return self._pointer.dtype

    element_type = dtype

    @property
    def space(self) -> AddressSpace:
        return self._pointer.space

    def ir_value(self, *, loc=None, ip=None) -> mlir.Value:
        """The address; `loc` and `ip` are parameters of upstream, not used here."""
        return self._pointer.address

    ir = ir_value

    def __repr__(self) -> str:
        shape = f"shape=({', '.join(map(repr, self.shape))}{',' * (len(self.shape) == 1)}), " if self.shape else ""
        return f"Array(dtype={self.dtype.__name__}, address_space={self.space}, {shape}alignment={self.align})"

    @property
    def type_text(self) -> str:
        """The type in an error: `Array of Float32`."""
        return f"Array of {self.dtype.__name__}"

    def __flatten__(self) -> tuple[tuple, Any]:
        """The pointer and dynamic leaves, and the rest as a hashable key (core.pytree)."""
        leaves, key = Layout(self.shape, self.strides).__flatten__() if self.shape else ((), ())
        return (self._pointer, *leaves), (key, self.align)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> Array:
        layout_key, align = key
        if layout_key == ():
            return cls.at(children[0], align=align)
        layout = Layout.__unflatten__(layout_key, children[1:])
        return cls.at(children[0], layout.shape, layout.stride, align)

    # --- elements ---

    def __getitem__(self, index: Any) -> Any:
        if _is_view(index):
            return self._view(index if isinstance(index, tuple) else (index,))
        start, count = _sliced(index)
        return self._at(start).load(count=count)

    def __setitem__(self, index: Any, value: Any) -> None:
        start, count = _sliced(index)
        if count is None and isinstance(value, Vector):
            raise DSLUserCodeTypeError("stores a Vector where one element belongs", fix="array[i:count] = vector")
        self.store(value, start, count)

    def load(
        self, idx: Any = 0, vector_size: int | None = None, *, alignment: int | None = None, is_volatile: bool = False,
        is_nontemporal: bool = False, is_invariant: bool = False, is_invariant_group: bool = False,
        ordering: Any = "not_atomic", syncscope: Any = None,
    ) -> Any:  # fmt: skip
        """The element at `idx`, or `vector_size` from there on; see RawPointer.load."""
        return self._at(idx).load(
            alignment, count=vector_size, is_volatile=is_volatile, is_nontemporal=is_nontemporal,
            is_invariant=is_invariant, ordering=ordering, syncscope=syncscope,
        )  # fmt: skip

    def store(
        self, value: Any, idx: Any = 0, vector_size: int | None = None, *, alignment: int | None = None,
        is_volatile: bool = False, is_nontemporal: bool = False, ordering: Any = "not_atomic", syncscope: Any = None,
    ) -> None:  # fmt: skip
        """Write a number (in `vector_size` elements) or a Vector, converted to the element type."""
        if isinstance(value, Vector):
            if vector_size not in (None, value.numel()):
                raise DSLUserCodeValueError(
                    f"{vector_size} elements store as many, got {value.numel()}", fix=f"array[i:{value.numel()}] = v"
                )
            value = value.to(self.dtype)
        else:
            value = self.dtype(value) if vector_size is None else full((vector_size,), value, self.dtype)
        self._at(idx).store(
            value, alignment=alignment, is_volatile=is_volatile, is_nontemporal=is_nontemporal, ordering=ordering,
            syncscope=syncscope,
        )  # fmt: skip

    def masked_load(
        self, idx: Any, count: int, mask: Any, default: Any = None, *, alignment: int | None = None,
        is_volatile: bool = False, is_nontemporal: bool = False,
    ) -> Vector:  # fmt: skip
        """`count` elements from `idx` on; where `mask` (an Array or Vector of Boolean) is false, `default` or 0."""
        other = full((count,), 0 if default is None else default, self.dtype)
        return self._at(idx).masked_load(_mask(mask, count), other)

    def masked_store(
        self, idx: Any, value: Any, mask: Any, *, alignment: int | None = None, is_volatile: bool = False,
        is_nontemporal: bool = False,
    ) -> None:  # fmt: skip
        """Write the elements of a Vector or Array where `mask` is true."""
        if isinstance(value, Array):
            value = value.load(0, math.prod(value.shape))
        self._at(idx).masked_store(value.to(self.dtype), _mask(mask, value.numel()))

    def data_ptr(self, idx: Any = 0) -> RawPointer:
        """The address of the element at `idx`."""
        return self._at(idx)

    def subview(self, idx: Any = 0) -> Array:
        """The same shape and strides, from the element at `idx` on."""
        return Array.at(self._at(idx), self.shape, self.strides)

    def _view(self, indices: tuple) -> Array:
        """The modes of slices, after integers: `a[i, :]` is a row. A slice `start:stop` begins at start."""
        if len(indices) > len(self.shape):
            raise _wrong_rank(len(self.shape), len(indices))
        place = next(place for place, each in enumerate(indices) if isinstance(each, slice))
        parts = (*indices[place:], *(slice(None),) * (len(self.shape) - len(indices)))
        if not all(isinstance(each, slice) for each in parts):
            raise DSLUserCodeTypeError("an index of a view comes before its slices", fix="a[i, :] is row i")
        bounds = [_bounds(each, extent) for each, extent in zip(parts, self.shape[place:])]
        starts = (*indices[:place], *(start for start, _ in bounds))
        return Array.at(self._at(starts), tuple(extent for _, extent in bounds), self.strides[place:])

    def tospace(self, space: AddressSpace) -> Array:
        """The same memory in another address space."""
        return Array.at(self._pointer.tospace(space), self.shape, self.strides, self.align)

    def _at(self, index: Any) -> RawPointer:
        """The address of an element: by its coordinates, or counted from the first."""
        if not isinstance(index, tuple):
            _require_index(index)
            return self._pointer if isinstance(index, int) and index == 0 else RawPointer.of(self._pointer + index)
        if len(index) != len(self.shape):
            raise _wrong_rank(len(self.shape), len(index))
        offset: Any = 0
        for each, stride in zip(index, self.strides):
            _require_index(each)
            offset = each * stride + offset
        return self._at(offset)

    def print_runtime(self, max_elements: int = 16) -> None:
        """Print up to `max_elements` elements of each row when the program runs."""
        extents = [extent for extent in self.shape if isinstance(extent, int)]
        if len(extents) != len(self.shape):
            raise DSLUserCodeTypeError(
                "print_runtime needs a static shape", fix="print elements: print_runtime('{}', a[0])"
            )
        if len(extents) != 2:
            count = math.prod(extents)
            printf(f"Array[{count}][Space={self.space}]: ", end="")
            self._print_row(0, count, max_elements)
            return
        printf(f"Array[{extents[0]}x{extents[1]}]:")
        for row in range(min(extents[0], max_elements)):
            printf(f" [{row}]: ", end="")
            self._print_row(row * self.strides[0], extents[1], max_elements)
        if extents[0] > max_elements:
            printf(" ...")

    def _print_row(self, start: Any, count: int, most: int) -> None:
        shown = min(count, most)
        form = "%.1f" if self.dtype.is_float else "%d"
        tail = ", ..." if count > most else ""
        printf(f"[{', '.join([form] * shown)}{tail}]", *(self._at(start + i).load() for i in range(shown)))

    # --- what it is not ---

    def _no_arithmetic(self, *_: Any) -> NoReturn:
        raise DSLUserCodeTypeError("an Array has no arithmetic", fix="load elements first: `a[0:4] + b[0:4]`")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_arithmetic
    __floordiv__ = __mod__ = __pow__ = __neg__ = _no_arithmetic

    def __iter__(self) -> NoReturn:
        raise DSLUserCodeTypeError("an Array is not iterated", fix="for i in range(a.shape[0]): a[i]")

    def __len__(self) -> NoReturn:
        raise DSLUserCodeTypeError("an Array has no len()", fix="`a.shape` has its extents")

    def __bool__(self) -> NoReturn:
        raise DSLUserCodeTypeError("condition must be scalar, got " + self.type_text, fix=self.truth_fix)

    truth_fix = "test an element, `a[i] != 0`, or ask `a is not None`"


def make_array_view(tensor: Tensor, *, dtype: type[Numeric] | None = None, bounds_check: bool = False) -> Array:
    """The array of a tensor's elements. `bounds_check` is not needed: the emulator checks every access."""
    return Array(tensor, dtype=dtype)


def _row_major(shape: tuple) -> tuple:
    return tuple(math.prod(shape[mode + 1 :]) for mode in range(len(shape)))


def _extents(shape: Any, space: AddressSpace) -> tuple[int, ...]:
    if shape is None:
        raise DSLUserCodeTypeError(f"an Array in {space} needs a shape", fix="cutlass.Array(cutlass.Float32, (16, 16))")
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    numbers = [numeric(extent) for extent in extents]
    if any(number is None or is_dynamic(number) or not number.is_integer or number.value < 1 for number in numbers):
        raise DSLUserCodeTypeError(
            f"shape of an Array must be positive integers known while compiling, got {shown(shape)}",
            fix="pass it as cutlass.Constexpr",
        )
    return tuple(int(number.value) for number in numbers if number is not None)


def _require_index(index: Any) -> None:
    number = numeric(index)
    if number is None or not type(number).is_integer:
        raise DSLUserCodeTypeError(
            f"array index must be an integer, got {type_name(index)}", fix="convert it: Int32(x)"
        )


def _wrong_rank(rank: int, count: int) -> DSLUserCodeError:
    return DSLUserCodeError(
        f"index of an Array of {rank} modes must have as many parts, got {count}",
        fix="`a[i]` counts from the first element",
        id="INDEX_OUT_OF_RANGE",
    )


def _is_view(index: Any) -> bool:
    """Whether an index is of a part with modes, not of an element or a Vector: a slice lacks a bound, or several."""
    slices = [each for each in (index if isinstance(index, tuple) else (index,)) if isinstance(each, slice)]
    return len(slices) > 1 or any(None in (each.start, each.stop) for each in slices)


def _bounds(part: slice, extent: Any) -> tuple[Any, Any]:
    """The start of a slice of a view, and its extent."""
    if part.step is not None:
        raise DSLUserCodeTypeError("a slice of a view has no step", fix="a[i, :] is a row, a[2:, :] has all but two")
    start = 0 if part.start is None else part.start
    _require_index(start)
    stop = extent if part.stop is None else part.stop
    return start, stop - start


def _sliced(index: Any) -> tuple[Any, int | None]:
    """The start of an access, and the number of elements of a slice `start:count` of the last mode."""
    last = index[-1] if isinstance(index, tuple) else index
    if not isinstance(last, slice):
        return index, None
    if last.step is not None or not isinstance(last.stop, int):
        raise DSLUserCodeTypeError(
            "a slice of an Array is `start:count`, with a count known while compiling", fix="a[i:4] has four elements"
        )
    start = 0 if last.start is None else last.start
    return ((*index[:-1], start) if isinstance(index, tuple) else start), last.stop


def _mask(mask: Any, count: int) -> Vector:
    return mask.load(0, count) if isinstance(mask, Array) else mask
