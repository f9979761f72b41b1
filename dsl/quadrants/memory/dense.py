"""The base of fields and arrays: numbers, vectors or matrices in row-major order on the device."""

from __future__ import annotations

import math
import operator
import sys
from types import FrameType
from typing import Any, NoReturn

from dsl.core.number.dtypes import Int32, Int64, Numeric, is_dynamic
from dsl.core.number.operators import operate
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.core.syntax.function_source import is_authors
from dsl.quadrants import runtime
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import (
    InvalidType,
    NotIterable,
    OutOfRange,
    OutOfRangeWhileDebugging,
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
    WrongType,
    WrongValue,
)
from dsl.quadrants.functions.task import active, program
from dsl.quadrants.memory import bounds
from dsl.quadrants.syntax import loops
from dsl.quadrants.syntax.iterate import Domain
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import Element, value_of
from dsl.quadrants.values.matrix import Matrix, in_memory


def indices(key: Any, rank: int) -> tuple:
    """The indices of `container[key]`: none for `[None]` and `[()]`, or a vector. Raises QuadrantsIndexError."""
    key = value_of(key)
    if key is None:
        key = ()
    parts: list = []
    for part in key if isinstance(key, (tuple, list)) else (key,):
        part = value_of(part)
        parts += [value_of(entry) for entry in part.entries] if isinstance(part, Matrix) else [part]
    if len(parts) != rank:
        raise QuadrantsIndexError.at(
            f"a field of {rank} dimension{'s' * (rank != 1)} is indexed by {len(parts)}",
            fix="index it as `x[None]`" if rank == 0 else f"index it as `x[{', '.join('ijklmnop'[:rank])}]`",
        )
    for position, part in enumerate(parts):
        if isinstance(part, slice):
            raise QuadrantsSyntaxError.at(
                "A field or array does not support an index of slice type", fix="write a loop"
            )
        number = types.number(part)
        if number is None or number.is_float:
            type_name = types.name_of(part if number is None else number)
            raise QuadrantsTypeError.at(
                f"indices must be integers, however '{type_name}' is provided as index {position}",
                fix="convert it: `int(x)`",
            )
    return tuple(parts)


def refuse_gradients() -> NoReturn:
    """Raise QuadrantsRuntimeError for needs_grad."""
    raise runtime.QuadrantsRuntimeError(
        "needs_grad is not supported: there is no automatic differentiation here",
        "drop it, and write the derivative as a separate kernel",
    )


class Indexed:
    """Something traced that is indexed by `shape`; extents are ints or Int32."""

    shape: tuple
    element_shape: tuple[int, ...] = ()
    strides: tuple | None = None  # in elements, where they are not row-major
    offset: tuple[int, ...] | None = None
    element_type: types.DataType
    label = "array"

    def in_words(self) -> str:
        """The container in the words of an error."""
        return "an array"

    def base(self) -> Pointer:
        raise NotImplementedError

    def element(self, key: Any) -> Any:
        """The place of one element."""
        index = indices(key, len(self.shape))
        bounds.check(index, self.shape, self.label, self.offset)
        if self.offset:
            index = tuple(
                operate("sub", part, Int32(start)) if isinstance(part, Numeric) else part - start
                for part, start in zip(index, self.offset)
            )
        pointer = self.base()
        flat = self._flat(index)
        inner = math.prod(self.element_shape)
        if inner != 1:
            flat = flat * inner if isinstance(flat, int) else operate("mul", Int64(flat), Int64(inner))
        pointer = pointer + flat
        return in_memory(pointer, self.element_shape) if self.element_shape else Element(pointer)

    def _flat(self, index: tuple) -> Any:
        if not any(map(is_dynamic, (*index, *self.shape, *(self.strides or ())))):
            flat = 0
            for axis, part in enumerate(index):
                flat = flat + int(part) * self.strides[axis] if self.strides else flat * self.shape[axis] + int(part)
            return flat
        if len(index) == 1 and not self.strides:
            return types.number(index[0])
        flat = None
        for axis, part in enumerate(index):
            part = Int64(types.number(part))
            if self.strides:
                term = operate("mul", part, Int64(self.strides[axis]))
                flat = term if flat is None else operate("add", flat, term)
            else:
                flat = part if flat is None else operate("add", operate("mul", flat, Int64(self.shape[axis])), part)
        return flat

    def __iter__(self):
        """Raises: without this method Python would ask for one element after the other without end."""
        self._refuse_iteration()

    def __contains__(self, _value: Any) -> bool:
        self._refuse_iteration()

    def __reversed__(self):
        self._refuse_iteration()

    def _refuse_iteration(self) -> NoReturn:
        if not active():
            raise NotIterable(f"a {type(self).__name__} is not iterable", "iterate over `x.to_numpy()`")
        raise QuadrantsTypeError.at(
            f"the elements of this {self.label} are not known while compiling: Python cannot iterate over them",
            fix=f"loop over its indices: `for {self._names()} in x:`, `x[{self._names()}]`",
        )

    def _names(self) -> str:
        return ", ".join("ijklmnop"[: len(self.shape or (1,))]) or "None"

    def loop_domain(self) -> Domain:
        starts = self.offset or (0,) * len(self.shape)
        return Domain(
            [
                (
                    start,
                    operate("add", types.number(extent), Int32(start))
                    if is_dynamic(extent) and start
                    else extent + start
                    if not is_dynamic(extent)
                    else extent,
                )
                for start, extent in zip(starts, self.shape)
            ]
        )


class Dense(Indexed):
    """A field or an array that Python holds."""

    label = "field"
    unusable: tuple[str, str] | None = None  # why it cannot be used, and what to do

    def __init__(self, dtype: Any, shape: tuple[int, ...] | None, element_shape: tuple[int, ...] = ()):
        element_type = types.of(dtype)
        if element_type is None:
            raise InvalidType(
                f"Invalid dtype {shown(dtype)}: an element type is one of {', '.join(map(str, types.ALL))}",
                f"for example qd.{dtype}"
                if isinstance(dtype, str) and dtype in types.BY_NAME
                else "for example qd.f32",
            )
        self.element_type, self.element_shape = element_type, element_shape
        self.shape = shape
        self.generation = runtime.Runtime.generation
        self._memory: runtime.Memory | None = None

    def in_words(self) -> str:
        return f"a {self.label}"

    @property
    def dtype(self) -> types.DataType:
        return self.element_type

    @property
    def memory(self) -> runtime.Memory:
        """Its memory, made on first use."""
        if self._memory is None:
            if self.shape is None:
                raise runtime.QuadrantsRuntimeError(
                    "These field(s) are not placed", "give it a shape=, or place it: qd.root.dense(qd.i, n).place(x)"
                )
            self.check()
            self._memory = runtime.Memory(self.size_bytes, self._name() or self.label)
        return self._memory

    def _name(self) -> str:
        """The name by which the author's code that runs now has it, as `hist` or `self.hist`; '' where it has none."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if is_authors(frame.f_code.co_filename):
                objects = [item for item in frame.f_locals.items() if hasattr(item[1], "__dict__")]
                held = [(f"{name}.", vars(value)) for name, value in objects]
                for before, names in [("", frame.f_locals), *held, ("", frame.f_globals)]:
                    found = next((name for name, value in tuple(names.items()) if value is self), None)
                    if found is not None:
                        return before + found
            frame = frame.f_back
        return ""

    def check(self) -> None:
        if self.generation != runtime.Runtime.generation:
            raise runtime.QuadrantsRuntimeError(
                f"this {self.label} is gone: qd.init() or qd.reset() was called after it was made",
                "make it again after qd.init()",
            )
        if self.unusable is not None:
            raise runtime.QuadrantsRuntimeError(*self.unusable)

    @property
    def count(self) -> int:
        return math.prod(self.shape) * math.prod(self.element_shape)

    @property
    def size_bytes(self) -> int:
        return self.count * self.element_type.bytes

    def address(self) -> int:
        memory = self.memory
        memory.check()
        return memory.address

    def base(self) -> Pointer:
        """Its address, the same at every call."""
        if self.shape is None:
            self.memory  # noqa: B018 - the first read places it
        return program().pointer(self, self.element_type.core, self.address)

    # --- elements in Python ---

    def _offset_bytes(self, key: Any) -> int:
        index = tuple(operator.index(part) for part in indices(key, len(self.shape)))
        starts = self.offset or (0,) * len(index)
        flat = 0
        for part, start, extent in zip(index, starts, self.shape):
            if not 0 <= part - start < extent:
                raise (OutOfRangeWhileDebugging if runtime.check().debug else OutOfRange)(
                    f"index {part} is out of bounds of an axis from {start} to {start + extent - 1}",
                    f"use {start} to {start + extent - 1}"
                    if part >= 0
                    else "count from the front: no index is negative",
                )
            flat = flat * extent + part - start
        return flat * math.prod(self.element_shape) * self.element_type.bytes

    def __getitem__(self, key: Any) -> Any:
        if self.shape is None:
            self.memory  # noqa: B018 - the first read places it
        if active():
            return self.element(key)
        at, size_bytes = self._offset_bytes(key), self.element_type.bytes
        count = math.prod(self.element_shape)
        data = self.memory.read(at, size_bytes * count)
        values = [runtime.unpack(self.element_type, data[k * size_bytes : (k + 1) * size_bytes]) for k in range(count)]
        return HostMatrix(self, key, values) if self.element_shape else values[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.shape is None:
            self.memory  # noqa: B018 - the first read places it
        if not self.element_shape:
            values = [value]
        else:
            values = (
                value.entries
                if isinstance(value, Matrix)
                else Matrix(value).entries
                if isinstance(value, (list, tuple)) or hasattr(value, "tolist")
                else [value] * math.prod(self.element_shape)
            )
        self.memory.write(self._offset_bytes(key), b"".join(runtime.pack(self.element_type, each) for each in values))

    # --- all at once ---

    def fill(self, val: Any) -> None:
        """Give every element this value."""
        if active():

            def body(index: Any) -> tuple:
                self.element(index).store(val)
                return ()

            loops.for_(lambda: self.loop_domain().grouped(), body, (), (), 1, False)
            return
        if self.element_shape and isinstance(val, (Matrix, list, tuple)):
            entries = Matrix(val).entries
            if len(entries) != math.prod(self.element_shape):
                raise WrongValue(
                    f"the elements of this {self.label} have the shape {self.element_shape}, got "
                    f"{described(Matrix(val))}",
                    "give as many numbers, or one for all",
                )
            one = b"".join(runtime.pack(self.element_type, each) for each in entries)
            self.memory.write(0, one * math.prod(self.shape))
        else:
            self.memory.write(0, runtime.pack(self.element_type, val) * self.count)

    def _dims(self, keep: bool) -> tuple[int, ...]:
        """The axes of an element: with `keep` a vector is a matrix of one column, without a column is a vector."""
        dims = (*self.element_shape, 1) if len(self.element_shape) == 1 else self.element_shape
        return dims if keep or dims[-1:] != (1,) else dims[:-1]

    def to_numpy(self, dtype=None, keep_dims: bool = False, *, copy: bool | None = True):
        """The values as a numpy array; elements that are vectors or matrices are the last axes, and a column is a
        vector unless `keep_dims`. `dtype`: of the array. It is a copy; with `copy=False` it is the memory itself, and
        with `copy=None` that where it can be. Raises WrongValue where it cannot."""
        import numpy

        self._placed()
        if not copy:
            wanted = self.element_type if dtype is None else types.of(dtype)
            if wanted is self.element_type and (view := self.memory.view()) is not None:
                array = numpy.frombuffer(view, self.element_type.numpy_name, self.count)
                return array.reshape(self.shape + self._dims(keep_dims))
            if copy is False:
                raise WrongValue(
                    f"copy=False: the memory of this {self.label} cannot be an array"
                    + (f" of {shown(dtype)}" if wanted is not self.element_type else " of this process"),
                    "copy=None copies where it must",
                )
        array = numpy.empty(self.shape + self.element_shape, self.element_type.numpy_name)
        if array.size:
            self.memory.copy_out(array.ctypes.data, self.size_bytes)
        array = array.reshape(self.shape + self._dims(keep_dims))
        return array if dtype is None else array.astype(element.numpy_name if (element := types.of(dtype)) else dtype)

    def from_numpy(self, arr) -> None:
        """Copy the values of a numpy array of this shape."""
        import numpy

        arr = numpy.asarray(arr)
        self._placed()
        shape = self.shape + self._dims(False)
        if arr.shape not in (shape, self.shape + self._dims(True)):
            raise WrongValue(
                f"the array must have the shape of the {self.label}, {shape}, got {arr.shape}", "reshape the array"
            )
        arr = numpy.ascontiguousarray(arr, self.element_type.numpy_name)
        if arr.size:
            self.memory.copy_in(arr.ctypes.data, self.size_bytes)

    def _placed(self) -> None:
        """Raise QuadrantsRuntimeError where it has no memory."""
        if self.shape is None or self.unusable is not None:
            self.memory  # noqa: B018 - the first read places it

    def to_torch(self, device=None, keep_dims: bool = False, *, copy: bool | None = True):
        """The values as a torch tensor, shaped and copied as `to_numpy` does."""
        import torch

        tensor = torch.from_numpy(self.to_numpy(keep_dims=keep_dims, copy=copy))
        return tensor if device is None else tensor.to(device)

    def from_torch(self, arr) -> None:
        """Copy the values of a torch tensor of this shape."""
        self.from_numpy(arr.detach().cpu().numpy())

    def copy_from(self, other: Dense) -> None:
        """Copy the values of a field or array of this shape."""
        if not isinstance(other, Dense):
            raise WrongType(
                f"a {self.label} is copied from a field or array, got {described(other)}",
                "from_numpy takes numpy arrays, from_torch tensors",
            )
        if other.shape != self.shape or other.element_shape != self.element_shape:
            raise WrongValue(
                f"the {other.label} must have the shape of the {self.label}, {self.shape}, got {other.shape}",
                "copy between equal shapes",
            )
        self.from_numpy(other.to_numpy(keep_dims=True))

    def __len__(self) -> int:
        return self.shape[0]

    __hash__ = object.__hash__

    def __eq__(self, other) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.element_type} {self.shape}>"


def refuse_in_kernel(name: str) -> None:
    """Raise while a kernel is traced: it would get new memory each time it is compiled, and keep it."""
    if active():
        raise QuadrantsCompilationError.at(
            f"{name} cannot be called in a kernel: memory is made before a kernel runs",
            fix="make it before the kernel, in Python",
        )


class HostMatrix(Matrix):
    """An element of a field of matrices, in Python: an assignment to an entry changes the field."""

    def __init__(self, owner: Dense, key: Any, values: list):
        super().__init__(values, shape=owner.element_shape)
        object.__setattr__(self, "owner", owner)
        object.__setattr__(self, "key", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.owner[self.key] = self
