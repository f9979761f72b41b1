"""Buffers: memory of a dtype with a shape, indexed by as many numbers as it has modes, the last mode contiguous."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, is_dynamic, numeric
from dsl.core.number.pointer import Pointer
from dsl.span import here
from dsl.tile.vector.ssa import TensorSSA, from_memory, in_memory
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.syntax.signature import Handle, row_major, touched_by_host
from dsl.tirx.values import dtypes, effects
from dsl.tirx.values.divisor import difference, is_multiple, residue
from dsl.tirx.values.dtypes import DType
from dsl.tirx.values.progression import Progression
from dsl.tirx.values.promotion import check_literal, instead_of, literal_value, number_of
from dsl.tirx.values.vector_lanes import NotLanes, Ramp, access, as_vector, note as note_load, refuse, unaligned

MOST_BYTES = 16  # of one access


class Buffer:
    """`A[i, j]` loads, `A[i, j] = x` stores `x` converted to the dtype.

    `pointer` points at its first element, `strides` count elements. An index that is known while compiling is checked.
    """

    __hash__ = None
    is_no_operand = "take an element: `A[i]`"
    handle: Handle | None = None  # the parameter it is, where it is one
    array: Any = None  # the `__shared__` array it is, where it is one

    def __init__(
        self,
        pointer: Pointer,
        dtype: DType,
        shape: Sequence,
        strides: Sequence | None = None,
        scope: str = "global",
        name: str = "the buffer",
    ):
        self.pointer, self._dtype, self.shape, self._scope, self.name = pointer, dtype, tuple(shape), scope, name
        self.strides = tuple(row_major(self.shape) if strides is None else strides)

    # --- what it is ---

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def data(self) -> Pointer:
        return self.pointer

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def elem_offset(self) -> int:
        return 0

    def scope(self) -> str:
        """The memory: global, shared, shared.dyn or local."""
        return self._scope

    def __flatten__(self) -> tuple[tuple, Any]:
        extents = [number_of(extent) for extent in (*self.shape, *self.strides)]
        return (
            (self.pointer, *(extent for extent in extents if is_dynamic(extent))),
            (
                self._dtype,
                tuple(None if is_dynamic(extent) else int(extent.value) for extent in extents),
                self._scope,
                self.name,
            ),
        )

    @classmethod
    def __unflatten__(cls, key: tuple, children: Sequence) -> Buffer:
        dtype, extents, scope, name = key
        pointer, *dynamic = children
        remaining = iter(dynamic)
        every = [next(remaining) if extent is None else extent for extent in extents]
        return cls(pointer, dtype, every[: len(every) // 2], every[len(every) // 2 :], scope, name)

    @property
    def type_text(self) -> str:
        return f"buffer of {self._dtype} {self._shape_text()}"

    def _shape_text(self) -> str:
        texts = ["?" if is_dynamic(extent) else str(extent) for extent in self.shape]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def __repr__(self) -> str:
        return f"{self.name}: Buffer({self._shape_text()}, {str(self._dtype)!r})"

    # --- elements ---

    def __getitem__(self, index: Any) -> Any:
        return self.load(*self._place(index))

    def _refuse_iteration(self, *_operands: Any) -> NoReturn:
        """Raises DSLUserCodeTypeError: iteration in Python would never end."""
        raise DSLUserCodeTypeError(
            f"the buffer `{self.name}` is not iterated",
            id="BUFFER_ITERATED",
            fix=f"loop over its elements: `for i in T.serial({self.name}.shape[0])`",
        )

    __iter__ = __contains__ = _refuse_iteration

    def __setitem__(self, index: Any, value: Any) -> None:
        self.store(value, *self._place(index))

    def _place(self, index: Any) -> tuple[Any, int]:
        """The offset, in elements, of an index, and how many elements a slice in its last place takes."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            plural = "s" * (len(self.shape) != 1)
            places = ", ".join("ijklmn"[: len(self.shape)])
            raise DSLUserCodeError(
                f"`{self.name}` has {len(self.shape)} dimension{plural}, got {len(index)} "
                f"ind{'ex' if len(index) == 1 else 'ices'}",
                id="INDEX_RANK",
                fix=f"write `{self.name}[{places}]`: its shape is {self._shape_text()}",
            )
        count, places = 1, []
        for mode, (one, extent) in enumerate(zip(index, self.shape)):
            if isinstance(one, (slice, Progression)):
                if mode != len(self.shape) - 1:
                    raise DSLUserCodeError(
                        "a slice must be in the last place of an index",
                        id="INDEX_SLICE",
                        fix="loop over the places before it",
                    )
                one, count = self._slice(one, extent)
            places.append(self._checked(one, extent, mode, count))
        return self._offset(places), count

    def _slice(self, one: slice | Progression, extent: Any) -> tuple[Any, int]:
        """The first index of a slice or of a T.ramp, and how many elements it takes."""
        if isinstance(one, Progression):
            start, count, is_contiguous = *one.indices(), one.is_contiguous
        else:
            start, stop = 0 if one.start is None else one.start, extent if one.stop is None else one.stop
            count, is_contiguous = difference(stop, start), one.step in (None, 1)
        if count is None or not is_contiguous:
            raise DSLUserCodeError(
                "a slice must have a length known while compiling, and step 1",
                id="INDEX_SLICE",
                fix="loop over its elements: `for i in T.serial(n)`",
            )
        return start, count

    def _checked(self, index: Any, extent: Any, mode: int, count: int = 1) -> Any:
        """`index` as an int or an integer. Raises DSLUserCodeError where it is known to be outside."""
        if isinstance(index, Ramp):
            return index
        number = numeric(index)
        if number is None or not number.is_integer:
            fix = (
                "convert it: `T.int32(x)`"
                if number is not None
                else instead_of(index)
                if isinstance(index, Buffer)
                else f"index with integers: `{self.name}[i]`"
            )
            raise DSLUserCodeTypeError(f"an index must be an integer, got {type_name(index)}", id="INDEX_TYPE", fix=fix)
        if is_dynamic(number):
            return Int32(number) if number.width < 32 else number
        place = int(number.value)
        size = None if is_dynamic(extent) else int(extent)
        if place < 0 or (size is not None and place + count > size):
            raise DSLUserCodeError(
                f"index {place if count == 1 else f'{place} to {place + count - 1}'} is outside "
                f"`{self.name}`, which has {size if size is not None else 'a run-time number of'} "
                f"elements in dimension {mode}",
                id="INDEX_OUT_OF_RANGE",
                fix=self._range_text(size),
            )
        return place

    @staticmethod
    def _range_text(size: int | None) -> str:
        return "indices begin at 0" if size is None else f"an index from 0 to {size - 1}"

    def _offset(self, places: Sequence) -> Any:
        total: Any = 0
        for place, stride in zip(places, self.strides):
            term = place if isinstance(stride, int) and stride == 1 else place * stride
            total = term if isinstance(total, int) and total == 0 else total + term
        return total

    def at(self, offset: Any) -> Pointer:
        """The address of the element `offset` elements from the first."""
        offset = offset * self._dtype.lanes if self._dtype.lanes != 1 else offset
        return self.pointer if isinstance(offset, int) and offset == 0 else self.pointer + offset

    def load(self, offset: Any, count: int = 1) -> Any:
        """The element at `offset`, or a vector of `count` of them."""
        effects.note()
        touched_by_host(self)
        lanes = self._dtype.lanes * count
        if isinstance(offset, Ramp):
            alignment_bytes = self._all_lanes(offset, count, stores=False)
            return load_vector(self.at(offset.base), offset.lanes, alignment_bytes)
        if lanes == 1:
            note_load(self.pointer, offset)
            return self.at(offset).load()
        return load_vector(self.at(offset), lanes, self._known_alignment(offset))

    def store(self, value: Any, offset: Any, count: int = 1) -> None:
        effects.note()
        touched_by_host(self)
        lanes = self._dtype.lanes * count
        if isinstance(offset, Ramp):
            alignment_bytes = self._all_lanes(offset, count, stores=True)
            converted = dtypes.cast(as_vector(value), dtypes.find(f"{self._dtype}x{offset.lanes}"))
            return store_vector(converted, self.at(offset.base), alignment_bytes)
        refuse("it stores one element in all trips")
        dtype = self._dtype if count == 1 else dtypes.find(f"{dtypes.of(self._dtype.scalar(0))}x{lanes}")
        self.check_value(value)
        if dtypes.loses_fraction(value, dtype):
            warn(
                f"a float is stored as {dtype} and loses its fraction: write `T.{dtype}(...)` where that is meant",
                "STORE_TRUNCATES",
            )
        converted = dtypes.cast(value, dtype)
        if lanes == 1:
            self.at(offset).store(converted)
        else:
            store_vector(converted, self.at(offset), self._known_alignment(offset))

    def check_value(self, value: Any) -> None:
        """Raise for a value that its elements cannot hold."""
        literal = literal_value(value)
        if literal is not None:
            check_literal(literal, self._dtype.scalar)
        if not isinstance(value, (TensorSSA, Ramp)) and numeric(value) is None:
            fix = f"store an element: `{value.name}[i]`" if isinstance(value, Buffer) else "store a number"
            raise DSLUserCodeTypeError(
                f"an element of `{self.name}` is {self._dtype}, got {type_name(value)}", id="STORE_TYPE", fix=fix
            )

    @property
    def is_single(self) -> bool:
        """Whether it has one dimension of one element: its name is then assigned like a register."""
        return len(self.shape) == 1 and isinstance(self.shape[0], int) and self.shape[0] == 1

    def _all_lanes(self, offset: Ramp, count: int, stores: bool) -> int:
        """The alignment of an access of all trips of a T.vectorized."""
        if count != 1 or self._dtype.lanes != 1:
            raise NotLanes("its elements are vectors already")
        return access(self.pointer, offset, self._dtype.bytes, stores)

    def _known_alignment(self, offset: Any) -> int:
        """The alignment of the address of an element, as far as the ops that computed the offset tell it."""
        return math.gcd(self.pointer.alignment_bytes, math.gcd(*residue(offset)) * self._dtype.bytes)

    # --- pointers and vectors ---

    def ptr_to(self, indices: Sequence) -> Pointer:
        """The address of an element."""
        if not isinstance(indices, (list, tuple)):
            raise DSLUserCodeTypeError(
                f"ptr_to takes a list of indices, got {type_name(indices)}",
                id="INDEX_TYPE",
                fix=f"{self.name}.ptr_to([i])",
            )
        return self.at(self._place(tuple(indices))[0])

    def access_ptr(
        self, access_mask: Any = "rw", ptr_type: Any = None, content_lanes: int = 1, offset: Any = 0, extent: Any = None
    ) -> Pointer:
        """The address `offset` elements from the first."""
        return self.at(offset)

    def vload(self, indices: Sequence, dtype: Any = None) -> Any:
        """The elements from an index on, as a value of the vector type `dtype`."""
        indices = tuple(indices) if isinstance(indices, (tuple, list)) else (indices,)
        offset = self._place(indices)[0]
        wanted = self._dtype if dtype is None else dtypes.find(dtype)
        self._refuse_other_scalar(wanted)
        if wanted.lanes == 1:
            return self.load(offset)
        self._refuse_outside(indices, wanted.lanes)
        return load_vector(self.at(offset), wanted.lanes, vector_alignment(self, offset, wanted.lanes))

    def vstore(self, indices: Sequence, value: Any) -> None:
        """Store a vector to the elements from an index on."""
        indices = tuple(indices) if isinstance(indices, (tuple, list)) else (indices,)
        offset = self._place(indices)[0]
        if not isinstance(value, TensorSSA):
            return self.store(value, offset)
        self._refuse_outside(indices, value.size)
        converted = dtypes.cast(value, dtypes.find(f"{dtypes.of(self._dtype.scalar(0))}x{value.size}"))
        store_vector(converted, self.at(offset), vector_alignment(self, offset, value.size))

    def _refuse_other_scalar(self, wanted: DType) -> None:
        if wanted.scalar is not self._dtype.scalar:
            raise DSLUserCodeTypeError(
                f"`{self.name}` holds {self._dtype}, but this loads {wanted}",
                id="VECTOR_TYPE",
                fix=f'dtype="{self._dtype}x{wanted.lanes}"',
            )

    def _refuse_outside(self, indices: Sequence, lanes: int) -> None:
        self._checked(indices[-1], self.shape[-1], len(self.shape) - 1, lanes // self._dtype.lanes)


def _refuse_operator(self: Buffer, *_operands: Any):
    raise DSLUserCodeTypeError(
        f"operators take numbers, but `{self.name}` is a {self.type_text}",
        id="OPERAND_TYPE",
        fix=f"take an element: `{self.name}[{', '.join('ijklmn'[: len(self.shape)])}]`",
    )


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor "
    "rxor lshift rlshift rshift rrshift neg pos abs invert eq ne lt le gt ge bool int float index"
).split():
    setattr(Buffer, f"__{_name}__", _refuse_operator)


def load_vector(pointer: Pointer, lanes: int, alignment_bytes: int) -> TensorSSA:
    """`lanes` elements from `pointer` on."""
    effects.note()
    scalar = pointer.dtype
    value = mlir.load(pointer.address, mlir.vector(scalar.storage_type(), lanes), alignment_bytes)
    return from_memory(value, lanes, scalar)


def store_vector(value: TensorSSA, pointer: Pointer, alignment_bytes: int) -> None:
    effects.note()
    mlir.store(in_memory(value), pointer.address, alignment_bytes)


def vector_alignment(buffer: Buffer, offset: Any, lanes: int) -> int:
    """The alignment of a vector access, which the hardware needs: its bytes, 16 at most.

    Raises DSLUserCodeError where the offset is known to break it.
    """
    scalar_bytes = buffer.dtype.scalar.storage_width // 8
    wanted = min(lanes * scalar_bytes & -(lanes * scalar_bytes), MOST_BYTES)
    elements = wanted // scalar_bytes
    if is_multiple(offset * buffer.dtype.lanes if buffer.dtype.lanes != 1 else offset, elements) is False:
        raise unaligned(lanes, wanted, elements, here())
    if buffer.pointer.alignment_bytes % wanted:
        return math.gcd(buffer.pointer.alignment_bytes, wanted)
    return wanted
