"""The places of registers between regions: linear ones as base and strides, others in an array by thread."""

from __future__ import annotations

from dsl.emulator.ir.affine import FLAT, Linear
from dsl.emulator.ir.body import Body
from dsl.emulator.machine import context
from dsl.emulator.translate.uniform_branches import Plan


class Captured:
    """The values of the kernel that a separate function gets: (type, name inside, value or pointer outside, whether the
    caller loads it)."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, bool]] = []
        self.forms: dict[str, Linear | None] = {}
        self.arrays: set[str] = set()

    def value(self, kind: str, outside: str, load: bool = True) -> str:
        name = f"%in{len(self.rows)}"
        self.rows.append((kind, name, outside, load))
        return name

    def array(self, place: str) -> None:
        if place not in self.arrays:
            self.arrays.add(place)
            self.rows.append(("ptr noalias captures(none)", place, place, False))


class KeptRegisters:
    """The storage of one kernel's registers; while `captured` is set, code goes to a function that is handed them."""

    def __init__(self, code: Body, plan: Plan):
        self._code, self._plan = code, plan
        self._allocas, self._prologue = code.allocas, code.prologue  # of the kernel, whatever is emitted meanwhile
        self._slots: set[str] = set()
        self._arrays: set[str] = set()
        self.captured: Captured | None = None

    def slot(self, name: str, part: int = 0) -> str:
        """The slot of a base (part 0) or of the stride along an axis (1 to 3)."""
        place = f'%"keep{part}.{name}"'
        if place not in self._slots:
            self._slots.add(place)
            bits = self._plan.bits[name]
            self._allocas.append(f"  {place} = alloca i{bits}")
            self._prologue.append(f"  store i{bits} 0, ptr {place}")
        return place

    def slots(self, name: str) -> list[str]:
        """The slots of a linear register: its base, and the strides that only the launch knows."""
        strides = self._plan.classes[name] or ()
        return [self.slot(name), *(self.slot(name, i + 1) for i, stride in enumerate(strides) if stride == "?")]

    def form(self, name: str) -> Linear | None:
        """The form of a register as it is kept; emits loads, or takes an argument."""
        if self.captured is not None and name in self.captured.forms:
            return self.captured.forms[name]
        strides = self._plan.classes.get(name, FLAT)
        if strides is None:
            return None
        if name not in self._plan.classes:
            return Linear("0")
        kind = f"i{self._plan.bits[name]}"
        rows = [self._value(self.slot(name, i + 1), kind) if s == "?" else s for i, s in enumerate(strides)]
        form = Linear(self._value(self.slot(name), kind), tuple(rows))
        if self.captured is not None:
            self.captured.forms[name] = form
        return form

    def _value(self, place: str, kind: str) -> str:
        return self._code.get(place, kind) if self.captured is None else self.captured.value(kind, place)

    def keep(self, name: str, form: Linear) -> None:
        """Store the form of a linear register."""
        kind = f"i{self._plan.bits[name]}"
        self._code.put(self.slot(name), form.base, kind)
        for i, (kept, stride) in enumerate(zip(self._plan.classes[name] or (), form.strides)):
            if kept == "?":
                self._code.put(self.slot(name, i + 1), stride, kind)

    def array(self, name: str, width: int) -> str:
        """The array of a register, or of another value of each thread: elements of `width` bits."""
        place = f'%"array.{name}"'
        if place not in self._arrays:
            self._arrays.add(place)
            self._allocas.append(f"  {place} = alloca [{context.MAX_THREADS} x i{width}], align 64")
        if self.captured is not None:
            self.captured.array(place)
        return place

    def _cell(self, name: str, width: int, index: str, kind: str) -> str:
        return self._code.op(f"getelementptr i{width}, ptr {self.array(name, width)}, {kind} {index}")

    def load(self, name: str, bits: int, index: str, kind: str = "i64") -> str:
        """The element of a register's array for thread `index`."""
        code, width = self._code, max(bits, 8)
        value = code.op(f"load i{width}, ptr {self._cell(name, width, index, kind)}")
        return code.cmp("ne", value, 0, f"i{width}") if bits == 1 else code.resize(value, width, bits)

    def store(self, name: str, bits: int, index: str, value: str, kind: str = "i64") -> None:
        width = max(bits, 8)
        cell = self._cell(name, width, index, kind)
        self._code.do(f"store i{width} {self._code.resize(value, bits, width)}, ptr {cell}")
