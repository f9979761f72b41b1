"""What an author passes to a jit function: numbers, tensors real and fake, pointers, streams, symbols, containers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dsl.core.errors import DSLUserCodeRuntimeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Float, Float32, Int32, Integer, Numeric, NumericMeta, of_python
from dsl.core.number.pointer import AddressSpace, natural_alignment
from dsl.launch.argument import abi, containers, dlpack
from dsl.launch.argument.abi import PointerType, ScalarType, StreamType, SymInt, TensorType
from dsl.layout import ComposedLayout, Layout


def sym_int(width: int = 32, *, divisibility: int = 1, symbol: str | None = None) -> SymInt:
    """An extent or stride that a later call brings; the same object used twice must get equal values."""
    if width not in (32, 64):
        raise DSLUserCodeValueError(f"a symbol is 32 or 64 bits wide, not {width}", fix="sym_int(32) or sym_int(64)")
    return SymInt(width, divisibility, symbol)


def sym_int32(divisibility: int = 1, symbol: str | None = None) -> SymInt:
    """`sym_int` of 32 bits."""
    return sym_int(32, divisibility=divisibility, symbol=symbol)


def sym_int64(divisibility: int = 1, symbol: str | None = None) -> SymInt:
    """`sym_int` of 64 bits."""
    return sym_int(64, divisibility=divisibility, symbol=symbol)


class RuntimeTensor:
    """A tensor of another library with the layout it shall have as an argument: static, until marked dynamic."""

    def __init__(self, source: Any, assumed_align: int | None, use_32bit_stride: bool):
        self.source = source
        self.view = dlpack.view(source)
        self.shape, self.stride = self.view.shape, self.view.strides
        self.memspace = AddressSpace.gmem
        self.assumed_align = _alignment(assumed_align, self.view.dtype)
        self._shape: list[int | SymInt] = list(self.shape)
        self._stride: list[int | SymInt] = list(self.stride)
        self._stride_width = 32 if use_32bit_stride else 64
        self._type: TensorType | None = None

    @property
    def element_type(self) -> type[Numeric]:
        """What its elements are read as. Another type may be assigned, not wider;
        extents and strides stay, as upstream."""
        return self.view.dtype

    @element_type.setter
    def element_type(self, dtype: type[Numeric]) -> None:
        if not isinstance(dtype, NumericMeta) or dtype.storage_width > self.view.dtype.storage_width:
            raise DSLUserCodeTypeError(
                f"elements of {self.view.dtype} cannot be read as {dtype}",
                fix=f"assign a type of {self.view.dtype.width} bits or fewer",
            )
        self.view, self._type = replace(self.view, dtype=dtype), None

    dtype = element_type

    @property
    def data_ptr(self) -> int:
        return self.view.address

    @property
    def leading_dim(self) -> int | None:
        """The mode of stride 1 (the one with more than one element, where several have it)."""
        unit = [mode for mode, stride in enumerate(self.stride) if stride == 1]
        return next((mode for mode in unit if self.shape[mode] > 1), unit[0] if len(unit) == 1 else None)

    def argument_type(self) -> TensorType:
        """How it is passed: which extents and strides are static."""
        if self._type is None:
            self._type = TensorType(
                self.element_type,
                tuple(self._shape),
                tuple(self._stride),
                self.assumed_align,
                self.memspace,
                on_host=not getattr(self.source, "is_cuda", False),
            )
        return self._type

    def __repr__(self) -> str:
        return f"Tensor<{self.view.address:#x}@{self.memspace.name} o {self.argument_type().layout_text()}>"

    def mark_layout_dynamic(self, leading_dim: int | None = None) -> RuntimeTensor:
        """Make extents and strides dynamic, but for the stride 1 of the leading mode and strides 0; returns self."""
        rank = len(self.shape)
        if leading_dim is not None:
            if not -rank <= leading_dim < rank:
                raise DSLUserCodeRuntimeError(
                    f"Expected leading_dim to be in range [0, {rank}) or [{-rank}, -1], but got {leading_dim}.",
                    fix="count modes from 0",
                )
            leading_dim %= rank
            if self.stride[leading_dim] != 1:
                raise DSLUserCodeRuntimeError(
                    f"Expected strides[leading_dim] == 1, but got {self.stride[leading_dim]}.",
                    fix=f"the strides are {self.stride}: name the mode of stride 1",
                )
        else:
            leading_dim = self.leading_dim
            if leading_dim is None and self.stride.count(1) > 1:
                raise DSLUserCodeRuntimeError(
                    "Can't deduce the leading dimension from layout (multiple dimensions have stride 1 but none has "
                    "size > 1), please specify leading_dim explicitly.",
                    fix="mark_layout_dynamic(leading_dim=...)",
                )
        for mode in range(rank):
            self._shape[mode] = SymInt(32)
            if mode != leading_dim and self.stride[mode] != 0:
                self._stride[mode] = SymInt(self._stride_width)
        self._type = None
        return self

    def mark_compact_shape_dynamic(
        self, mode: int, stride_order: Sequence[int] | None = None, divisibility: int = 1
    ) -> RuntimeTensor:
        """Make the extent of `mode` dynamic, a multiple of `divisibility`, and the strides that depend on it.

        `stride_order` lists the modes from the outermost (greatest stride) to the innermost, as torch's dim_order().
        Returns self.
        """
        rank = len(self.shape)
        if not 0 <= mode < rank:
            raise DSLUserCodeRuntimeError(
                f"Expected mode value to be in range [0, {rank}), but got {mode}.", fix="count modes from 0"
            )
        order = self._stride_order(stride_order)
        if self.shape[mode] % divisibility:
            raise DSLUserCodeRuntimeError(
                f"The shape({self.shape[mode]}) of mode({mode}) is not divisible by the divisibility({divisibility}).",
                fix="leave out divisibility, or give a divisor of the extent",
            )
        self._shape[mode] = SymInt(32, divisibility)
        stride, past = 1, False
        for inner in reversed(order):
            if past and self.stride[inner] != 0:
                self._stride[inner] = SymInt(self._stride_width, stride)
            extent = self._shape[inner]
            stride *= extent.divisibility if isinstance(extent, SymInt) else extent
            past = past or inner == mode
        self._type = None
        return self

    def _stride_order(self, stride_order: Sequence[int] | None) -> list[int]:
        rank = len(self.shape)
        deduced = sorted(range(rank), key=lambda mode: (-self.stride[mode], mode))
        if stride_order is None:
            return deduced
        order = list(stride_order)
        if sorted(order) != list(range(rank)):
            raise DSLUserCodeRuntimeError(
                f"Expected stride_order to be a permutation of range({rank}), got {order}.",
                fix="give each mode its place: (1, 0) is row-major",
            )
        strides = [self.stride[mode] for mode in order if self.shape[mode] != 1]
        if strides != sorted(strides, reverse=True):
            raise DSLUserCodeRuntimeError(
                "The stride_order is not consistent with the deduced stride_order.",
                fix=f"the strides are {self.stride}: stride_order={tuple(deduced)}",
            )
        return order


def from_dlpack(
    tensor_dlpack: Any,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    *,
    enable_tvm_ffi: bool = False,
    force_tf32: bool = False,
) -> RuntimeTensor:
    """A tensor of torch, numpy or any library with DLPack as an argument, without a copy; its layout is static."""
    if force_tf32:
        raise DSLUserCodeRuntimeError(
            "force_tf32 is not supported: TFloat32 has no element type here yet", fix="leave it out"
        )
    if not dlpack.is_tensor(tensor_dlpack):
        raise DSLUserCodeTypeError(
            f"from_dlpack takes a tensor, but {type(tensor_dlpack).__name__} does not support DLPack",
            fix="give a torch tensor or a numpy array",
        )
    source = dlpack.without_gradient(tensor_dlpack) if enable_tvm_ffi else tensor_dlpack
    return RuntimeTensor(source, assumed_align, use_32bit_stride)


def _alignment(assumed_align: int | None, dtype: type[Numeric]) -> int:
    if assumed_align is None:
        return natural_alignment(dtype)
    if not isinstance(assumed_align, int) or assumed_align < 1 or assumed_align & (assumed_align - 1):
        raise DSLUserCodeValueError(
            f"assumed_align must be a power of two in bytes, got {assumed_align!r}", fix="write 4, 8, 16, ..."
        )
    return assumed_align


class FakeTensor:
    """A tensor known by its type only; what is compiled for it is later called with real ones."""

    def __init__(self, type_: TensorType):
        self._type = type_
        self.element_type = self.dtype = type_.dtype
        self.shape, self.stride, self.memspace = type_.shape, type_.stride, type_.space

    def argument_type(self) -> TensorType:
        return self._type

    def __repr__(self) -> str:
        return f"FakeTensor<{self.dtype}, {self.shape}, {self.stride}>"


def make_fake_tensor(
    dtype: type[Numeric],
    shape: Sequence[int | SymInt],
    stride: Sequence[int | SymInt],
    *,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
) -> FakeTensor:
    """A fake tensor of explicit strides."""
    shape, stride = tuple(shape), tuple(stride)
    if len(shape) != len(stride):
        raise DSLUserCodeValueError(
            f"shape {shape} has rank {len(shape)}, but stride {stride} has rank {len(stride)}",
            fix="give one stride an extent",
        )
    for leaf in shape + stride:
        if isinstance(leaf, bool) or not isinstance(leaf, (int, SymInt)):
            raise DSLUserCodeTypeError(
                f"an extent or stride must be an int or a sym_int(), got {leaf!r}",
                fix="write an int, or sym_int() for one that is known at run time",
            )
    return FakeTensor(TensorType(dtype, shape, stride, _alignment(assumed_align, dtype), AddressSpace(memspace)))


def make_fake_compact_tensor(
    dtype: type[Numeric],
    shape: Sequence[int | SymInt],
    *,
    stride_order: Sequence[int] | None = None,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
) -> FakeTensor:
    """A fake tensor without gaps. `stride_order[mode]` ranks the strides, 0 the smallest: (1, 0) is row-major.

    The default is column-major, as upstream.
    """
    shape = tuple(shape)
    order = tuple(range(len(shape))) if stride_order is None else tuple(stride_order)
    if len(order) != len(shape):
        raise DSLUserCodeValueError(
            f"stride_order ({order}) must be empty or have same length as shape ({shape}).",
            fix="give each mode its place: (1, 0) is row-major",
        )
    if sorted(order) != list(range(len(shape))):
        raise DSLUserCodeValueError(
            f"stride_order must be a permutation of range({len(shape)}), got ({order})",
            fix="give each mode its place: (1, 0) is row-major",
        )
    stride: list[int | SymInt] = [0] * len(shape)
    step: int | SymInt = 1
    for mode in sorted(range(len(shape)), key=lambda mode: order[mode]):
        stride[mode], extent = step, shape[mode]
        if isinstance(step, int) and isinstance(extent, int):
            step *= extent
        else:
            divisors = [part.divisibility if isinstance(part, SymInt) else part for part in (step, extent)]
            step = SymInt(32 if use_32bit_stride else 64, divisors[0] * divisors[1])
    return make_fake_tensor(dtype, shape, stride, memspace=memspace, assumed_align=assumed_align)


class FakeStream:
    """A stream known by its type only."""

    def __init__(self, from_environment: bool):
        self.from_environment = from_environment

    def argument_type(self) -> StreamType:
        return StreamType(self.from_environment)

    def __repr__(self) -> str:
        return "FakeStream"


def make_fake_stream(*, use_tvm_ffi_env_stream: bool = False) -> FakeStream:
    """A placeholder for a CUstream; with `use_tvm_ffi_env_stream` the call takes none and uses the current one."""
    return FakeStream(use_tvm_ffi_env_stream)


class RuntimePointer:
    """An address as an argument."""

    def __init__(self, dtype: type[Numeric], address: int, space: AddressSpace, alignment_bytes: int):
        self.dtype = self.element_type = self.value_type = dtype
        self.address, self.memspace, self.alignment_bytes = address, space, alignment_bytes

    def argument_type(self) -> PointerType:
        return PointerType(self.dtype, self.memspace, self.alignment_bytes)

    def toint(self) -> int:
        return self.address

    def __repr__(self) -> str:
        return f"Ptr<{self.address:#018x}@{self.memspace.name}>"


def make_ptr(
    dtype: type[Numeric],
    value: int | Any,
    mem_space: AddressSpace = AddressSpace.generic,
    assumed_align: int | None = None,
) -> RuntimePointer:
    """A typed pointer from an address or a ctypes pointer; its address must have the alignment that is assumed."""
    if isinstance(value, ctypes._Pointer):
        value = ctypes.cast(value, ctypes.c_void_p).value or 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise DSLUserCodeTypeError(
            f"Expect int or ctypes.POINTER for value but got type(value)={type(value)}",
            fix="give the address as an int: `tensor.data_ptr()`",
        )
    alignment_bytes = _alignment(assumed_align, dtype)
    if value % alignment_bytes:
        raise DSLUserCodeValueError(
            f"pointer must be {alignment_bytes} bytes aligned, got {value:#x}",
            fix="assume a smaller alignment: assumed_align=",
        )
    return RuntimePointer(dtype, value, AddressSpace(mem_space), alignment_bytes)


def nullptr(
    dtype: type[Numeric], mem_space: AddressSpace = AddressSpace.generic, assumed_align: int | None = None
) -> RuntimePointer:
    """The null pointer as an argument."""
    return make_ptr(dtype, 0, mem_space, assumed_align)


# --- types of arguments ----------------------------------------------------------------------------------------------


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor: of another library, from_dlpack's, or a fake one (a numpy scalar is a number)."""
    ours = isinstance(value, (RuntimeTensor, FakeTensor))
    return ours or (dlpack.is_tensor(value) and getattr(value, "shape", ()) != ())


def is_typed(argument: Any) -> bool:
    """Whether `argument` is a type that a call brings values of (and not a static value)."""
    return hasattr(argument, "slot_formats")


FAMILIES = (Numeric, Integer, Float)  # annotations that any number of theirs fits, as it is


def typed(value: Any, annotation: Any = None, marker: type | None = None) -> Any:
    """The type `value` is passed as, or `value` itself where it can only be part of the code.

    A tensor of another library, passed as it is, has a dynamic layout (`mark_layout_dynamic`). A number takes the
    annotated type (a Python number for an unsigned one the signed type of that width), else a Python number is Int32,
    Float32 or Boolean. In a container what a field annotates with `marker` is static.
    """
    from dsl.launch.argument import author_protocols

    annotation = containers.number_in(annotation)
    if hasattr(value, "argument_type"):
        return value.argument_type()
    annotation = Float32 if annotation is Float and of_python(value) else annotation
    wanted = annotation if isinstance(annotation, NumericMeta) and annotation not in FAMILIES else None
    if isinstance(value, Numeric):
        return ScalarType(wanted or type(value))
    if _is_stream(value) or _is_stream_type(annotation):
        return StreamType()
    number = value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value
    if of_python(number):
        if containers.keeps_ints(annotation):
            return value
        if wanted and type(value) in (bool, int, float) and abi.as_python_number(wanted) is not wanted:
            return ScalarType(abi.as_python_number(wanted), wanted)
        return ScalarType(wanted or _numpy_type(value) or (Int32 if type(number) is int else of_python(number)))
    if dlpack.is_tensor(value):
        return from_dlpack(value).mark_layout_dynamic().argument_type()
    if isinstance(value, (Layout, ComposedLayout)):
        return containers.LayoutType.of(value) or value
    return author_protocols.typed(value) or _container(value, annotation, marker) or value


def _is_stream(value: Any) -> bool:
    return type(value).__name__ == "CUstream" or hasattr(value, "cuda_stream")


def _is_stream_type(annotation: Any) -> bool:
    return isinstance(annotation, type) and annotation.__name__ == "CUstream"


def _numpy_type(value: Any) -> type[Numeric] | None:
    return next((dtype for dtype in dlpack.DTYPES if dtype.numpy_name == type(value).__name__), None)


def _container(value: Any, annotation: Any, marker: type | None) -> abi.ContainerType | None:
    """The type of a container with something typed in it, else None."""
    parts = containers.parts_of(value)
    if parts is None:
        return None
    types = tuple(_part(part, hint, marker) for part, hint in zip(parts.of(value), containers.hints(parts, annotation)))
    if all(isinstance(part, abi.Static) for part in types):
        return None
    return abi.ContainerType(type(value), parts.names, types, parts.of, parts.make)


def _part(value: Any, annotation: Any, marker: type | None) -> Any:
    if marker is not None and annotation is marker:
        return abi.Static(value)
    typed_part = typed(value, annotation, marker)
    return typed_part if is_typed(typed_part) else abi.Static(value)


def _from_environment(type_: Any) -> bool:
    return isinstance(type_, StreamType) and type_.from_environment


class Signature:
    """The parameters of a compiled function that calls may bring: typed ones, and static ones, to be checked.

    A call brings all of them in order or by name, or the typed ones alone. What it leaves out has its default, where it
    has one, or the static value it was compiled with.
    """

    def __init__(self, function: str, names: Sequence[str], types: Sequence[Any], defaults: dict | None = None):
        self.function, self.names, self.defaults = function, list(names), defaults or {}
        self.types = [type_ if is_typed(type_) else abi.Static(type_) for type_ in types]

    @property
    def _typed(self) -> list[tuple[str, Any]]:
        return [(name, type_) for name, type_ in zip(self.names, self.types) if not isinstance(type_, abi.Static)]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(f'{name}: {type_}' for name, type_ in self._typed)})"

    def bind(self, values: Sequence[Any], keywords: dict | None = None) -> tuple[list, abi.Binding]:
        """Slot values of a call, and its binding, which holds the storages. Raises TypeError or ValueError."""
        brought = self._brought(list(values), dict(keywords or {}))
        binding, slots = abi.Binding(str(self)), []
        for position, (name, type_, value) in enumerate(zip(self.names, self.types, brought)):
            binding.position, binding.name = position, name
            slots += type_.read(value, binding)
        return slots, binding

    def _brought(self, values: list, keywords: dict) -> list:
        """A value for every parameter. Raises TypeError for one too many or too few."""
        places = [place for place, type_ in enumerate(self.types) if not _from_environment(type_)]
        typed_places = [place for place in places if not isinstance(self.types[place], abi.Static)]
        if len(values) + len(keywords) == len(typed_places) < len(places):
            places = typed_places
        by_place = dict(zip(places, values))
        for place in places[len(values) :]:
            name, type_ = self.names[place], self.types[place]
            if name in keywords:
                by_place[place] = keywords.pop(name)
            elif isinstance(type_, abi.Static):
                by_place[place] = type_.value
            elif name in self.defaults:
                by_place[place] = self.defaults[name]
        missing = [self.names[place] for place in typed_places if place not in by_place]
        if missing or keywords or len(values) > len(places):
            got = f"{len(values)}" + f" and {', '.join(keywords)}" * bool(keywords)
            lacking = f", {', '.join(missing)} missing" * bool(missing)
            raise TypeError(
                f"Expects {len(typed_places)} arguments when calling: `{self}`, got {got}{lacking}; "
                "static ones are part of the code"
            )
        return [
            by_place[place] if place in by_place else self._left_out(type_) for place, type_ in enumerate(self.types)
        ]

    @staticmethod
    def _left_out(type_: Any) -> Any:
        return type_.value if isinstance(type_, abi.Static) else None
