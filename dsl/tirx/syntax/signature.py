"""The arguments of a T.prim_func call: tensors, numbers, and the extents found in the shapes of the tensors.

While the function is traced its parameters take slots of the argument block in the order they are met; a call fills
them in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int8, Numeric, is_dynamic, numeric
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.state import Stack
from dsl.launch.argument import dlpack
from dsl.launch.argument.abi import Binding, PointerType, ScalarType, TensorType
from dsl.launch.argument.symbolic_int import SymInt
from dsl.span import Span, here
from dsl.tirx.errors import error_wording

ALIGNMENT_BYTES = 16  # of every tensor: what vector accesses need


@dataclass(eq=False)
class Symbol:
    """`n = T.int32()`: a number that each call reads from the shape or strides of a tensor argument."""

    leaf: SymInt
    number: Numeric
    place: Span
    is_found: bool = False
    name: str = ""


@dataclass(eq=False)
class Handle:
    """A T.handle parameter: an address; T.match_buffer makes it a tensor."""

    name: str
    position: int
    pointer: Pointer
    address: mlir.Value
    type: TensorType | None = None
    matched: Span | None = None
    buffer_name: str = ""  # of the tensor it is matched as

    def _refuse(self, *_operands: Any) -> NoReturn:
        raise DSLUserCodeTypeError(
            f"`{self.name}` is a T.handle, which has no elements before it is matched",
            id="HANDLE_UNMATCHED",
            fix=f'A = T.match_buffer({self.name}, (64,), "float32"), before T.device_entry()',
        )

    __getitem__ = __setitem__ = __iter__ = __len__ = _refuse


class Absent:
    """A parameter for which a call passes None."""

    def __str__(self) -> str:
        return "None"


@dataclass(eq=False)
class Signature:
    """The parameters of one function, and what fills each slot: a Handle, a Symbol or (position, ScalarType)."""

    name: str
    parameters: list[tuple[str, Any]] = field(default_factory=list)  # name, Handle | ScalarType
    sources: list[Any] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    numbers: dict[str, Numeric] = field(default_factory=dict)
    extents: dict[Any, Numeric] = field(default_factory=dict)  # of the symbols that were made outside of the function
    unlaunchable: DSLUserCodeError | None = None  # why its kernel cannot be compiled
    touched: tuple[str, Span] | None = None  # the tensor that the host part loads or stores, and where

    # --- while tracing ---

    def handle(self, name: str) -> Handle:
        """The next parameter, an address."""
        pointer = _pointer(PointerType(Int8, AddressSpace.gmem, ALIGNMENT_BYTES))
        handle = Handle(name, len(self.parameters), pointer, pointer.address)
        self.parameters.append((name, handle))
        self.sources.append(handle)
        return handle

    def number(self, name: str, dtype: type[Numeric]) -> Numeric:
        """The next parameter, a number."""
        scalar = ScalarType(dtype)
        self.sources.append((len(self.parameters), scalar))
        self.parameters.append((name, scalar))
        argument = self.numbers[name] = _number(scalar)
        return argument

    def symbol(self, dtype: type[Numeric]) -> Numeric:
        """A number that calls read from the shape of a tensor."""
        symbol = Symbol(SymInt(dtype.width), _number(ScalarType(dtype)), here())
        self.symbols.append(symbol)
        self.sources.append(symbol)
        return symbol.number

    def match(
        self, handle: Handle, dtype: type[Numeric], shape: Sequence, strides: Sequence, align_bytes: int
    ) -> Pointer:
        """The address of `handle`, which from now on is a tensor of this type."""
        handle.type = TensorType(dtype, tuple(map(self._leaf, shape)), tuple(map(self._leaf, strides)), align_bytes)
        handle.matched = here()
        return Pointer(dtype, handle.pointer.address, AddressSpace.gmem, align_bytes)

    def _leaf(self, extent: Any) -> int | SymInt:
        """An extent as calls check it: a number, a symbol, or an unchecked SymInt."""
        number = numeric(extent)
        if number is not None and not is_dynamic(number):
            return int(number.value)
        for symbol in self.symbols:
            if number is not None and symbol.number.value is number.value:
                symbol.is_found = True
                return symbol.leaf
        return SymInt(64)

    def finish(self) -> None:
        """Raise for a symbol that is in no shape and no strides."""
        for symbol in self.symbols:
            if not symbol.is_found:
                raise DSLUserCodeError(
                    "no tensor's shape or strides have this extent, so that no call brings it",
                    place=symbol.place,
                    id="SYMBOL_UNBOUND",
                    fix="use it in T.match_buffer, or take it as a parameter: `n: T.int32`",
                )

    # --- a call ---

    def bind(self, arguments: Sequence[Any]) -> tuple[list[int | float], Binding]:
        """The slots for `arguments`. Raises TypeError or ValueError as TVM FFI does."""
        spelt = ", ".join(f"{name}: {_type_text(kind)}" for name, kind in self.parameters)
        binding = Binding(f"{self.name}({spelt})")
        if len(arguments) != len(self.parameters):
            names = ", ".join(name for name, _ in self.parameters)
            raise DSLUserCodeTypeError(
                f"Mismatched number of arguments when calling: `{binding.call}`, "
                f"expected {len(self.parameters)}, got {len(arguments)}",
                id="CALL_ARGUMENTS",
                fix=f"pass, in this order: {names}" if names else "pass nothing",
            )
        values: dict[int, Any] = {}
        for position, ((name, kind), argument) in enumerate(zip(self.parameters, arguments)):
            binding.position, binding.name = position, name
            try:
                values[position] = self._read(kind, argument, binding)
            except (TypeError, ValueError) as error:
                raise refusal(error, kind, argument, binding.wrong_part) from None
        filled = []
        for source in self.sources:
            if isinstance(source, Symbol):
                filled.append(binding.symbols[source.leaf][0])
            else:
                filled.append(values[source.position if isinstance(source, Handle) else source[0]])
        return filled, binding

    def _read(self, kind: Handle | ScalarType | Absent, argument: Any, binding: Binding) -> Any:
        if isinstance(kind, Absent):
            if argument is not None:
                raise binding.mismatch(TypeError, "", "None", type(argument).__name__)
            return None
        if isinstance(kind, ScalarType):
            _check_number(kind, argument, binding)
            return kind.read(argument, binding)[0]
        if kind.type is None:  # never matched: nothing reads it
            return 0
        view = getattr(argument, "view", None)
        if not isinstance(view, dlpack.View) and not dlpack.is_tensor(argument):
            raise TypeError(
                f"Mismatched type on argument #{binding.position} when calling: `{binding.call}`, "
                f"expected Tensor, got {type(argument).__name__}"
            )
        return kind.type.read(argument, binding)[0]


def _check_number(kind: ScalarType, argument: Any, binding: Binding) -> None:
    """Raise for a Python number that the dtype of a parameter does not hold."""
    if not kind.dtype.is_integer or kind.dtype is Boolean:
        return
    if isinstance(argument, float):
        raise binding.mismatch(TypeError, "", str(kind), "float")
    if isinstance(argument, int) and not kind.dtype.min <= argument <= kind.dtype.max:
        raise binding.mismatch(ValueError, "", f"an {kind}" if str(kind)[0] == "i" else f"a {kind}", argument)


def refusal(error: Exception, kind: Handle | ScalarType | Absent, argument: Any, part: str = "") -> DSLUserCodeError:
    """The error of an argument, or of a part of it ("shape"), at the author's call, with what to pass in its place."""
    if isinstance(error, DSLUserCodeError):
        return error
    is_of_type = isinstance(error, TypeError) or part == "dtype"  # as apache-tvm
    kind_of_error = DSLUserCodeTypeError if is_of_type else DSLUserCodeValueError
    also = ((kind.matched, "its type"),) if isinstance(kind, Handle) and kind.matched is not None else ()
    return kind_of_error(
        error_wording.translated(error.args[0]), fix=_fix(part, kind, argument), also=also, id="CALL_ARGUMENT"
    )


def _fix(part: str, kind: Handle | ScalarType | Absent, argument: Any) -> str:
    if isinstance(kind, Absent):
        return "pass None, which it is specialized to"
    if isinstance(kind, ScalarType):
        return f"pass {'an integer' if kind.dtype.is_integer else 'a number'} that {kind} holds"
    type_ = kind.type
    assert type_ is not None  # a handle that is never matched takes anything
    dtype = error_wording.type_word(type_.dtype)
    if part == "dtype":
        return f'convert it: `x.astype("{dtype}")`'
    if part == "strides":
        return "copy it: `np.ascontiguousarray(x)`"
    if part == "data":
        return "copy it: new allocations are aligned"
    if part in ("shape", "ndim"):
        extents = ", ".join("?" if isinstance(leaf, SymInt) else str(leaf) for leaf in type_.shape)
        same = "; extents of one name are the same in all tensors" if "?" in extents else ""
        return f"pass a tensor of shape ({extents}{',' * (len(type_.shape) == 1)}){same}"
    return f'pass a tensor: `tvm.runtime.tensor(np.array(x, "{dtype}"), device=tvm.cuda(0))`'


def _type_text(kind: Handle | ScalarType | Absent) -> str:
    return str(kind.type or "handle") if isinstance(kind, Handle) else str(kind)


def _number(scalar: ScalarType) -> Numeric:
    """A new argument of the host function being traced, a number."""
    number = _argument(scalar)
    assert isinstance(number, Numeric)
    return number


def _pointer(typed: PointerType) -> Pointer:
    """A new argument of the host function being traced, an address."""
    pointer = _argument(typed)
    assert isinstance(pointer, Pointer)
    return pointer


def _argument(typed: ScalarType | PointerType) -> object:
    host = trace.host()
    assert host.entry is not None
    return trace.load_argument(typed, host.entry.arguments[0], host.slots)


_open: Stack[Signature] = Stack()


def describing(signature: Signature) -> AbstractContextManager[Signature]:
    """While a function is traced, `current()` is its signature."""
    return _open.pushed(signature)


def touched_by_host(buffer: Any) -> None:
    """Note the place where the host part first loads or stores an element of a tensor."""
    signature = _open.top()
    if signature and signature.touched is None and buffer.handle is not None and not trace.in_kernel():
        signature.touched = buffer.name, here()


def check_untouched() -> None:
    """Raise if the host part of a function with a device part has used memory of the GPU."""
    signature = _open.top()
    if signature is not None and signature.touched is not None:
        name, place = signature.touched
        raise DSLUserCodeError(
            f"`{name}` is memory of the GPU, which the host part does not reach",
            place=place,
            id="HOST_PART",
            fix="load and store after T.device_entry()",
        )


def unlaunchable(error: DSLUserCodeError) -> None:
    """Keep the error that the kernel being traced cannot be compiled, to raise it when it is compiled."""
    innermost().unlaunchable = error


def name_of(value: mlir.Value) -> str:
    """The name in readable CUDA of an argument of the function being traced: `A_ptr`, `n`; "" for other host values."""
    signature = innermost()
    for name, kind in signature.parameters:
        if isinstance(kind, Handle) and kind.address == value:
            return f"{kind.buffer_name or name}_ptr"
    named = [*signature.numbers.items(), *((symbol.name, symbol.number) for symbol in signature.symbols)]
    return next((name for name, number in named if number.value == value), "")


def name_symbol(number: Numeric | None, name: str) -> None:
    """Give a symbol the author's name."""
    signature = _open.top()
    for symbol in signature.symbols if signature is not None else ():
        if number is not None and symbol.number is number:
            symbol.name = symbol.name or name


def current(what: str) -> Signature:
    """The signature of the function being traced. Raises DSLUserCodeError after T.device_entry() and outside."""
    if not _open or not trace.active() or trace.in_kernel():
        raise DSLUserCodeError(
            f"{what} belongs to the host part of a T.prim_func", id="HOST_PART", fix="write it before T.device_entry()"
        )
    return innermost()


def innermost() -> Signature:
    """The signature of the function being traced."""
    signature = _open.top()
    assert signature is not None
    return signature


def row_major(shape: Sequence) -> list:
    """The strides, in elements, of a tensor without gaps whose last mode is contiguous."""
    strides: list = [1] * len(shape)
    for mode in range(len(shape) - 2, -1, -1):
        strides[mode] = strides[mode + 1] * shape[mode + 1]
    return strides
