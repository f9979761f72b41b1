"""Places that can be assigned: variables of a kernel, elements of fields and arrays. They are read where they are used.

A variable has the type of its first assignment. One of the kernel's outermost scope may be used by several tasks: each
serial task keeps it in a separate register, and a parallel loop finds it in the kernel's scratch memory, where its
threads add to it atomically.
"""

from __future__ import annotations

from typing import Any

from dsl.core import trace
from dsl.core.errors import warn_at
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.functions.task import Task, program
from dsl.quadrants.values import dtypes as types, operators
from dsl.span import here


class Lvalue:
    """A place of one number. Operators read it."""

    __slots__ = ()
    core: type[Numeric]

    def pointer(self) -> Pointer:
        raise NotImplementedError

    @property
    def is_shared(self) -> bool:
        """Whether other threads may change it."""
        raise NotImplementedError

    @property
    def dtype(self) -> types.DataType:
        return types.of_core(self.core)

    def in_words(self) -> str:
        """The place in the words of an error."""
        return an(self.dtype)

    def load(self) -> Numeric:
        return self.pointer().load()

    def store(self, value: Any) -> None:
        """Assign a number, converted to the place's type."""
        number = types.number(value.load() if isinstance(value, Lvalue) else value)
        if number is None:
            raise QuadrantsTypeError.at(
                f"{described(value)} cannot be assigned to {an(self.dtype)}",
                "assign one element of it, or make this a vector" if hasattr(value, "parts") else "assign a number",
            )
        if self.is_shared:
            program().task.effect()
        self.warn_of_fraction(number)
        self.pointer().store(number)

    def warn_of_fraction(self, number: Any) -> None:
        """As the real package does, which logs `Assign may lose precision`."""
        is_float = number.is_float if isinstance(number, Numeric) else isinstance(number, float)
        if is_float and self.core.is_integer and not _is_whole(number):
            warn_at(
                f"a float is assigned to {an(self.dtype)} and loses its fraction: write "
                f"`qd.cast(..., qd.{self.dtype})` if you mean that",
                UserWarning,
                here(),
            )

    def __bool__(self) -> bool:
        return bool(self.load())

    def __index__(self) -> int:
        return self.load().__index__()

    __hash__ = object.__hash__

    def __getattr__(self, name: str):
        raise AttributeError(f"a number of type {types.of_core(self.core)} has no attribute '{name}'")


def _is_whole(number: Any) -> bool:
    """Whether it is known while compiling and has no fraction."""
    value = number.value if isinstance(number, Numeric) and not is_dynamic(number) else number
    return isinstance(value, (int, float)) and float(value).is_integer()


operators.define(
    Lvalue,
    lambda python, self, other: python(self.load(), value_of(other)),
    lambda python, self, other: python(other, self.load()),
    lambda python, self: python(self.load()),
)


class Element(Lvalue):
    """An element in memory that all threads share."""

    __slots__ = ("core", "_pointer")

    def __init__(self, pointer: Pointer):
        self.core, self._pointer = pointer.dtype, pointer

    @property
    def is_shared(self) -> bool:
        return True

    def pointer(self) -> Pointer:
        program().task  # noqa: B018 - a host cannot read it
        return self._pointer


class Storage:
    """Memory of `count` numbers for a variable: registers of the task that has it, or the kernel's scratch memory.

    `task` is the task that has it, None once it is in scratch memory.
    """

    __slots__ = ("core", "count", "task", "local", "offset_bytes")

    def __init__(self, core: type[Numeric], count: int = 1):
        self.core, self.count = core, count
        self.offset_bytes: int | None = None
        self.task: Task | None = program().task
        self._allocate()

    def _allocate(self) -> None:
        size_bytes = self.core.storage_width // 8
        self.local = Pointer(
            self.core, trace.entry_alloca(self.core.storage_type(), self.count, size_bytes), AddressSpace.generic
        )

    @property
    def is_shared(self) -> bool:
        """Whether other threads may change it."""
        task = program().task
        if task is not self.task:
            self._move(task)
        return self.task is not task

    def pointer(self) -> Pointer:
        """The first number, as the task being traced reaches it."""
        return self._shared() if self.is_shared else self.local

    def _shared(self) -> Pointer:
        assert self.offset_bytes is not None
        return Pointer(self.core, program().scratch_address(self.offset_bytes), AddressSpace.gmem)

    def _move(self, task: Task) -> None:
        """Bring the variable from an earlier task, or from scratch memory, to `task`."""
        if self.offset_bytes is None:
            self.offset_bytes = program().reserve(self.count * self.core.storage_width // 8)
        if self.task is not None:
            with trace.within(self.task, self.task.body):
                self._copy(self.local, self._shared())
                self.task.effect()
            self.task = None
        if not task.is_parallel and not task.is_repeated:  # the next trip must find what this one stored
            self.task = task
            self._allocate()
            with trace.within(task, task.prologue):
                self._copy(self._shared(), self.local)

    def _copy(self, source: Pointer, destination: Pointer) -> None:
        for k in range(self.count):
            (destination + k).store((source + k).load())


class Variable(Lvalue):
    """A variable of a kernel or func, or number `index` of one that holds several."""

    __slots__ = ("core", "storage", "index")

    def __init__(self, core: type[Numeric], value: Any = None, storage: Storage | None = None, index: Any = 0):
        self.core, self.index = core, index
        self.storage = Storage(core) if storage is None else storage
        if value is not None:
            self.store(value)

    @property
    def is_shared(self) -> bool:
        return self.storage.is_shared

    def pointer(self) -> Pointer:
        first = self.storage.pointer()
        return first if isinstance(self.index, int) and self.index == 0 else first + self.index


def value_of(value: Any) -> Any:
    """`value`, read where it is a place."""
    return value.load() if isinstance(value, Lvalue) else value
