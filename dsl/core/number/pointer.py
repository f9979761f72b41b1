"""Typed pointers: an address in a memory space, an element type, and the alignment that is known of it."""

from __future__ import annotations

import enum
import math
import re
from typing import Any, ClassVar, NamedTuple

from dsl.core.errors import DSLUserCodeAttributeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic, mlir, zero_bits
from dsl.core.number.dtypes import Boolean, Int8, Int32, Int64, Numeric, is_dynamic, numeric
from dsl.core.phrase import Phrase, cast, shown

_FAR = 1 << 30  # elements
_NAMES = {
    "Int4": "i4",
    "FloatNV8E5M3FNU": "fnv8E5M3FNU",
    "Float4E2M1FNx2": "i8",
    "Float6E2M3FNx4": "f6E2M3FN",
    "Float6E3M2FNx4": "f6E3M2FN",
}


class _Spaces(enum.EnumMeta):
    """Refuses Blackwell's tensor memory by name."""

    def __getattr__(cls, name: str) -> Any:
        if name in (members := cls.__members__):
            return members[name]
        if name == "tmem":
            raise DSLUserCodeAttributeError(
                f"{cls.__name__}.tmem is not part of this compiler yet: tensor memory is of Blackwell",
                id="UNSUPPORTED_NAME",
                fix=f"{cls.__name__}.smem, or run the file with NVIDIA's compiler on a Blackwell GPU",
            )
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")


class AddressSpace(enum.IntEnum, metaclass=_Spaces):
    """The memory spaces; the numbers are NVPTX's address spaces. One prints as its name."""

    generic = 0
    gmem = 1
    smem = 3
    cmem = 4
    rmem = 5
    dsmem = 7

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)


class SwizzleType(NamedTuple):
    """The swizzle of a pointer's byte addresses; `num_bits` is 0 where it has none."""

    num_bits: int = 0
    num_base: int = 4
    num_shift: int = 3


_LLVM_POINTER = re.compile(r"!llvm\.ptr(?:<(\d+)>)?")


class PointerType(str):
    """The text of a pointer's type, of which libraries ask the swizzle."""

    swizzle_type = SwizzleType()

    def with_swizzle(self, swizzle: Any) -> PointerType:
        if swizzle:
            self.swizzle_type = SwizzleType(swizzle.bits, swizzle.base, swizzle.shift)
        return self


class Pointer:
    """A pointer to elements of `dtype`; arithmetic counts elements.

    `alignment_bytes` is what is known of the address, never more; `+` keeps of it what the offset allows.
    `on_host`: to memory of the host that came as an argument. `bit`: for elements smaller than a byte, where in the
    byte at the address the element starts, None where that is not known. `swizzle` permutes the byte address where the
    pointer is read or written, and nowhere else: `+` counts elements before it.
    """

    __slots__ = ("dtype", "_address", "_owner", "space", "alignment_bytes", "on_host", "bit", "swizzle")

    def __init__(
        self,
        dtype: type[Numeric],
        address: mlir.Value,
        space: AddressSpace,
        alignment_bytes: int = 0,
        on_host: bool = False,
        bit: int | None = 0,
        swizzle: Any = None,
    ):
        self.dtype, self._address, self.space = dtype, address, AddressSpace(space)
        self._owner = mlir.current_function()
        self.alignment_bytes = alignment_bytes or natural_alignment(dtype)
        self.on_host, self.bit = on_host, bit
        self.swizzle = swizzle if swizzle is not None and swizzle.bits else None

    @property
    def address(self) -> mlir.Value:
        """The SSA value. Raises DSLUserCodeError in another function than the pointer was made in."""
        return mlir.owned(self._address, self._owner)

    @property
    def value_type(self) -> type[Numeric]:
        return self.dtype

    @property
    def element_type(self) -> type[Numeric]:
        return self.dtype

    @property
    def memspace(self) -> AddressSpace:
        return self.space

    @property
    def proven_alignment_bytes(self) -> int:
        """`alignment_bytes`, or more where the operations show it that compute the address."""
        return max(self.alignment_bytes, 1 << zero_bits.known(self.address))

    @property
    def alignment(self) -> int:
        return self.alignment_bytes

    @property
    def max_alignment(self) -> int:
        return self.alignment_bytes

    def ir(self) -> mlir.Value:
        return self.address

    def ir_type(self) -> mlir.Type:
        return mlir.ptr(self.space)

    @property
    def type(self) -> PointerType:
        """The type as text: element type, memory, alignment and swizzle; `type.swizzle_type` is the swizzle."""
        swizzle = f", {self.swizzle}" if self.swizzle else ""
        text = f"!cute.ptr<{element_name(self.dtype)}, {self.space_name}, align<{self.alignment_bytes}>{swizzle}>"
        return PointerType(text).with_swizzle(self.swizzle)

    @property
    def space_name(self) -> str:
        """The space as upstream prints it: host memory is generic there. Here kernels reach it as global memory."""
        return "generic" if self.on_host else self.space.name

    def with_ir(self, address: mlir.Value) -> Pointer:
        return Pointer(self.dtype, address, self.space, self.alignment_bytes, self.on_host, self.bit, self.swizzle)

    def type_key(self) -> Any:
        return (Pointer, self.dtype, self.space, self.bit, self.swizzle)

    @property
    def type_text(self) -> str:
        """The words for its type in an error."""
        return "Pointer" if self.bit == 0 else f"Pointer into the middle of a byte of {self.dtype}"

    def __repr__(self) -> str:
        shown = self.bit == 0 if self.dtype.is_packed else self.alignment_bytes != natural_alignment(self.dtype)
        alignment = f", align<{self.alignment_bytes}>" if shown else ""
        swizzle = f", {self.swizzle}" if self.swizzle else ""
        return f"ptr<{element_name(self.dtype)}, {self.space_name}{alignment}{swizzle}>"

    def __add__(self, offset) -> Pointer:
        return self._moved(offset, 1)

    __radd__ = __add__

    def __sub__(self, offset) -> Pointer:
        if isinstance(offset, Pointer):
            raise DSLUserCodeTypeError(
                "the difference of two pointers has no type here",
                fix="subtract addresses: `(q.toint() - p.toint()) // bytes`",
                id="TYPE_POINTER",
            )
        return self._moved(offset, -1)

    def _moved(self, offset, sign: int) -> Pointer:
        number = numeric(offset)
        if number is None or not type(number).is_integer:
            return NotImplemented
        if self.dtype.is_packed:
            return self.moved_bits(number, sign)
        size_bytes = element_bytes(self.dtype)
        zero_bits.note(self.address, self.alignment_bytes)
        if is_dynamic(number):
            alignment_bytes = math.gcd(self.alignment_bytes, number.divisibility * size_bytes)
            index = Int64(number) if self._is_wide else Int32(number)
            index = -index if sign < 0 else index
            moved = mlir.gep(self.address, self.dtype.storage_type(), index.ir())
        else:
            count = sign * number.value
            alignment_bytes = math.gcd(self.alignment_bytes, abs(count) * size_bytes) if count else self.alignment_bytes
            moved = self._constant_offset(count)
        return Pointer(self.dtype, moved, self.space, alignment_bytes, self.on_host, swizzle=self.swizzle)

    def moved_bits(self, count: Numeric | int, sign: int = 1, divisor: int = 0) -> Pointer:
        """`count` packed elements on, a multiple of `divisor`.
        Raises where bits of an unknown place would be counted."""
        count = numeric(count)
        width = self.dtype.storage_width
        step_bits = width * (count.value if not is_dynamic(count) else divisor or count.divisibility)
        whole = step_bits % 8 == 0
        if not whole and self.bit is None:
            raise DSLUserCodeValueError(
                Phrase(
                    "moves a pointer to {dtype} by parts of a byte from a place that may be inside one",
                    dtype=self.dtype,
                ),
                fix="add the offsets first, and then the sum to the pointer",
            )
        if not is_dynamic(count):
            far, bit = divmod((self.bit or 0) + sign * step_bits, 8)
            bit = None if self.bit is None else bit
            moved, alignment_bytes = (
                self._byte_offset(far),
                math.gcd(self.alignment_bytes, far) if far else self.alignment_bytes,
            )
        else:
            bits = Int64(count) * (sign * width)
            far = bits >> 3 if whole else (bits + self.bit) >> 3
            zero_bits.note(self.address, self.alignment_bytes)
            moved = mlir.gep(self.address, mlir.i8, (far if self._is_wide else Int32(far)).ir())
            bit, alignment_bytes = (self.bit, math.gcd(self.alignment_bytes, step_bits // 8)) if whole else (None, 1)
        return Pointer(self.dtype, moved, self.space, alignment_bytes, self.on_host, bit, self.swizzle)

    def _byte_offset(self, count: int) -> mlir.Value:
        return Pointer(Int8, self.address, self.space)._constant_offset(count)

    @property
    def _is_wide(self) -> bool:
        """Whether addresses of this space have 64 bits."""
        return self.space in (AddressSpace.generic, AddressSpace.gmem)

    def _constant_offset(self, count: int) -> mlir.Value:
        """The address `count` elements on. MLIR keeps constant indices in 32 bits, so far ones are split in two."""
        element = self.dtype.storage_type()
        far, near = (0, count) if -_FAR <= count < _FAR else divmod(count, _FAR)
        address = mlir.gep(self.address, mlir.array(element, _FAR), far) if far else self.address
        return mlir.gep(address, element, near) if near else address

    raw_class: ClassVar[type[Pointer]]  # dsl.primitives.pointer sets it: a class of a higher package

    def raw_ptr(self) -> Pointer:
        """The pointer without what a tensor knows of it, as instructions take it."""
        return self.raw_class.of(self)

    @classmethod
    def of(cls, pointer: Pointer) -> Pointer:
        """`pointer` as one of this class."""
        return pointer

    def load(self, *, alignment: int | None = None) -> Numeric:
        """The element this points at; `alignment`, in bytes, is what the author promises."""
        value = mlir.load(self.in_memory().address, self.dtype.storage_type(), self._access_bytes(alignment))
        if self.dtype is Boolean:
            value = arithmetic.compare("ne", value, mlir.constant(0, mlir.i8), False)
        return self.dtype(value)

    def store(self, value, *, alignment: int | None = None) -> None:
        """Write `value`, converted to the element type; `alignment`, in bytes, is what the author promises."""
        value = self.dtype(value).ir()
        if self.dtype is Boolean:
            value = mlir.result("arith.extui", mlir.i8, value)
        mlir.store(value, self.in_memory().address, self._access_bytes(alignment))

    def _access_bytes(self, alignment: int | None = None) -> int:
        alignment_bytes = (
            self.alignment_bytes if alignment is None else max(self.alignment_bytes, _power_of_two(alignment))
        )
        return min(alignment_bytes, element_bytes(self.dtype))

    def __getitem__(self, offset) -> Numeric:
        return self._at(offset).load()

    def __iter__(self):
        """Not there: Python would ask for element after element for ever. Raises DSLUserCodeTypeError."""
        raise DSLUserCodeTypeError(
            "a pointer is not iterated: it does not know how many elements there are",
            fix="loop over offsets: `for i in range(n): p[i]`",
        )

    def __len__(self) -> int:
        raise DSLUserCodeTypeError(
            "a pointer has no len(): it does not know how many elements follow",
            fix=Phrase("make a tensor of it: `cute.make_tensor(p, layout)`", "IN_CUTE"),
        )

    def __contains__(self, value) -> bool:
        raise DSLUserCodeTypeError("`in` does not search from a pointer", fix="loop over indices, and compare `p[i]`")

    def __bool__(self) -> bool:
        raise DSLUserCodeTypeError("condition must be a number, got Pointer", fix=self.truth_fix)

    truth_fix = "ask `p is not None`, or test the address: `p.toint() != 0`"

    def __setitem__(self, offset, value) -> None:
        self._at(offset).store(value)

    def _at(self, offset) -> Pointer:
        moved = self._moved(offset, 1)
        if moved is NotImplemented:
            raise DSLUserCodeTypeError(
                Phrase("pointer index must be one integer, got {type}", type=type(offset)),
                fix=Phrase("convert it: {cast}", cast=cast(Int32)),
            )
        return moved

    @property
    def llvm_ptr(self) -> mlir.Value:
        """The SSA value, for ops that the author makes."""
        return self.address

    def to_llvm_ptr(self, *, loc=None, ip=None) -> mlir.Value:
        """`llvm_ptr`, as libraries ask for it. `loc` and `ip` are parameters of upstream, not used here."""
        return self.address

    def toint(self, dtype: type[Numeric] | None = None, *, loc=None, ip=None) -> Any:
        """The address in bytes: of type `dtype`, or Int64, or Int32 for a pointer into shared or register memory.

        `loc` and `ip` are parameters of upstream, not used here.
        """
        if dtype is not None and not (isinstance(dtype, type) and issubclass(dtype, Numeric) and dtype.is_integer):
            raise DSLUserCodeTypeError(f"an address is an integer, and dtype is {shown(dtype)}", fix="dtype=Int64")
        own = Int64 if self._is_wide else Int32
        address = own(mlir.result("llvm.ptrtoint", own.mlir_type, self.address))
        return address if dtype is None else dtype(address)

    def align(self, min_align: int) -> Pointer:
        """The next address at or after this one that is a multiple of `min_align` bytes (a power of two)."""
        address, _ = self.toint(), _power_of_two(min_align)
        rounded = (address + (min_align - 1)) & -min_align
        moved = mlir.result("llvm.inttoptr", self.ir_type(), type(address)(rounded).ir())
        known_bytes = max(min_align, self.alignment_bytes)
        return Pointer(self.dtype, moved, self.space, known_bytes, swizzle=self.swizzle)

    def swizzled(self, swizzle: Any) -> Pointer:
        """The same address with another swizzle, or with none."""
        return Pointer(self.dtype, self.address, self.space, self.alignment_bytes, self.on_host, self.bit, swizzle)

    def in_memory(self) -> Pointer:
        """The place of the element: the address after the swizzle, as a pointer without one."""
        swizzle = self.swizzle
        if swizzle is None:
            return self
        address = self.toint()
        if self._is_wide or self.space is AddressSpace.rmem:  # for LLVM the address stays in its own memory
            moved = mlir.gep(self.address, mlir.i8, type(address)(swizzle(address) - address).ir())
        else:
            moved = mlir.result("llvm.inttoptr", self.ir_type(), type(address)(swizzle(address)).ir())
        alignment_bytes = math.gcd(self.alignment_bytes, 1 << swizzle.base)
        return Pointer(self.dtype, moved, self.space, alignment_bytes, self.on_host, self.bit)

    def recast(self, dtype: type[Numeric]) -> Pointer:
        """The same address, pointing at elements of `dtype`, without a swizzle."""
        if self.bit != 0 and dtype.storage_width != self.dtype.storage_width:
            raise DSLUserCodeValueError(
                Phrase(
                    "a pointer to {dtype} that may be inside a byte has no address as {wanted}",
                    dtype=self.dtype,
                    wanted=dtype,
                ),
                fix=Phrase("recast first, and move the pointer to {dtype}", dtype=dtype),
            )
        return Pointer(dtype, self.address, self.space, self.alignment_bytes, bit=self.bit)


def _power_of_two(alignment_bytes: int) -> int:
    if not isinstance(alignment_bytes, int) or alignment_bytes < 1 or alignment_bytes & (alignment_bytes - 1):
        raise DSLUserCodeTypeError(
            f"alignment must be a power of two, got {shown(alignment_bytes)}", fix="write 4, 8, 16, ..."
        )
    return alignment_bytes


def element_bytes(dtype: type[Numeric]) -> int:
    """Bytes of one element in memory. Raises DSLUserCodeValueError for one that has no whole bytes."""
    if dtype.is_packed:
        raise DSLUserCodeValueError(
            Phrase(
                "Sub-byte scalar dereference not supported for type {dtype}: it has no elements of whole bytes",
                dtype=dtype,
            ),
            fix=Phrase(
                "load or store many at once (`t.load()`), or read bytes: `cute.recast_tensor(t, cutlass.Uint8)`",
                "IN_CUTE",
            ),
        )
    return dtype.storage_width // 8


def span_bytes(dtype: type[Numeric], count: int) -> int:
    """Bytes that `count` elements take in memory, one after the other, rounded up."""
    return -(-dtype.storage_width * count // 8)


def natural_alignment(dtype: type[Numeric]) -> int:
    """Bytes that an address of elements is a multiple of by default."""
    return 1 if dtype.is_packed else dtype.storage_width // 8


def element_name(dtype: type[Numeric]) -> str:
    """An element type as CuTe prints it, without a sign: f32, i8 (of Boolean too), f8E4M3FN."""
    if dtype.__name__ == "TFloat32":
        return "tf32"
    if dtype.__name__ in _NAMES:
        return _NAMES[dtype.__name__]
    if dtype.is_float and dtype.__name__[5:6].isdigit() and not dtype.__name__[5:].isdigit():
        return "f" + dtype.__name__[5:]
    return str(dtype.storage_type())


def from_address(dtype: type[Numeric], address, space: AddressSpace, alignment_bytes: int = 0) -> Pointer:
    """A pointer at an integer address (64 bits; 32 for shared memory), or at where a pointer of MLIR points."""
    if isinstance(address, mlir.Value) and str(address.type).startswith("!llvm.ptr"):
        address = Int64(mlir.result("llvm.ptrtoint", mlir.i64, address))
    number = numeric(address)
    if number is None or not type(number).is_integer:
        raise DSLUserCodeTypeError(
            Phrase("address must be an integer, got {type}", type=type(address)),
            fix="give `tensor.iterator.toint()`, or `tensor.iterator` as it is",
        )
    if not (isinstance(dtype, type) and issubclass(dtype, Numeric)) or not isinstance(space, AddressSpace):
        raise DSLUserCodeTypeError(
            "a pointer is made of a numeric type, an address and a memory space",
            fix=Phrase("make_ptr(cutlass.Float32, address, cute.AddressSpace.gmem)", "IN_CUTE"),
        )
    if not isinstance(alignment_bytes, int) or alignment_bytes < 0 or alignment_bytes & (alignment_bytes - 1):
        raise DSLUserCodeTypeError(
            f"alignment must be a power of two, got {shown(alignment_bytes)}", fix="write 4, 8, 16, ..."
        )
    width = Int64 if space in (AddressSpace.generic, AddressSpace.gmem) else Int32
    value = mlir.result("llvm.inttoptr", mlir.ptr(space), width(number).ir())
    return Pointer(dtype, value, space, alignment_bytes)


def as_pointer(value: Any, dtype: type[Numeric]) -> Any:
    """An SSA value of type `!llvm.ptr<space>`, such as `llvm_ptr` gives, as a pointer to `dtype`; else `value`."""
    if not isinstance(value, mlir.Value) or not (found := _LLVM_POINTER.fullmatch(str(value.type))):
        return value
    return Pointer(dtype, value, AddressSpace(int(found[1] or 0)))
