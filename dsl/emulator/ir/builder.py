"""LLVM IR text, one line at a time."""

from __future__ import annotations

from contextlib import contextmanager

from dsl.emulator.machine import context


class Builder:
    """Collects the lines of one function; values are IR operand texts such as `%t5` or `7`."""

    def __init__(self, prefix: str = "%t") -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.count = 0

    def op(self, text: str) -> str:
        """Emit `text` as a new value."""
        self.count += 1
        name = f"{self.prefix}{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Emit a line without a value."""
        self.lines.append(f"  {text}")

    def fresh(self, prefix: str) -> str:
        """A new block name."""
        self.count += 1
        return f"{prefix}{self.count}"

    def start(self, block: str) -> None:
        """Begin `block`; the caller has ended the one before."""
        self.lines.append(f"{block}:")

    def alloca(self, kind: str, align: int = 8) -> str:
        """A stack slot made in the function's entry."""
        self.count += 1
        name = f"%a{self.count}"
        self.allocas.append(f"  {name} = alloca {kind}, align {align}")
        return name

    # ** arithmetic, i32 unless told

    def add(self, a, b, kind="i32"):
        return self.op(f"add {kind} {a}, {b}")

    def sub(self, a, b, kind="i32"):
        return self.op(f"sub {kind} {a}, {b}")

    def mul(self, a, b, kind="i32"):
        return self.op(f"mul {kind} {a}, {b}")

    def and_(self, a, b, kind="i32"):
        return self.op(f"and {kind} {a}, {b}")

    def or_(self, a, b, kind="i32"):
        return self.op(f"or {kind} {a}, {b}")

    def xor(self, a, b, kind="i32"):
        return self.op(f"xor {kind} {a}, {b}")

    def not_(self, a, kind="i32"):
        return self.op(f"xor {kind} {a}, -1")

    def shl(self, a, b, kind="i32"):
        return self.op(f"shl {kind} {a}, {b}")

    def lshr(self, a, b, kind="i32"):
        return self.op(f"lshr {kind} {a}, {b}")

    def cmp(self, how, a, b, kind="i32"):
        return self.op(f"icmp {how} {kind} {a}, {b}")

    def select(self, condition, a, b, kind="i32"):
        return self.op(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    def cast(self, how, value, source, target):
        return self.op(f"{how} {source} {value} to {target}")

    def get(self, slot, kind="i32"):
        return self.op(f"load {kind}, ptr {slot}")

    def put(self, slot, value, kind="i32"):
        self.do(f"store {kind} {value}, ptr {slot}")

    # ** memory shared with Python

    def field(self, name: str, index: str | None = None, of: str = "%ctx") -> str:
        """Address of a field of the context (or the grid) `of`, or of element `index` (i32) of an array field."""
        address = self.op(f"getelementptr i8, ptr {of}, i64 {context.offset(name)}")
        if index is None:
            return address
        return self.op(f"getelementptr {self.field_type(name)}, ptr {address}, i32 {index}")

    def field_type(self, name: str) -> str:
        kind = context.FIELDS[name]
        kind = getattr(kind, "_type_", kind) if hasattr(kind, "_length_") else kind
        return "i64" if kind is context._u64 else "i32"

    def load(self, name: str, index: str | None = None, constant: bool = False, of: str = "%ctx") -> str:
        """A field's value; `constant` promises that it does not change during a launch."""
        kind = self.field_type(name)
        tail = ", !invariant.load !0" if constant else ""
        return self.op(f"load {kind}, ptr {self.field(name, index, of)}{tail}")

    def store(self, name: str, value: str, index: str | None = None, of: str = "%ctx") -> None:
        self.do(f"store {self.field_type(name)} {value}, ptr {self.field(name, index, of)}")

    def set_bits(self, name: str, index: str, bits: str) -> None:
        """Set bits of element `index` of a field."""
        self.store(name, self.or_(self.load(name, index), bits), index)

    # ** structured control flow

    @contextmanager
    def loop(self):
        """Repeats its body until `break_if` of the name it yields."""
        head, after = self.fresh("loop"), self.fresh("done")
        self.do(f"br label %{head}")
        self.start(head)
        yield after
        self.do(f"br label %{head}")
        self.start(after)

    def break_if(self, condition: str, after: str) -> None:
        stay = self.fresh("stay")
        self.do(f"br i1 {condition}, label %{after}, label %{stay}")
        self.start(stay)
