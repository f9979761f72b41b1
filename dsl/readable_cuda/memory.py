"""Pointers, loads and stores in CUDA C++: `a[i]`, `*(float4*)(a + i)`, shared memory, local arrays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from dsl.analysis.mlir_reader import Op, Value
from dsl.readable_cuda.calls import Calls
from dsl.readable_cuda.cpp_types import TYPES, Unsupported, c_type, vector_type
from dsl.readable_cuda.expressions import ATOM, SUM, UNARY, Expressions
from dsl.readable_cuda.statements import constant_of

REGION = "__dynamic_shmem__0"
_ARRAY = re.compile(r"!llvm\.array<(\d+) x (.*)>$")
_DYNAMIC = -2147483648
BYTES = {"i1": 1, "i8": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8}


def element_of(type_: str) -> tuple[str, int]:
    """The scalar type of a nested array type, and the number of scalars in it."""
    count = 1
    while array := _ARRAY.match(type_):
        count, type_ = count * int(array[1]), array[2]
    return type_, count


class Memory:
    """Writes addresses. `pointees`: the MLIR element type of each pointer that has a name."""

    def __init__(
        self, globals_: dict[str, Op], calls: Calls, users: dict[Value, list[Any]], fresh: Callable[[str], str]
    ):
        self.globals, self.calls, self.users = globals_, calls, users
        self.pointees: dict[Value, str] = {}
        self.shared: dict[str, str] = {}  # shared symbol -> its C++ name
        self.fresh = fresh  # a name that is not taken yet

    def __call__(self, value: Value, write: Expressions) -> tuple[str, int]:
        op = value.defining_op
        if op.name == "llvm.load":
            return self.load(op, write)
        if op.name == "llvm.ptrtoint":
            return self._number(op, write)
        text, binds, _ = self.pointer(value, write)
        return text, binds

    # --- what pointers point at ---

    def pointee(self, value: Value) -> str:
        """The element type that most uses of a pointer have."""
        element_type = self.pointees.get(value)
        if element_type is None:
            counts: Counter = Counter()
            self._count(value, counts, set())
            wide = [(count, type_) for type_, count in counts.items() if type_ != "i8"]
            element_type = max(wide)[1] if wide else "i8"
            self.pointees[value] = element_type
        return element_type

    def _count(self, value: Value, counts: Counter, seen: set[Value]) -> None:
        if value in seen:
            return
        seen.add(value)
        for user in self.users.get(value, ()):
            if isinstance(user, Value):
                self._count(user, counts, seen)
            elif user.name == "llvm.getelementptr" and user.operands[0] is value:
                type_, _ = element_of(user.attributes["elem_type"])
                if type_ == "i8":
                    self._count(user.result, counts, seen)
                elif type_ in TYPES:
                    counts[type_] += 1
            elif user.name == "llvm.load":
                self._access(user.result.type, counts)
            elif user.name == "llvm.store" and user.operands[1] is value:
                self._access(user.operands[0].type, counts)
            elif user.name in ("llvm.addrspacecast", "arith.select"):
                self._count(user.result, counts, seen)

    def _access(self, type_: str, counts: Counter) -> None:
        vector = vector_type(type_)
        type_ = vector[1] if vector else type_
        if type_ in TYPES:
            counts[type_] += 1

    # --- pointers ---

    def pointer(self, value: Value, write: Expressions) -> tuple[str, int, str]:
        """A pointer's text, how it binds, and the element type it points at."""
        if value in write.names:
            return write.names[value], ATOM, self.pointee(value)
        op = value.op
        if op is None:
            raise Unsupported("a pointer from elsewhere", None)
        if op.name == "llvm.addrspacecast":
            return self.pointer(op.operands[0], write)
        if op.name == "llvm.getelementptr":
            return self._moved(op, write)
        if op.name == "llvm.mlir.addressof":
            return self._symbol(op)
        if op.name == "llvm.inttoptr":
            type_ = self.pointee(value)
            space = value.type
            source = write.text(op.operands[0], UNARY)
            if space == "!llvm.ptr<3>":
                return f"({c_type(type_)}*)__cvta_shared_to_generic((unsigned){source})", UNARY, type_
            if space == "!llvm.ptr<5>":
                return f"({c_type(type_)}*)__cvta_local_to_generic((unsigned){source})", UNARY, type_
            return f"({c_type(type_)}*){source}", UNARY, type_
        if op.name == "arith.select":
            type_ = self.pointee(value)
            a, b = (self.typed(side, type_, write) for side in op.operands[1:])
            return f"({write.text(op.operands[0], ATOM)} ? {a} : {b})", ATOM, type_
        if op.name in ("llvm.mlir.zero", "llvm.mlir.poison", "llvm.mlir.undef"):
            return "nullptr", ATOM, "i8"
        if op.name == "llvm.load":
            text, binds = self.load(op, write)
            return text, binds, "i8"
        raise Unsupported(f"a pointer made by {op.name}", op.place)

    def typed(self, value: Value, type_: str, write: Expressions) -> str:
        """A pointer as one to `type_`, as an operand of [] and +."""
        text, binds, has = self.pointer(value, write)
        if c_type(has) == c_type(type_):
            return text if binds >= SUM and binds != SUM else f"({text})"
        return f"(({c_type(type_)}*){text if binds >= UNARY else f'({text})'})"

    def _steps(self, op: Op, write: Expressions) -> tuple[Value, str, str]:
        """The base of a gep, its element type and the text of the index ("" for 0)."""
        raw = op.attributes["rawConstantIndices"]
        if len(raw) != 1:
            raise Unsupported("an address of several indices", op.place)
        type_, count = element_of(op.attributes["elem_type"])
        if type_ not in TYPES:
            raise Unsupported(f"an address of {type_}", op.place)
        if raw[0] == _DYNAMIC:
            index = self._index(op.operands[1], write)
            return op.operands[0], type_, f"({index}) * {count}" if count != 1 else index
        return op.operands[0], type_, str(raw[0] * count) if raw[0] else ""

    def _index(self, value: Value, write: Expressions) -> str:
        """An index without the conversion to 64 bits that C++ does itself."""
        op = value.op
        if value not in write.names and op is not None and op.name == "arith.extsi" and op.operands[0].type != "i1":
            value = op.operands[0]
        number = constant_of(value)
        return str(number) if isinstance(number, int) and abs(number) < 2**31 else write.text(value)

    def _moved(self, op: Op, write: Expressions) -> tuple[str, int, str]:
        base, type_, index = self._steps(op, write)
        if not index:
            text, binds, has = self.pointer(base, write)
            return text, binds, has
        text = self.typed(base, type_, write)
        is_back = re.fullmatch(r"-\d+", index)
        return (f"{text} - {index[1:]}" if is_back else f"{text} + {self._added(index)}"), SUM, type_

    def _added(self, index: str) -> str:
        return f"({index})" if re.search(r"[?<>=&|^]", index) else index

    def _symbol(self, op: Op) -> tuple[str, int, str]:
        symbol = op.attributes["global_name"].removeprefix("@")
        if (text := self.calls.string(op.result)) is not None:
            return text, ATOM, "i8"
        global_ = self.globals.get(symbol)
        if global_ is not None and (table := _table(global_, symbol)):
            self.calls.helpers.setdefault(table, symbol)
            return symbol, ATOM, element_of(global_.attributes["global_type"])[0]
        if global_ is None or "3" not in str(global_.attributes.get("addr_space", "")):
            raise Unsupported(f"the global {symbol}", op.place)
        if symbol not in self.shared:
            self.shared[symbol] = self.fresh("smem" if symbol == REGION else symbol)
        return self.shared[symbol], ATOM, element_of(global_.attributes["global_type"])[0]

    def declaration(self, symbol: str) -> str:
        """The declaration of a shared array."""
        global_ = self.globals[symbol]
        type_, count = element_of(global_.attributes["global_type"])
        align = global_.attributes.get("alignment")
        aligned = f"__align__({align}) " if align else ""
        if count == 0:
            return f"extern __shared__ {aligned}{c_type(type_)} {self.shared[symbol]}[];"
        return f"__shared__ {aligned}{c_type(type_)} {self.shared[symbol]}[{count}];"

    def _number(self, op: Op, write: Expressions) -> tuple[str, int]:
        value = op.operands[0]
        text, binds, _ = self.pointer(value, write)
        space = value.type
        if space == "!llvm.ptr<3>" or space == "!llvm.ptr<5>":
            word = "shared" if space == "!llvm.ptr<3>" else "local"
            return f"({c_type(op.result.type)})__cvta_generic_to_{word}({text})", UNARY
        return f"({c_type(op.result.type)}){text if binds >= UNARY else f'({text})'}", UNARY

    # --- accesses ---

    def place(self, pointer: Value, type_: str, alignment: int, write: Expressions) -> list[str]:
        """The lvalue of an access of `type_`; of a vector that is not aligned, the lvalue of each element."""
        vector = vector_type(type_)
        scalar = vector[1] if vector else type_
        if scalar not in TYPES:
            if type_.startswith("!llvm.ptr"):
                return [f"*(void**){self._operand(pointer, write)}"]
            raise Unsupported(f"an access of {type_}", None)
        if not vector:
            return [self._scalar(pointer, scalar, write)]
        count = vector[0]
        base = self.typed(pointer, scalar, write)
        if alignment >= count * BYTES[scalar] and c_type(type_) in _ALIGNED:
            return [f"*({c_type(type_)}*){base if base[0] == '(' or base.isidentifier() else f'({base})'}"]
        return [self._scalar(pointer, scalar, write, index) for index in range(count)]

    def _operand(self, pointer: Value, write: Expressions) -> str:
        text, binds, _ = self.pointer(pointer, write)
        return text if binds >= UNARY else f"({text})"

    def _scalar(self, pointer: Value, type_: str, write: Expressions, further: int = 0) -> str:
        """The lvalue of the element `further` places after a pointer."""
        op = pointer.op
        if pointer not in write.names and op is not None and op.name == "llvm.addrspacecast":
            return self._scalar(op.operands[0], type_, write, further)
        if pointer not in write.names and op is not None and op.name == "llvm.getelementptr":
            base, has, index = self._steps(op, write)
            if c_type(has) == c_type(type_):
                if further:
                    index = (
                        str(int(index or 0) + further)
                        if not index or index.lstrip("-").isdigit()
                        else f"{self._added(index)} + {further}"
                    )
                return f"{self.typed(base, type_, write)}[{index or 0}]"
        return f"{self.typed(pointer, type_, write)}[{further}]"

    def load(self, op: Op, write: Expressions) -> tuple[str, int]:
        places = self.place(op.operands[0], op.result.type, op.attributes.get("alignment", 1), write)
        vector = vector_type(op.result.type)
        if vector is None or (len(places) == 1 and vector[0] != 1):
            return places[0], UNARY if places[0].startswith("*") else ATOM
        return write.vector_of(vector[1], places), ATOM

    def store(self, op: Op, write: Expressions) -> list[str]:
        """The statements of a store."""
        value, pointer = op.operands
        places = self.place(pointer, value.type, op.attributes.get("alignment", 1), write)
        if len(places) == 1:
            source = value
            while (
                source not in write.names
                and source.op is not None
                and source.op.name == "arith.extui"
                and source.op.operands[0].type == "i1"
            ):
                source = source.op.operands[0]
            return [f"{places[0]} = {write.text(source)};"]
        if value not in write.names and (value.op is None or value.op.name != "llvm.extractvalue"):
            raise Unsupported("a store of a vector that has no name", op.place)
        name = write.text(value, ATOM)
        return [f"{place} = {write.element(name, value.type, index)};" for index, place in enumerate(places)]


_ALIGNED = {"float2", "float4", "double2", "int2", "int4", "longlong2", "short2", "short4", "char2", "char4"}


def _table(global_: Op, symbol: str) -> str:
    """The definition of a global array of constant integers; "" for other globals."""
    value = global_.attributes.get("value")
    type_, count = element_of(global_.attributes["global_type"])
    if not isinstance(value, str) or not value.startswith("dense<[") or type_ not in ("i32", "i64"):
        return ""
    numbers = value.removeprefix("dense<[").partition("]")[0].split(", ")
    suffix = "LL" if type_ == "i64" else ""
    rows = [", ".join(f"{number}{suffix}" for number in numbers[start : start + 4]) for start in range(0, count, 4)]
    return f"static __device__ const {c_type(type_)} {symbol}[{count}] = {{\n  " + ",\n  ".join(rows) + "};\n"
