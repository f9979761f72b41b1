"""Vectors and matrices: numbers in one or two dimensions, computed element by element.

A matrix value holds its numbers; a matrix variable, field element or array element holds their places, so that it can
be assigned, as a whole or by element, and indexed at run time.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.number.dtypes import Int32, Numeric, is_dynamic
from dsl.core.number.operators import operate
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsIndexError, QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.functions.task import active
from dsl.quadrants.memory import bounds
from dsl.quadrants.values import dtypes as types, operators, scalar_functions
from dsl.quadrants.values.assignable import Element, Lvalue, Storage, Variable, value_of

SWIZZLES = ("xyzw", "rgba", "stpq")


class Matrix:
    """`shape` is (n,) of a vector and (n, m) of a matrix; `entries` its numbers or their places, row by row.

    `at`: the place of the entry of a run-time number, if the entries are in memory.
    """

    def __init__(self, arr, dt: Any = None, *, shape: tuple[int, ...] | None = None, at: Callable | None = None):
        if shape is None:
            arr, shape = _parsed(arr)
        dtype = types.of(dt) if dt is not None else None
        self.entries = list(arr) if dtype is None else [dtype(value_of(entry)) for entry in arr]
        self._shape, self._at = tuple(shape), at

    # --- shape ---

    @property
    def n(self) -> int:
        return self._shape[0]

    @property
    def m(self) -> int:
        return self._shape[1] if len(self._shape) > 1 else 1

    @property
    def ndim(self) -> int:
        return len(self._shape)

    def get_shape(self) -> tuple[int, ...]:
        return self._shape

    shape = property(get_shape)

    def __len__(self) -> int:
        return self._shape[0]

    def parts(self) -> list:
        """The numbers of a vector, the rows of a matrix."""
        if len(self._shape) == 1:
            return list(self.entries)
        return [Matrix(self.entries[row * self.m : (row + 1) * self.m], shape=(self.m,)) for row in range(self.n)]

    def __iter__(self):
        return iter(self.parts())

    def __bool__(self) -> bool:
        """Python's own tests (`in`, `sorted`) cannot ask a matrix of a kernel. Raises QuadrantsTypeError there."""
        if active():
            raise QuadrantsTypeError.at("condition must be scalar, got matrix", fix="x.any(), x.all()")
        return True

    def like(self, entries: Sequence) -> Matrix:
        """A value of this shape."""
        return Matrix(entries, shape=self._shape)

    # --- places ---

    def described(self) -> str:
        """Its shape and type in upstream's words: [Tensor (3) i32]."""
        number = types.number(value_of(self.entries[0])) if self.entries else None
        return f"[Tensor ({', '.join(map(str, self._shape))}) {types.name_of(number) if number is not None else '?'}]"

    def in_words(self) -> str:
        """The matrix in the words of an error."""
        return f"a vector of {self.n}" if self.ndim == 1 else f"a {self.n}x{self.m} matrix"

    def load(self) -> Matrix:
        """The value, with every place read."""
        return self.like([value_of(entry) for entry in self.entries])

    def variable(self) -> Matrix:
        """A new variable with this value. Its numbers have one type: the common one of the entries."""
        numbers = [types.number(value_of(entry)) for entry in self.entries]
        if None in numbers:
            wrong = self.entries[numbers.index(None)]
            raise QuadrantsTypeError.at(
                f"the elements of a vector or matrix must be numbers, got {described(wrong)}", "give numbers"
            )
        core = functools.reduce(types.promote, [type(number) for number in numbers if number is not None])
        storage = Storage(core, len(numbers))
        variable = Matrix(
            [Variable(core, None, storage, k) for k in range(len(numbers))],
            shape=self._shape,
            at=lambda index: Variable(core, None, storage, index),
        )
        variable.store(numbers)
        return variable

    def store(self, value: Any) -> None:
        """Assign every element; a number goes to all."""
        source = Matrix(value) if isinstance(value, (list, tuple)) else value
        if isinstance(source, Matrix) and len(source.entries) != len(self.entries):
            raise QuadrantsTypeError.at(
                f"cannot assign '{source.described()}' to '{self.described()}'",
                "give it as many elements, or use another name",
            )
        entries = [value_of(entry) for entry in entries_like(self, value)]
        for place, entry in zip(self.entries, entries):
            if not isinstance(place, Lvalue):
                raise QuadrantsSyntaxError.at(
                    "a vector or matrix value cannot be assigned", fix="assign it to a variable first"
                )
            place.store(entry)

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else tuple(key.entries) if isinstance(key, Matrix) else (key,)
        keys = tuple(_index(part) for part in keys)
        if any(isinstance(part, slice) for part in keys):
            return self._sliced(keys)
        if len(keys) == 1 and len(self._shape) == 2 and not is_dynamic(keys[0]) and not active():
            _check_extent(keys[0], self.n)
            return self.parts()[keys[0]]
        if len(keys) != len(self._shape):
            raise QuadrantsIndexError.at(
                f"Expected {self.ndim} indices, got {len(keys)}",
                "write `v[i]` for an element of a vector"
                if self.ndim == 1
                else "write `m[i, j]` for an element of a matrix, `m[i, :]` for a row",
            )
        if not any(map(is_dynamic, keys)):
            refuse_negative(keys)
            for part, extent in zip(keys, self._shape):
                _check_extent(part, extent)
            flat = 0
            for part, extent in zip(keys, self._shape):
                flat = flat * extent + part % extent
            return self.entries[flat]
        bounds.check(keys, self._shape, "vector" if self.ndim == 1 else "matrix")
        flat = self._flat(keys)
        if self._at is not None:
            return self._at(flat)
        return self.variable()._at(flat)

    def _sliced(self, keys: tuple) -> Matrix:
        """The part that `keys` choose, of which one or more are slices."""
        if len(keys) != len(self._shape):
            raise QuadrantsIndexError.at(
                f"a matrix takes 2 indices or slices, got {len(keys)}"
                if self.ndim == 2
                else f"a vector takes 1 index or slice, got {len(keys)}",
                "write `m[i, :]`" if self.ndim == 2 else "write `v[1:3]`",
            )
        numbers = [part for part in keys if not isinstance(part, slice)]
        refuse_negative(
            [*numbers, *(end for part in keys if isinstance(part, slice) for end in (part.start, part.stop))]
        )
        bounds.check(
            tuple(numbers),
            tuple(extent for part, extent in zip(keys, self._shape) if not isinstance(part, slice)),
            "matrix",
        )
        chosen = [
            list(range(*part.indices(extent))) if isinstance(part, slice) else [part]
            for part, extent in zip(keys, self._shape)
        ]
        for part, extent in zip(keys, self._shape):
            if isinstance(part, int):
                _check_extent(part, extent)
        places = [self._flat(each) for each in itertools.product(*chosen)]
        shape = tuple(len(part) for part, key in zip(chosen, keys) if isinstance(key, slice))
        if not any(map(is_dynamic, places)):
            return Matrix([self.entries[place] for place in places], shape=shape)
        at = self._at or self.variable()._at
        assert at is not None  # a variable is in memory
        return Matrix([at(place) for place in places], shape=shape)

    def _flat(self, keys: Sequence) -> Any:
        """The number of an entry."""
        flat: Any = 0
        for part, extent in zip(keys, self._shape):
            if is_dynamic(part) or is_dynamic(flat):
                flat = operate("add", operate("mul", types.number(flat), Int32(extent)), types.number(part))
            else:
                flat = flat * extent + part
        return flat

    def __setitem__(self, key: Any, value: Any) -> None:
        """In Python: values of a matrix are plain numbers there."""
        place = self[key]
        if isinstance(place, (Lvalue, Matrix)) and active():
            place.store(value)
            return
        keys = tuple(int(part) for part in (key if isinstance(key, tuple) else (key,)))
        flat = 0
        for part, extent in zip(keys, self._shape):
            flat = flat * extent + part % extent
        self.entries[flat] = value

    def __getattr__(self, name: str):
        shape = self.__dict__.get("_shape", (0,))
        for letters in SWIZZLES if len(shape) == 1 else ():
            if name and set(name) <= set(letters[: shape[0]]):
                entries = [self.entries[letters.index(letter)] for letter in name]
                return entries[0] if len(entries) == 1 else Matrix(entries, shape=(len(entries),))
        raise AttributeError(f"'Matrix' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        for letters in SWIZZLES:
            if set(name) <= set(letters):
                for letter, part in zip(name, [value] if len(name) == 1 else list(value)):
                    self[letters.index(letter)] = part
                return
        object.__setattr__(self, name, value)

    # --- arithmetic ---

    def map(self, function: Callable) -> Matrix:
        return self.like([function(value_of(entry)) for entry in self.entries])

    def __matmul__(self, other):
        if not isinstance(other, Matrix) or (self.ndim == 1 and other.ndim == 1 and self.n != other.n):
            raise QuadrantsTypeError.at(
                f"`@` takes two matrices whose inner extents agree, got {described(self)} and {described(other)}",
                "`*` multiplies element by element, `.dot` two vectors",
            )
        left, right = self.load(), other.load()
        inner = left.m if left.ndim == 2 else left.n
        if left.ndim == 1 and right.ndim == 1:
            return left.dot(right)
        if inner != right.n:
            raise QuadrantsTypeError.at(
                f"`@` of {left._shape} and {right._shape}: the inner extents differ",
                "the right operand must have as many rows as the left has columns",
            )
        rows, columns = (left.n if left.ndim == 2 else 1), right.m
        entries = [
            _sum(left.entries[i * inner + k] * right.entries[k * columns + j] for k in range(inner))
            for i in range(rows)
            for j in range(columns)
        ]
        shape = (rows, columns) if right.ndim == 2 else (rows,)
        return Matrix(entries, shape=shape)

    def sum(self):
        return _sum(value_of(entry) for entry in self.entries)

    def _same_vector(self, name: str, other: Any, sizes: tuple[int, ...] = ()) -> None:
        """Raise QuadrantsTypeError unless `other` is a vector of this one's length."""
        if not isinstance(other, Matrix) or other._shape != self._shape or (sizes and self.n not in sizes):
            wanted = " or ".join(map(str, sizes)) + " " if sizes else ""
            raise QuadrantsTypeError.at(
                f"{name} takes two vectors of one length{wanted and ', ' + wanted.strip()}, got "
                f"{described(self)} and {described(other)}",
                "give two such vectors",
            )

    def dot(self, other: Matrix):
        self._same_vector("dot", other)
        return (self * other).sum()

    def cross(self, other: Matrix):
        self._same_vector("cross", other, (2, 3))
        a, b = self.load().entries, other.load().entries
        if self.n == 2:
            return a[0] * b[1] - a[1] * b[0]
        return Vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    def outer_product(self, other: Matrix):
        return Matrix([[a * b for b in other.load().entries] for a in self.load().entries])

    def norm_sqr(self):
        return (self * self).sum()

    def norm(self, eps=0):
        return scalar_functions.sqrt(value_of(self.norm_sqr() + eps if eps else self.norm_sqr()))

    def norm_inv(self, eps=0):
        """1 / norm, of the root of norm_sqr + eps."""
        return 1.0 / self.norm(eps)

    def normalized(self, eps=0):
        return self / (self.norm() + eps)

    def transpose(self):
        if self.ndim == 1:
            raise QuadrantsTypeError.at(
                "`transpose()` cannot apply to a vector. If you want something like `a @ b.transpose()`, write "
                "`a.outer_product(b)` instead.",
                "a.outer_product(b)",
            )
        return Matrix(
            [self.entries[i * self.m + j] for j in range(self.m) for i in range(self.n)], shape=(self.m, self.n)
        ).load()

    def _check_square(self) -> None:
        if self.ndim != 2 or self.n != self.m:
            raise QuadrantsTypeError.at(
                f"expected a square matrix, got shape {self._shape}", "take a square part of it"
            )

    def trace(self):
        self._check_square()
        return _sum(value_of(self.entries[i * self.m + i]) for i in range(self.n))

    def determinant(self):
        self._check_square()
        return _determinant([[value_of(self.entries[i * self.m + j]) for j in range(self.m)] for i in range(self.n)])

    def inverse(self):
        """The inverse of a square matrix of up to 4 rows."""
        if self.ndim != 2 or self.n != self.m or self.n > 4:
            raise QuadrantsTypeError.at(
                f"inverse takes a square matrix of up to 4 rows, got {described(self)}", "take a square part of it"
            )
        rows = [[value_of(self.entries[i * self.m + j]) for j in range(self.m)] for i in range(self.n)]
        scale = 1.0 / _determinant(rows)

        def cofactor(i: int, j: int):
            minor = [row[:i] + row[i + 1 :] for k, row in enumerate(rows) if k != j]
            value = _determinant(minor) * scale if minor else scale
            return -value if (i + j) % 2 else value

        return self.like([cofactor(i, j) for i in range(self.n) for j in range(self.n)])

    def max(self):
        return _reduce(scalar_functions.maximum, self.load().entries)

    def min(self):
        return _reduce(scalar_functions.minimum, self.load().entries)

    def any(self):
        return _reduce(operator.or_, [_as_bool(entry) for entry in self.load().entries])

    def all(self):
        return _reduce(operator.and_, [_as_bool(entry) for entry in self.load().entries])

    def cast(self, dtype):
        return self.map(types.existing(dtype))

    def fill(self, val: Any) -> None:
        if active():
            self.store(val)
        else:
            self.entries[:] = [val] * len(self.entries)

    # --- Python ---

    def to_list(self) -> list:
        return [list(part) if isinstance(part, Matrix) else part for part in self.parts()]

    def to_numpy(self):
        import numpy

        return numpy.array(self.to_list())

    def __array__(self, dtype=None, copy=None):
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.parts()))}]" if active() else str(self.to_numpy())

    __hash__ = object.__hash__

    # --- makers ---

    @staticmethod
    def zero(dt, n, m=None):
        return _filled(dt, 0, n, m)

    @staticmethod
    def one(dt, n, m=None):
        return _filled(dt, 1, n, m)

    @staticmethod
    def identity(dt, n):
        return Matrix([[types.existing(dt)(int(i == j)) for j in range(n)] for i in range(n)])

    @staticmethod
    def unit(n, i, dt=None):
        return Vector([int(k == i) for k in range(n)], dt)

    @staticmethod
    def diag(dim, val):
        return Matrix([[val if i == j else 0 for j in range(dim)] for i in range(dim)])

    @staticmethod
    def rows(rows):
        return Matrix([list(row) for row in rows])

    @staticmethod
    def cols(cols):
        return Matrix([list(row) for row in cols]).transpose()


def _filled(dt, value, n, m):
    shape = (n,) if m is None else (n, m)
    return Matrix([types.existing(dt)(value)] * math.prod(shape), shape=shape)


def Vector(arr, dt: Any = None) -> Matrix:
    """A vector of the numbers of `arr`."""
    arr, shape = _parsed(arr)
    return Matrix(arr, dt, shape=shape)


def _parsed(arr) -> tuple[list, tuple[int, ...]]:
    """The entries and the shape of a nested list, a numpy array or a matrix."""
    if isinstance(arr, Matrix):
        return [value_of(entry) for entry in arr.entries], arr._shape
    if isinstance(arr, (int, float, str, Lvalue, Numeric)) or arr is None:
        raise QuadrantsTypeError.at(
            f"a vector or matrix is made of a list of numbers or of lists, got {arr!r}"
            if isinstance(arr, (int, float, str))
            else "a vector or matrix is made of a list of numbers or of lists, got a single value",
            "qd.Vector([1, 2, 3]), qd.Matrix([[1, 2], [3, 4]])",
        )
    arr = arr.tolist() if hasattr(arr, "tolist") else list(arr)
    rows = [
        list(row.entries) if isinstance(row, Matrix) else list(row)
        for row in arr
        if isinstance(row, (list, tuple, Matrix))
    ]
    if rows and len(rows) == len(arr):
        if len({len(row) for row in rows}) > 1:
            raise QuadrantsTypeError.at(
                "the rows of a matrix must have one length, got "
                f"{' and '.join(map(str, sorted({len(row) for row in rows})))}",
                "give every row as many numbers",
            )
        return [value_of(entry) for row in rows for entry in row], (len(rows), len(rows[0]))
    return [value_of(entry) for entry in arr], (len(arr),)


def _index(part: Any) -> Any:
    part = value_of(part)
    if isinstance(part, slice):
        return part
    if isinstance(part, Numeric):
        if part.is_float:
            raise QuadrantsTypeError.at(
                f"indices must be integers, however '{types.name_of(part)}' is provided", fix="convert it: `int(x)`"
            )
        return Int32(part) if is_dynamic(part) else int(part.value)
    return operator.index(part)


def _check_extent(index: int, extent: int) -> None:
    if not -extent <= index < extent:
        raise QuadrantsIndexError.at(
            f"index {index} is out of bounds of an axis of {extent}", f"index from 0 to {extent - 1}"
        )


def refuse_negative(keys: Sequence) -> None:
    """Raise QuadrantsSyntaxError for a negative index in a kernel, where -1 is not the last element."""
    for part in keys:
        if active() and isinstance(part, int) and part < 0:
            raise QuadrantsSyntaxError.at(
                "Negative indices are not supported in Quadrants kernels.",
                fix=f"count from the start: the last index is the extent - 1, not {part}",
            )


def entries_like(matrix: Matrix, value: Any) -> list:
    """The entries of `value` for an operation with `matrix`; a number is repeated. None of other things."""
    if isinstance(value, (list, tuple)):
        value = Matrix(value)
    if isinstance(value, Matrix):
        if len(value.entries) != len(matrix.entries):
            raise QuadrantsTypeError.at(
                f"{matrix.described()} and {value.described()} have different shapes", "give both one shape"
            )
        return value.entries
    if types.number(value_of(value)) is None:
        raise QuadrantsTypeError.at(
            f"{described(matrix)} and {described(value)} have no common elements",
            "give a number, or a vector or matrix of the same shape",
        )
    return [value] * len(matrix.entries)


def _reduce(function: Callable, values: Sequence):
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


def _sum(values):
    return _reduce(operator.add, list(values))


def _as_bool(value: Any) -> Any:
    return value != 0


def _determinant(rows: list[list]):
    if len(rows) == 1:
        return rows[0][0]
    return _sum(
        (-1) ** j * rows[0][j] * _determinant([row[:j] + row[j + 1 :] for row in rows[1:]]) for j in range(len(rows))
    )


def _numbers(entries: Sequence) -> list:
    """Entries as operands: in a kernel they compute in their types even if they are known, so that 1 / 0 is inf."""
    return [types.number(value_of(entry)) if active() else value_of(entry) for entry in entries]


def _elementwise(python: Callable, self: Matrix, other: Any) -> Matrix:
    entries = _numbers(entries_like(self, other))
    shape = other._shape if isinstance(other, Matrix) and other.ndim > self.ndim else self._shape
    return Matrix([python(a, b) for a, b in zip(_numbers(self.entries), entries)], shape=shape)


def _reflected(python: Callable, self: Matrix, other: Any) -> Matrix:
    entries = _numbers(entries_like(self, other))
    return self.like([python(a, b) for a, b in zip(entries, _numbers(self.entries))])


operators.define(Matrix, _elementwise, _reflected, lambda python, self: self.map(python))


def in_memory(pointer, shape: tuple[int, ...]) -> Matrix:
    """The matrix whose entries lie one after the other from `pointer` on."""
    count = math.prod(shape)
    return Matrix([Element(pointer + k) for k in range(count)], shape=shape, at=lambda index: Element(pointer + index))
