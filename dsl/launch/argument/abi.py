"""The types of arguments: the slots of each in the argument block, its traced value, and what a call must bring.

A tensor is a pointer slot, then a slot for each dynamic extent, then one for each dynamic stride.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError, warn
from dsl.core.ir import mlir
from dsl.core.number.dtypes import BFloat16, Boolean, Int8, Int16, Int32, Int64, Numeric, Uint8, Uint16, Uint32, Uint64
from dsl.core.number.float_formats import FORMATS
from dsl.core.number.pointer import AddressSpace, Pointer, natural_alignment
from dsl.core.phrase import Phrase, shown
from dsl.launch.argument import dlpack
from dsl.launch.argument.symbolic_int import SymInt
from dsl.layout import Layout
from dsl.tile.tensor.tensor import Tensor

if TYPE_CHECKING:
    from dsl.tile.tensor.tensor import Tensor


class ArgumentType(Protocol):
    """How an argument is passed."""

    def slot_formats(self) -> str:
        """The struct letter of each 8-byte slot."""
        ...

    def read(self, value: Any, binding: Binding) -> list:
        """The slots' values for a call's argument. Raises TypeError or ValueError for one of another type."""
        ...

    def rebuild(self, values: Sequence[mlir.Value]) -> Any:
        """The object that the traced function gets, made of the SSA values of the slots."""
        ...


def of_the_call(error: Exception, fix: str) -> Exception:
    """An error of a call that the author wrote, with its fix as a note, because TVM FFI has no fix in the text."""
    error.add_note(f"fix: {fix}")
    vars(error)["is_authors"] = True  # for harness/run/runner.py
    return error


@dataclass
class Binding:
    """One call being read: what it is for error texts, the values of symbols, and the storages kernels may touch."""

    call: str = ""  # "f(a: Tensor([4], float32), n: int32)"
    position: int = 0
    name: str = "argument"
    symbols: dict[SymInt, tuple[int, str]] = field(default_factory=dict)
    storages: list[tuple[int, int, str]] = field(default_factory=list)  # address, bytes, label
    owners: list[Any] = field(default_factory=list)
    wrong_part: str = ""  # of the argument that did not fit: "shape", or "" for all of it

    def mismatch(self, error: type[Exception], part: str, expected: Any, got: Any) -> Exception:
        """The error of argument part `part` ("shape[0]", or "" for the argument itself)."""
        what = f"{self.name}.{part}" if part else self.name
        self.wrong_part = part.partition("[")[0]
        found = error(
            Phrase(
                "Mismatched {what} on argument #{position} when calling: `{call}`, "
                "expected to be {expected}, got {got}",
                what=what,
                position=self.position,
                call=self.call,
                expected=expected,
                got=got,
            )
        )
        return of_the_call(found, self._fix(part, expected))

    def _fix(self, part: str, expected: Any) -> str:
        """The fix of an argument whose `part` does not fit."""
        if self.wrong_part == "dtype":
            return f"pass elements of {expected}, or compile the function again with an argument like this one"
        if self.wrong_part in ("shape", "strides", "ndim") and not isinstance(expected, int):
            return f"pass one whose {part} is {expected}"
        if self.wrong_part in ("shape", "strides", "ndim"):
            return (
                "pass one like the argument that it was compiled with, or compile it again with this one; "
                "`from_dlpack(tensor).mark_layout_dynamic()` leaves extents and strides to each call"
            )
        if self.wrong_part == "data":
            return "pass memory with this alignment, or compile it with `from_dlpack(tensor, assumed_align=4)`"
        return f"pass {expected.__name__ if isinstance(expected, type) else expected} as `{self.name}`"

    def bind(self, leaf: SymInt, value: int, part: str) -> None:
        """Take `value` for a symbol. Raises ValueError if it is not a multiple, too wide, or not as before."""
        if value % leaf.divisibility:
            raise self.mismatch(ValueError, part, f"a multiple of {leaf.divisibility}", value)
        if not -(1 << (leaf.width - 1)) <= value < 1 << (leaf.width - 1):
            raise self.mismatch(ValueError, part, f"an int{leaf.width}", value)
        bound, where = self.symbols.setdefault(leaf, (value, f"{self.name}.{part}"))
        if bound != value:
            raise self.mismatch(ValueError, part, f"{bound}, as {where}", value)


def alignment_of(assumed_align: int | None, dtype: type[Numeric]) -> int:
    """The alignment in bytes that is assumed for an address, or else of the type. Raises DSLUserCodeValueError."""
    if assumed_align is None:
        return natural_alignment(dtype)
    if not isinstance(assumed_align, int) or assumed_align < 1 or assumed_align & (assumed_align - 1):
        raise DSLUserCodeValueError(
            f"assumed_align must be a power of two in bytes, got {shown(assumed_align)}", fix="write 4, 8, 16, ..."
        )
    return assumed_align


@dataclass(frozen=True)
class TensorType:
    """A tensor in memory: element type, layout with int (static) or SymInt (dynamic) leaves, known alignment."""

    dtype: type[Numeric]
    shape: tuple[int | SymInt, ...]
    stride: tuple[int | SymInt, ...]
    alignment_bytes: int
    space: AddressSpace = AddressSpace.gmem
    on_host: bool = False

    def _dynamic(self) -> list[SymInt]:
        return [leaf for leaf in self.shape + self.stride if isinstance(leaf, SymInt)]

    def slot_formats(self) -> str:
        return "P" + "".join("q" if leaf.width == 64 else "i" for leaf in self._dynamic())

    def layout_text(self) -> str:
        def text(leaves: tuple) -> str:
            return f"({','.join(map(str, leaves))})"

        return f"{text(self.shape)}:{text(self.stride)}"

    def __str__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], {self.dtype.__name__.lower()})"

    def rebuild(self, values: Sequence[mlir.Value]) -> Tensor:
        remaining = iter(values)
        pointer = PointerType(self.dtype, self.space, self.alignment_bytes).rebuild([next(remaining)])
        pointer.on_host = self.on_host
        shape, stride = (
            tuple(leaf.rebuild(next(remaining)) if isinstance(leaf, SymInt) else leaf for leaf in leaves)
            for leaves in (self.shape, self.stride)
        )
        return Tensor(pointer, Layout(shape, stride))

    def read(self, value: Any, binding: Binding) -> list[int]:
        view = getattr(value, "view", None)
        if not isinstance(view, dlpack.View):
            if not dlpack.is_tensor(value):
                raise binding.mismatch(TypeError, "", "a tensor", type(value).__name__)
            view = dlpack.view(value)
        self._check(view, binding)
        binding.storages.append((*view.storage, binding.name))
        binding.owners.append(view)
        slots = [view.address]
        for leaves, actual in ((self.shape, view.shape), (self.stride, view.strides)):
            slots += [number for leaf, number in zip(leaves, actual) if isinstance(leaf, SymInt)]
        return slots

    def _check(self, view: dlpack.View, binding: Binding) -> None:
        if view.dtype is not self.dtype:
            raise binding.mismatch(ValueError, "dtype", self.dtype, view.dtype)
        if len(view.shape) != len(self.shape):
            raise binding.mismatch(ValueError, "ndim", len(self.shape), len(view.shape))
        if view.address % self.alignment_bytes:
            raise binding.mismatch(ValueError, "data", f"{self.alignment_bytes} bytes aligned", f"{view.address:#x}")
        for mode, (leaf, extent) in enumerate(zip(self.shape, view.shape)):
            self._check_leaf(leaf, extent, f"shape[{mode}]", binding)
        for mode, (leaf, stride) in enumerate(zip(self.stride, view.strides)):
            if view.shape[mode] > 1:  # the stride of a single element is never used
                self._check_leaf(leaf, stride, f"strides[{mode}]", binding)

    def _check_leaf(self, leaf: int | SymInt, actual: int, part: str, binding: Binding) -> None:
        if isinstance(leaf, SymInt):
            binding.bind(leaf, actual, part)
        elif leaf != actual:
            raise binding.mismatch(ValueError, part, leaf, actual)


_SIGNED = {Uint8: Int8, Uint16: Int16, Uint32: Int32, Uint64: Int64}


def as_python_number(annotation: type[Numeric]) -> type[Numeric]:
    """The type that a Python number has for a parameter of this type:
    of an unsigned one the signed one, as upstream."""
    return _SIGNED.get(annotation, annotation)


def warn_of_sign(passed: int | float, annotation: type[Numeric], becomes: int, name: str) -> None:
    """Say that a Python number is too large for the signed type it is passed as."""
    signed = as_python_number(annotation)
    warn(
        f"{passed} for the {annotation} `{name}` is passed as {signed}, as every Python number is, and becomes "
        f"{becomes}: pass {annotation}({passed})",
        "TYPE_INT_LITERAL_OUT_OF_RANGE",
    )


@dataclass(frozen=True)
class ScalarType:
    """A number. `annotated` is the unsigned type of a parameter that Python numbers are passed to as signed ones."""

    dtype: type[Numeric]
    annotated: type[Numeric] | None = field(default=None, compare=False)

    def slot_formats(self) -> str:
        if self.dtype.format is None:
            raise DSLUserCodeTypeError(
                f"a {self.dtype} cannot be an argument", fix="pass a wider type and convert it inside"
            )
        return self.dtype.format

    def __str__(self) -> str:
        return self.dtype.__name__.lower()

    def rebuild(self, values: Sequence[mlir.Value]) -> Numeric:
        value = values[0]
        if self.dtype is Boolean:
            value = mlir.result("arith.trunci", mlir.i1, value)
        elif self.dtype is BFloat16:
            value = mlir.result("arith.bitcast", mlir.bf16, value)
        return self.dtype(value)

    def read(self, value: Any, binding: Binding) -> list[int | float]:
        number = value.value if isinstance(value, Numeric) else value
        if hasattr(number, "item") and getattr(number, "shape", None) == ():  # a scalar of numpy
            number = number.item()
        if not isinstance(number, (bool, int, float)):
            raise binding.mismatch(TypeError, "", self.dtype, type(value))
        passed = number
        try:
            number = (self.annotated or self.dtype).wrap(passed)
            number = self.dtype.wrapped(number) if self.annotated else number
        except (OverflowError, ValueError):
            raise binding.mismatch(
                ValueError, "", Phrase("a number that {type} can hold", type=self.dtype), passed
            ) from None
        if self.annotated and number < 0 < passed:
            warn_of_sign(passed, self.annotated, number, binding.name)
        if self.dtype.is_integer and isinstance(passed, float) and passed != int(passed):
            warn(f"{passed} becomes {int(passed)} as the {self.dtype} `{binding.name}`", "TYPE_FLOAT_TRUNCATED")
        if self.dtype is BFloat16:
            return [FORMATS["BFloat16"].encode(number)]
        if self.dtype.is_float:
            return [self.dtype.constant_of(number)]
        return [number]


@dataclass(frozen=True)
class PointerType:
    """An address of `space`."""

    dtype: type[Numeric]
    space: AddressSpace
    alignment_bytes: int

    def slot_formats(self) -> str:
        return "P"

    def __str__(self) -> str:
        return f"Pointer({self.dtype.__name__.lower()})"

    def rebuild(self, values: Sequence[mlir.Value]) -> Pointer:
        value = values[0]
        if self.space is not AddressSpace.gmem:
            value = mlir.result("llvm.addrspacecast", mlir.ptr(self.space), value)
        return Pointer(self.dtype, value, self.space, self.alignment_bytes)

    def read(self, value: Any, binding: Binding) -> list[int]:
        address = getattr(value, "address", value)
        if isinstance(address, bool) or not isinstance(address, int):
            raise binding.mismatch(TypeError, "", "a pointer (make_ptr) or an address", type(value).__name__)
        dtype = getattr(value, "dtype", self.dtype)
        if dtype is not self.dtype:
            raise binding.mismatch(TypeError, "dtype", self.dtype, dtype)
        if address % self.alignment_bytes:
            raise binding.mismatch(ValueError, "", f"{self.alignment_bytes} bytes aligned", f"{address:#x}")
        return [address]


@dataclass(frozen=True)
class StreamType:
    """A CUDA stream: a CUstream or its handle. `from_environment`: a call brings none, torch's current one is used."""

    from_environment: bool = False

    def slot_formats(self) -> str:
        return "Q"

    def __str__(self) -> str:
        return "Stream"

    def rebuild(self, values: Sequence[mlir.Value]) -> Uint64:
        return Uint64(values[0])

    def read(self, value: Any, binding: Binding) -> list[int]:
        if self.from_environment:
            return [_current_stream()]
        try:
            return [int(getattr(value, "cuda_stream", value))]
        except TypeError:
            raise binding.mismatch(TypeError, "", "a CUstream", type(value).__name__) from None


def _current_stream() -> int:
    """torch's current stream, where torch has been on the GPU; else the default one."""
    torch = sys.modules.get("torch")
    return torch.cuda.current_stream().cuda_stream if torch and torch.cuda.is_initialized() else 0


@dataclass(frozen=True)
class Static:
    """A part of a container that is known while compiling; a call may not change it."""

    value: Any

    def slot_formats(self) -> str:
        return ""

    def __str__(self) -> str:
        return repr(self.value)

    def rebuild(self, values: Sequence[mlir.Value]) -> Any:
        return self.value

    def read(self, value: Any, binding: Binding) -> list:
        if value is not self.value and value != self.value:
            raise binding.mismatch(ValueError, "", repr(self.value), repr(value))
        return []
