"""Raw pointers: what `raw_ptr()` and `data_ptr()` give. They load and store numbers and vectors.

An access is as aligned as its author states, or as one element is.
"""

from __future__ import annotations

import re
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError, warn_not_portable
from dsl.core.ir import arithmetic, mlir
from dsl.core.number.dtypes import Boolean, Int8, Int32, Integer, Numeric, NumericMeta, is_dynamic
from dsl.core.number.operators import operate, type_name
from dsl.core.number.pointer import AddressSpace, Pointer, from_address, natural_alignment
from dsl.core.phrase import Phrase, shown
from dsl.layout import Swizzle
from dsl.primitives.vector import Vector, full
from dsl.tile.vector.ssa import TensorSSA, from_memory, in_memory

_ORDERINGS = {"not_atomic": 0, "unordered": 1, "monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7}
_SCOPES = {"cta": "block", "cluster": "cluster", "gpu": "device", "sys": ""}


class RawPointer(Pointer):
    """A pointer to numbers, without a layout: arithmetic counts elements."""

    __slots__ = ()

    def __init__(
        self,
        base: Pointer | mlir.Value,
        *,
        dtype: type[Numeric] | None = None,
        space: AddressSpace | int | None = None,
        alignment_bytes: int = 0,
    ) -> None:
        """The address of another pointer, or an SSA value that is one, as elements of `dtype`."""
        if isinstance(base, Pointer):
            same = base if dtype is None else base.recast(dtype)
            super().__init__(same.dtype, same.address, same.space, same.alignment_bytes, same.on_host, same.bit)
            return
        if not isinstance(base, mlir.Value) or not str(base.type).startswith("!llvm.ptr"):
            raise DSLUserCodeTypeError(
                f"a pointer is made of a pointer, got {type_name(base)}",
                fix="`cutlass.inttoptr(address, space, dtype)` makes one of an address",
            )
        of_type = re.search(r"<(\d+)>", str(base.type))
        space = AddressSpace(int(of_type[1]) if of_type else 0) if space is None else AddressSpace(space)
        super().__init__(dtype or Int8, base, space, alignment_bytes)

    @classmethod
    def of(cls, pointer: Pointer) -> RawPointer:
        """The same address and type."""
        return pointer if isinstance(pointer, cls) else cls(pointer)

    def __repr__(self) -> str:
        return f"ptr<space={self.space}, dtype={self.dtype.__name__}>"

    __str__ = __repr__

    def type_key(self) -> Any:
        return (RawPointer, self.dtype, self.space, self.bit)

    @property
    def natural_alignment(self) -> int:
        """The bytes of an element."""
        return natural_alignment(self.dtype)

    alignment = max_alignment = natural_alignment

    @property
    def mlir_type(self) -> mlir.Type:
        return self.ir_type()

    def ir_value(self, *, loc=None, ip=None) -> mlir.Value:
        return self.address

    def to_llvm_ptr(self, *, loc=None, ip=None) -> mlir.Value:
        return self.address

    def with_ir(self, address: mlir.Value) -> RawPointer:
        return RawPointer.of(super().with_ir(address))

    def _moved(self, offset: Any, sign: int) -> Any:
        moved = super()._moved(offset, sign)
        return moved if moved is NotImplemented else RawPointer.of(moved)

    def __and__(self, mask: Any) -> RawPointer:
        """The address with only the bits of `mask`."""
        address = self.toint()
        return self._at_address(operate("and", address, type(address)(mask)))

    __rand__ = __and__

    def _at_address(self, address: Any) -> RawPointer:
        return RawPointer.of(from_address(self.dtype, address, self.space))

    def toint(self, dtype: type[Integer] | None = None, *, loc=None, ip=None) -> Any:
        """The address in bytes, as `dtype` where that is asked for; `loc` and `ip` are from upstream, not used here."""
        address = super().toint()
        return address if dtype is None else dtype(address)

    def tospace(self, space: AddressSpace | int) -> RawPointer:
        """The same memory seen in another address space."""
        space = AddressSpace(space)
        if space is self.space:
            return self
        address = mlir.result("llvm.addrspacecast", mlir.ptr(space), self.address)
        return RawPointer(address, dtype=self.dtype, space=space, alignment_bytes=self.alignment_bytes)

    def apply_swizzle(self, swizzle: Swizzle) -> RawPointer:
        """The address, its bits permuted."""
        if not isinstance(swizzle, Swizzle):
            raise DSLUserCodeTypeError(
                f"apply_swizzle takes a Swizzle, got {type_name(swizzle)}", fix='cutlass.Swizzle.from_name("s128b")'
            )
        return self._at_address(swizzle(self.toint())) if swizzle.bits else self

    # --- loads and stores ---

    def load(
        self,
        alignment: int | None = None,
        *,
        count: int | None = None,
        is_volatile: bool = False,
        is_invariant: bool = False,
        is_invariant_group: bool = False,
        is_nontemporal: bool = False,
        ordering: Any = "not_atomic",
        syncscope: Any = None,
    ) -> Any:
        """The number here, or `count` of them as a Vector, at an address that is a multiple of `alignment` bytes."""
        attributes = _attributes(self._aligned(alignment), is_volatile, is_nontemporal, ordering, syncscope)
        if is_invariant:
            attributes["invariant"] = mlir.unit_attr()
        stored = self.dtype.storage_type()
        type_ = stored if count is None else mlir.vector(stored, _count(count))
        value = mlir.op("llvm.load", [type_], [self.address], attributes).results[0]
        if count is not None:
            return Vector(from_memory(value, (count,), self.dtype))
        if self.dtype is Boolean:
            value = arithmetic.compare("ne", value, mlir.constant(0, mlir.i8), False)
        return self.dtype(value)

    def store(
        self,
        value: Any,
        *,
        alignment: int | None = None,
        is_volatile: bool = False,
        is_invariant_group: bool = False,
        is_nontemporal: bool = False,
        ordering: Any = "not_atomic",
        syncscope: Any = None,
    ) -> None:
        """Write a number or a Vector of the pointer's type."""
        stored = self._storable(value)
        attributes = _attributes(self._aligned(alignment), is_volatile, is_nontemporal, ordering, syncscope)
        mlir.op("llvm.store", [], [stored, self.address], attributes)

    def __setitem__(self, offset: Any, value: Any) -> None:
        at = self._at(offset)
        at.store(value if isinstance(value, Vector) else self.dtype(value))

    def load_swizzled(self, swizzle: Swizzle, alignment: int | None = None, *, count: int | None = None) -> Any:
        """`load` at swizzled addresses: of each element, or of each run of as many as `alignment` keeps together."""
        if count is None:
            warn_not_portable(
                "load_swizzled of one number is swizzled",
                fix="give the count: load_swizzled(swizzle, count=1)[0]",
                does="does not swizzle it",
            )
            return self.apply_swizzle(swizzle).load(alignment)
        run = min(self._run(alignment), _count(count))
        parts = [
            RawPointer.of(self + i).apply_swizzle(swizzle).load(alignment, count=run) for i in range(0, count, run)
        ]
        return parts[0] if run == count else Vector.from_elements([each for part in parts for each in part], self.dtype)

    def store_swizzled(self, value: Any, swizzle: Swizzle, alignment: int | None = None) -> None:
        """`store` at swizzled addresses, as `load_swizzled` reads them."""
        if not isinstance(value, Vector):
            self.apply_swizzle(swizzle).store(value, alignment=alignment)
            return
        run = min(self._run(alignment), value.numel())
        for i in range(0, value.numel(), run):
            RawPointer.of(self + i).apply_swizzle(swizzle).store(value[i : i + run], alignment=alignment)

    def _run(self, alignment: int | None) -> int:
        """How many elements of an aligned address a swizzle keeps together: it moves chunks of 16 bytes."""
        return max(min(self._aligned(alignment), 16) // self.natural_alignment, 1)

    def masked_load(self, mask: Vector, pass_thru: Vector | None = None, *, alignment: int | None = None) -> Vector:
        """Elements where `mask`, elements of `pass_thru` (or zeros) elsewhere, where nothing is read."""
        _require_mask(mask)
        offsets = list(range(mask.numel()))
        return self._gathered([Int32(i) for i in offsets], mask, pass_thru)

    def masked_gather(
        self, offsets: Vector, mask: Vector, pass_thru: Vector | None = None, *, alignment: int | None = None
    ) -> Vector:
        """As `masked_load`, of the elements at `offsets`."""
        _require_mask(mask)
        return self._gathered(list(offsets.to_elements()), mask, pass_thru)

    def _gathered(self, offsets: list, mask: Vector, pass_thru: Vector | None) -> Vector:
        if pass_thru is not None and not isinstance(pass_thru, Vector):
            raise DSLUserCodeTypeError(
                f"pass_thru must be a Vector, got {type_name(pass_thru)}", fix="cutlass.full((4,), 0.0)"
            )
        other = full(mask.shape, 0, self.dtype) if pass_thru is None else pass_thru
        loaded = [
            _where(inside, lambda offset=offset: (self + offset).load(), otherwise)
            for offset, inside, otherwise in zip(offsets, mask.to_elements(), other.to_elements())
        ]
        return Vector.from_elements(loaded, self.dtype)

    def masked_store(self, value: Vector, mask: Vector, *, alignment: int | None = None) -> None:
        """Write the elements where `mask`."""
        _require_mask(mask)
        self._storable(value)
        for i, (each, inside) in enumerate(zip(value.to_elements(), mask.to_elements())):
            _where(inside, lambda i=i, each=each: (self + i).store(each))

    def _aligned(self, alignment: int | None) -> int:
        """The bytes an access is aligned to: by default the alignment of an element."""
        if alignment is None:
            return self.natural_alignment
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise DSLUserCodeTypeError(
                f"alignment must be a power of two, got {shown(alignment)}", fix="write 4, 8, 16, ..."
            )
        return alignment

    def _storable(self, value: Any) -> mlir.Value:
        """A value as memory holds it. Raises DSLUserCodeTypeError if its type differs from the pointer's type."""
        if isinstance(value, TensorSSA):
            value = Vector(value)
        if not isinstance(value, (Vector, Numeric)) or value.dtype is not self.dtype:
            raise DSLUserCodeTypeError(
                Phrase(
                    "a pointer to {dtype} stores its own type, got {value}", dtype=self.dtype, value=type_name(value)
                ),
                fix=f"convert it, for example cutlass.{self.dtype}(x) or v.to(cutlass.{self.dtype})",
            )
        if isinstance(value, Vector):
            return in_memory(value.flat)
        return mlir.result("arith.extui", mlir.i8, value.ir()) if self.dtype is Boolean else value.ir()


def _count(count: Any) -> int:
    if not isinstance(count, int) or count < 1:
        raise DSLUserCodeTypeError(f"count of a load must be a positive integer, got {type_name(count)}", fix="count=4")
    return count


def _require_mask(mask: Any) -> None:
    if not isinstance(mask, Vector) or mask.dtype is not Boolean:
        raise DSLUserCodeTypeError(
            f"mask must be a Vector of Boolean, got {type_name(mask)}",
            fix="cutlass.Vector.from_elements((True, False), cutlass.Boolean)",
        )


def _attributes(
    alignment_bytes: int, is_volatile: bool, is_nontemporal: bool, ordering: Any, syncscope: Any
) -> dict[str, Any]:
    """Of an llvm.load or llvm.store."""
    attributes: dict[str, Any] = {"alignment": mlir.int_attr(alignment_bytes)}
    if is_volatile:
        attributes["volatile_"] = mlir.unit_attr()
    if is_nontemporal:
        attributes["nontemporal"] = mlir.unit_attr()
    word = getattr(ordering, "value", ordering)
    if word not in _ORDERINGS:
        raise DSLUserCodeValueError(
            f"ordering must be one of {', '.join(_ORDERINGS)}, got {shown(word)}", fix='ordering="relaxed"'
        )
    if word != "not_atomic":
        attributes["ordering"] = mlir.int_attr(_ORDERINGS[word])
        if syncscope is not None:
            attributes["syncscope"] = mlir.string_attr(_SCOPES[getattr(syncscope, "value", syncscope)])
    return attributes


def _where(inside: Numeric, do: Any, otherwise: Numeric | None = None) -> Any:
    """What `do` gives where `inside`, `otherwise` elsewhere."""
    if not is_dynamic(inside):
        return do() if inside.value else otherwise
    types = [] if otherwise is None else [otherwise.ir_type()]
    branch = mlir.op("scf.if", types, [inside.ir()], regions=2)
    with mlir.inside(branch.regions[0].blocks.append()):
        value = do()
        mlir.op("scf.yield", [], [value.ir()] if types else [])
    if otherwise is None:
        return None
    with mlir.inside(branch.regions[1].blocks.append()):
        mlir.op("scf.yield", [], [otherwise.ir()])
    return type(otherwise)(branch.results[0])


def inttoptr(value: Any, mem_space: AddressSpace | int, dtype: type[Numeric]) -> RawPointer:
    """A pointer to `dtype` at the address `value`, in bytes."""
    if not isinstance(dtype, NumericMeta):
        raise DSLUserCodeTypeError(
            f"a pointer needs a numeric type, got {type_name(dtype)}",
            fix="inttoptr(address, cutlass.AddressSpace.smem, cutlass.Float32)",
        )
    return RawPointer.of(from_address(dtype, value, AddressSpace(mem_space)))


def raw(pointer: Any) -> RawPointer:
    """The pointer that an instruction takes: of an array its first element. Raises DSLUserCodeTypeError for others."""
    if hasattr(type(pointer), "data_ptr"):
        pointer = pointer.data_ptr()
    if isinstance(pointer, mlir.Value):  # of an op that the author made
        return RawPointer(pointer)
    if not isinstance(pointer, Pointer):
        raise DSLUserCodeTypeError(
            f"an address must be an Array or a pointer, got {type_name(pointer)}", fix="`array`, or `array.data_ptr(i)`"
        )
    return RawPointer.of(pointer)


Pointer.raw_class = RawPointer
