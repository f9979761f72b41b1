"""T.vectorized as vectors: the body is traced once, its variable a ramp of lanes, and elements side by side become one
access.

If lanes could differ from trips one after another (an exit, a carried register, a gap between the elements, an access
that may not be aligned, memory that is both read and written elsewhere), the trips are written one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dsl.core.control_flow.branches.merge import Scratch
from dsl.core.control_flow.loops.speculation import Attempt
from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Numeric, numeric
from dsl.core.number.pointer import Pointer
from dsl.core.state import Stack
from dsl.span import Span, here
from dsl.tile.vector import ssa
from dsl.tile.vector.ssa import TensorSSA
from dsl.tirx.values import divisor
from dsl.tirx.values.promotion import number_of

MOST_BYTES = 16


class NotLanes(Exception):
    """The body of a T.vectorized does something that lanes of a vector cannot. `why` is a sentence."""

    def __init__(self, why: str):
        self.why = why
        super().__init__(why)


class UnalignedVector(DSLUserCodeError):
    """A vector access at an address that is known to be misaligned."""


@dataclass
class _Body:
    """The accesses of one traced body: offsets loaded and stored, by the root of their buffer."""

    loads: dict[Any, set] = field(default_factory=dict)
    stores: dict[Any, set] = field(default_factory=dict)

    def check(self) -> None:
        for root, offsets in self.stores.items():
            if len(offsets | self.loads.get(root, set())) > 1:
                raise NotLanes("it loads and stores the same memory at different places")


_open: Stack[_Body] = Stack()


def active() -> bool:
    """Whether the body of a T.vectorized is being tried."""
    return bool(_open)


def _tried() -> _Body:
    body = _open.top()
    assert body is not None
    return body


def refuse(why: str) -> None:
    """Raise NotLanes where a T.vectorized body is being tried."""
    if _open:
        raise NotLanes(why)


class Ramp:
    """base, base + stride, ...: the variable of a T.vectorized loop, and sums and multiples of it."""

    __hash__ = None

    def __init__(self, base: Any, stride: int, lanes: int):
        self.base, self.stride, self.lanes = base, stride, lanes

    def vector(self) -> TensorSSA:
        """The ramp as a vector of numbers."""
        start = number_of(self.base)
        elements = [start + self.stride * k for k in range(self.lanes)]
        return TensorSSA(ssa.from_elements([type(start)(number).ir() for number in elements]), self.lanes, type(start))

    __tensor_ssa__ = vector

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Ramp):
            return Ramp(self.base + other.base, self.stride + other.stride, self.lanes)
        number = None if isinstance(other, TensorSSA) else numeric(other)
        if number is None or number.is_float:
            return self.vector() + other
        return Ramp(self.base + other, self.stride, self.lanes)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Ramp):
            return self + other * -1
        number = None if isinstance(other, TensorSSA) else numeric(other)
        if number is None or number.is_float:
            return self.vector() - other
        return Ramp(self.base - other, self.stride, self.lanes)

    def __rsub__(self, other: Any) -> Any:
        return self * -1 + other

    def __mul__(self, other: Any) -> Any:
        number = None if isinstance(other, (Ramp, TensorSSA)) else numeric(other)
        if number is None or number.is_float or isinstance(number.value, mlir.Value):
            return self.vector() * (other.vector() if isinstance(other, Ramp) else other)
        return Ramp(self.base * other, self.stride * int(number.value), self.lanes)

    __rmul__ = __mul__

    def _refuse(self, *_operands: Any):
        raise NotLanes("its variable is used in other ways than sums and multiples")

    __bool__ = __index__ = __int__ = __float__ = __floordiv__ = __mod__ = __truediv__ = __eq__ = __ne__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _refuse
    __rfloordiv__ = __rmod__ = _refuse
    __rtruediv__ = __neg__ = __invert__ = __abs__ = __rand__ = __ror__ = __pow__ = _refuse


def as_vector(value: Any) -> Any:
    """A ramp as a vector; other values unchanged."""
    return value.vector() if isinstance(value, Ramp) else value


def run(lanes: int, start: int, body: Callable, state: tuple) -> str | None:
    """Trace the body of a loop of `lanes` trips as lanes. Returns the reason where that is impossible, else None."""
    if lanes < 2 or lanes & (lanes - 1) or lanes > 64:
        return f"the number of trips must be a power of two from 2 to 64, got {lanes}"
    if active():
        return "it is inside another"
    with Attempt() as attempt:
        scratch = Scratch()
        _open.items().append(_Body())
        try:
            with mlir.inside(scratch.block):
                after = body(Ramp(Int32(start), 1, lanes), *state)
            _tried().check()
            _check_state(state, after)
            why = None
        except NotLanes as refusal:
            why = refusal.why
        except UnalignedVector:
            raise
        except (DSLUserCodeError, TypeError, AttributeError):
            why = "it does what is done one by one"
        finally:
            _open.items().pop()
        attempt.discard([scratch.holder])
    if why is None:
        _open.items().append(_Body())
        try:
            body(Ramp(Int32(start), 1, lanes), *state)
        finally:
            _open.items().pop()
    return why


def _check_state(before: tuple, after: tuple) -> None:
    for old, new in zip(before, after):
        if (
            old is not new
            and not (isinstance(old, Numeric) and isinstance(new, Numeric) and old.value is new.value)
            and isinstance(old, (Numeric, TensorSSA))
        ):
            raise NotLanes("a register is carried from trip to trip")


# --- accesses --------------------------------------------------------------------------------------------------------


def access(pointer: Pointer, offset: Ramp, bytes_each: int, stores: bool) -> int:
    """Note an access of all lanes from `offset` on; returns the alignment in bytes that it has.

    Raises NotLanes if the elements are not side by side or may not be aligned, UnalignedVector if they are not aligned.
    """
    if offset.stride != 1:
        raise NotLanes("the elements of its trips are not side by side")
    wanted = min(offset.lanes * bytes_each, MOST_BYTES)
    aligned = divisor.is_multiple(offset.base, wanted // bytes_each) if pointer.alignment_bytes % wanted == 0 else None
    if aligned is False:
        raise unaligned(offset.lanes, wanted, wanted // bytes_each, here())
    if aligned is None:
        raise NotLanes(f"it is not known that its accesses are at multiples of {wanted} bytes")
    noted = _tried().stores if stores else _tried().loads
    noted.setdefault(divisor.root(pointer.address), set()).add(divisor.key(offset.base))
    return wanted


def note(pointer: Pointer, offset: Any) -> None:
    """Note a load that is the same in all trips."""
    if _open:
        _tried().loads.setdefault(divisor.root(pointer.address), set()).add(("one", divisor.key(offset)))


def unaligned(lanes: int, wanted_bytes: int, elements: int, place: Span) -> UnalignedVector:
    """The error of an access that is known to be unaligned."""
    return UnalignedVector(
        f"an access of {lanes} lanes must be at a multiple of {wanted_bytes} bytes, but this one begins "
        "between two of them",
        id="VECTOR_UNALIGNED",
        place=place,
        fix=f"begin at a multiple of {elements} elements, or loop with T.serial",
    )
