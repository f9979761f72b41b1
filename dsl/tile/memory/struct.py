"""`struct` and `union`: named fields at fixed offsets of a piece of memory, laid out as in C.

A field starts at the next multiple of its alignment: a number's size, a struct's greatest field alignment, or what
`Align` asks for where that is more. The size is a multiple of the alignment. In a union every field starts at 0.
Source: CuTe DSL documentation, Struct; offsets as measured (tests/tile/memory/upstream_structs.txt).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError, warn_not_portable
from dsl.core.number.dtypes import Boolean, Numeric, is_dynamic
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.tile.memory.swizzled import swizzled_layout
from dsl.tile.tensor.tensor import Tensor, as_layout


def storage_bits(dtype: type[Numeric]) -> int:
    """Bits of one element in packed memory; a Boolean takes a byte."""
    return 8 if dtype is Boolean else dtype.width


def _scalar_bytes(dtype: type[Numeric]) -> int:
    return -(-storage_bits(dtype) // 8)


def _is_scalar(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Numeric)


def _static_int(value: Any) -> int | None:
    """A Python int, or a number that holds one; None for anything else."""
    if isinstance(value, Numeric) and not is_dynamic(value) and type(value).is_integer:
        value = value.value
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _pair(item: Any, spelling: str) -> tuple:
    if not isinstance(item, tuple) or len(item) != 2:
        raise DSLUserCodeTypeError(f"takes two items in brackets, got {shown(item)}", fix=spelling)
    return item


@dataclass(frozen=True)
class MemRange:
    """`MemRange[T, N]`: N elements of a numeric type, one after another."""

    dtype: type[Numeric]
    size: int

    def __class_getitem__(cls, item: Any) -> MemRange:
        dtype, size = _pair(item, "cute.struct.MemRange[cutlass.Float32, 128]")
        count = _static_int(size)
        if not _is_scalar(dtype):
            raise DSLUserCodeTypeError(
                f"a MemRange needs a numeric type, got {_spell(dtype)}",
                fix="cute.struct.MemRange[cutlass.Float32, 128]",
            )
        if count is None or count < 0:
            raise DSLUserCodeTypeError(
                f"size of a MemRange must be a static number of elements, got {shown(size)}",
                fix="cute.struct.MemRange[cutlass.Float32, 128]",
            )
        return cls(dtype, count)

    @property
    def elem_width(self) -> int:
        """Bits of one element."""
        return storage_bits(self.dtype)

    @property
    def size_in_bytes(self) -> int:
        return -(-self.elem_width * self.size // 8)

    def __repr__(self) -> str:
        return f"MemRange[{self.dtype}, {self.size}]"


@dataclass(frozen=True)
class Align:
    """`Align[T, bytes]`: a number, MemRange, struct or union at a multiple of `bytes`, a power of two."""

    dtype: Any
    align: int

    def __class_getitem__(cls, item: Any) -> Align:
        kind, align = _pair(item, "cute.struct.Align[cutlass.Int32, 16]")
        count = _static_int(align)
        if isinstance(kind, Align) or not _is_field(kind):
            raise DSLUserCodeTypeError(
                f"Align takes a number, a MemRange, a struct or a union, got {_spell(kind)}",
                fix="cute.struct.Align[cutlass.Int32, 16]",
            )
        if count is None or count < 1 or count & (count - 1):
            raise DSLUserCodeTypeError(
                f"alignment must be a power of two in bytes, got {shown(align)}",
                fix="cute.struct.Align[cutlass.Int32, 16]",
            )
        return cls(kind, count)

    def __repr__(self) -> str:
        return f"Align[{_spell(self.dtype)}, {self.align}]"


def _is_field(kind: Any) -> bool:
    return _is_scalar(kind) or isinstance(kind, (MemRange, Align, struct))


def _spell(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, (type, struct)) else repr(kind)


def _bytes_of(kind: Any) -> tuple[int, int]:
    """Size and alignment of a field."""
    if isinstance(kind, Align):
        size_bytes, natural = _bytes_of(kind.dtype)
        return size_bytes, max(natural, kind.align)
    if isinstance(kind, MemRange):
        return kind.size_in_bytes, _scalar_bytes(kind.dtype)
    if isinstance(kind, struct):
        return kind.__sizeof__(), kind.__alignof__()
    return _scalar_bytes(kind), _scalar_bytes(kind)


class struct:
    """Makes a struct of a class whose annotations are its fields; called with a pointer, its fields in that memory.

    Raises DSLUserCodeTypeError for a class without fields and for an annotation that is not a field.
    """

    MemRange, Align = MemRange, Align

    def __init__(self, cls: type):
        self.__name__, self.__doc__, self.__module__ = cls.__name__, cls.__doc__, cls.__module__
        self.fields, self.offsets = _fields_of(cls, type(self).__name__), {}
        end, self.alignment_bytes = 0, 1
        for name, kind in self.fields.items():
            size_bytes, alignment_bytes = _bytes_of(kind)
            self.offsets[name] = self._place(end, alignment_bytes)
            end = max(end, self.offsets[name] + size_bytes)
            self.alignment_bytes = max(self.alignment_bytes, alignment_bytes)
        self._size_bytes = self.align_offset(end, self.alignment_bytes)
        members = {name: property(_reader(name), _writer(name)) for name in self.fields}
        self._storage = type(
            cls.__name__,
            (Storage, cls),
            {**members, "_struct": self, "__doc__": cls.__doc__, "__module__": cls.__module__},
        )

    def _place(self, end: int, alignment_bytes: int) -> int:
        return self.align_offset(end, alignment_bytes)

    @staticmethod
    def align_offset(offset: int, align: int) -> int:
        """`offset` rounded up to a multiple of `align`."""
        return -(-offset // align) * align

    def __sizeof__(self) -> int:
        return self._size_bytes

    def __alignof__(self) -> int:
        """Bytes that its address is a multiple of."""
        return self.alignment_bytes

    def size_in_bytes(self) -> int:
        """Bytes it takes in memory."""
        return self._size_bytes

    def __call__(self, base: Pointer) -> Storage:
        """The fields of a struct at `base`. Raises DSLUserCodeTypeError if it is not a pointer to bytes."""
        if not isinstance(base, Pointer) or base.dtype.width != 8:
            raise DSLUserCodeTypeError(
                f"{self.__name__} takes a pointer to bytes, got {shown(base)}",
                fix=f"`{self.__name__}(cute.recast_ptr(p, dtype=cutlass.Int8))`",
            )
        instance = object.__new__(self._storage)
        object.__setattr__(instance, "_base", base)
        return instance

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {_spell(kind)} at {self.offsets[name]}" for name, kind in self.fields.items())
        return f"{type(self).__name__} {self.__name__}({fields}; {self._size_bytes} bytes)"


class union(struct):
    """A struct whose fields share their memory: each starts at 0."""

    def _place(self, end: int, alignment_bytes: int) -> int:
        return 0


def _fields_of(cls: type, what: str) -> dict[str, Any]:
    annotations = dict(vars(cls).get("__annotations__", {}))
    if not annotations:
        raise DSLUserCodeTypeError(f"`{cls.__name__}` is a {what} without fields", fix="x: cutlass.Float32")
    if any(isinstance(kind, str) for kind in annotations.values()):
        warn_not_portable(f"annotations of the {what} `{cls.__name__}` are text (`from __future__ import annotations`)")
        annotations = {name: _evaluate(kind, cls) for name, kind in annotations.items()}
    for name, kind in annotations.items():
        if not _is_field(kind):
            raise DSLUserCodeTypeError(
                f"field `{name}` of `{cls.__name__}` is {_spell(kind)}: a field is a number of "
                "the DSL, a MemRange, an Align or another struct",
                fix=f"{name}: cutlass.Int32, or cute.struct.MemRange[cutlass.Float32, 128]",
            )
    return annotations


def _evaluate(text: Any, cls: type) -> Any:
    """An annotation that is text, in the names of its module; the text itself where it means nothing there."""
    try:
        return eval(text, vars(sys.modules[cls.__module__]))
    except Exception:  # an author's expression may do anything; it is refused as what it is
        return text


# --- in memory -------------------------------------------------------------------------------------------------------


class NoSuchField(DSLUserCodeError, AttributeError):
    """A name that is not a field."""


class Storage:
    """One struct in memory: its fields as attributes. Assigning to a number's attribute stores it."""

    _struct: struct
    _base: Pointer

    @property
    def base(self) -> Pointer:
        """Its address."""
        return self._base

    def __sizeof__(self) -> int:
        return self._struct.size_in_bytes()

    def __flatten__(self) -> tuple[tuple, struct]:
        """The address; the struct it belongs to (core.pytree)."""
        return (self._base,), self._struct

    @staticmethod
    def __unflatten__(key: struct, children: Any) -> Storage:
        return key(children[0])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._no_field(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._struct.fields:
            raise self._no_field(name)
        object.__setattr__(self, name, value)

    def _no_field(self, name: str) -> NoSuchField:
        return NoSuchField(
            f"`{self._struct.__name__}` has no field `{name}`", fix=f"its fields are {', '.join(self._struct.fields)}"
        )

    def __str__(self) -> str:
        return f"<{type(self._struct).__name__} {self._struct.__name__} at {self._base}>"

    __repr__ = __str__


def _reader(name: str):
    def read(self: Storage) -> Scalar | Range | Storage:
        kind = self._struct.fields[name]
        kind = kind.dtype if isinstance(kind, Align) else kind
        at = self._base + self._struct.offsets[name]
        if isinstance(kind, struct):
            return kind(at)
        dtype = kind.dtype if isinstance(kind, MemRange) else kind
        if isinstance(kind, MemRange):
            return Range(Pointer(dtype, at.address, at.space, at.alignment_bytes), kind)
        return Scalar(dtype, at.address, at.space, at.alignment_bytes)

    return read


def _writer(name: str):
    def write(self: Storage, value: Any) -> None:
        field = getattr(self, name)
        if not isinstance(field, Scalar):
            many = isinstance(field, Range)
            what = "a range: assign its elements" if many else "a struct: assign its fields"
            part = "[0]" if many else f".{next(iter(field._struct.fields))}"
            raise DSLUserCodeValueError(
                f"cannot assign to `{name}` of `{self._struct.__name__}`, which is {what}",
                fix=f"`s.{name}{part} = ...`",
            )
        field.store(value)

    return write


class Scalar(Pointer):
    """A number in a struct: a pointer to it, which is also its `ptr`."""

    __slots__ = ()

    @property
    def ptr(self) -> Pointer:
        return Pointer(self.dtype, self.address, self.space, self.alignment_bytes)

    def with_ir(self, address: Any) -> Scalar:
        return Scalar(self.dtype, address, self.space, self.alignment_bytes)


class Range:
    """A MemRange in memory: `r[i]` reads and writes elements."""

    __slots__ = ("_pointer", "_range")

    def __init__(self, pointer: Pointer, range_: MemRange):
        self._pointer, self._range = pointer, range_

    def data_ptr(self) -> Pointer:
        """The address of its first element."""
        return self._pointer

    def get_tensor(self, layout: Any, swizzle: Swizzle | None = None, dtype: type[Numeric] | None = None) -> Tensor:
        """Its memory through a layout, as elements of `dtype`; `swizzle` permutes byte addresses.

        Raises DSLUserCodeError for a static layout that reaches past its end.
        """
        layout = as_layout(layout)
        pointer = self._pointer if dtype is None else self._pointer.recast(dtype)
        self._check_reach(layout, pointer.dtype)
        if swizzle is not None:
            swizzled_layout(layout, pointer.dtype, swizzle)
            pointer = pointer.swizzled(swizzle)
        return Tensor(pointer, layout)

    def _check_reach(self, layout: Layout | ComposedLayout, dtype: type[Numeric]) -> None:
        strided = layout.outer if isinstance(layout, ComposedLayout) else layout
        if not lay.is_static(strided) or (isinstance(layout, ComposedLayout) and is_dynamic(layout.offset)):
            return
        need_bytes = -(-lay.storage_elements(layout) * storage_bits(dtype) // 8)
        if need_bytes > self._range.size_in_bytes:
            raise DSLUserCodeError(
                f"the layout {layout} of {dtype} needs {need_bytes} bytes, but {self._range} has "
                f"{self._range.size_in_bytes}",
                id="INDEX_OUT_OF_RANGE",
                fix="make the MemRange as long as the layout: cute.cosize(layout)",
            )

    def _at(self, index: Any) -> Pointer:
        static = _static_int(index)
        if static is None:
            warn_not_portable("a MemRange is indexed by a dynamic value", "PHASE_DYNAMIC_TO_STATIC_BOOL")
        elif not 0 <= static < self._range.size:
            raise DSLUserCodeError(
                f"the index {static} is outside a MemRange of {self._range.size} elements",
                id="INDEX_OUT_OF_RANGE",
                fix=f"0 to {self._range.size - 1}",
            )
        moved = self._pointer + (index if static is None else static)
        if moved is NotImplemented:
            raise DSLUserCodeTypeError(
                f"index of a MemRange must be an integer, got {shown(index)}", fix="convert it: `cutlass.Int32(i)`"
            )
        return moved

    def __getitem__(self, index: Any) -> Numeric:
        return self._at(index).load()

    def __iter__(self) -> Iterator[Numeric]:
        return (self[index] for index in range(self._range.size))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._at(index).store(value)

    def __flatten__(self) -> tuple[tuple, MemRange]:
        """The address; its type and length (core.pytree)."""
        return (self._pointer,), self._range

    @staticmethod
    def __unflatten__(key: MemRange, children: Any) -> Range:
        return Range(children[0], key)

    def __str__(self) -> str:
        return f"<{self._range} at {self._pointer}>"

    __repr__ = __str__
