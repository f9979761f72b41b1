"""LLVM IR text, one line at a time, with structured control flow for code written by hand."""

from __future__ import annotations

from contextlib import contextmanager

from dsl.emulator import context


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

    def load_shared(self, name: str, of: str, order: str = "monotonic") -> str:
        """A field that another worker may write meanwhile."""
        kind = self.field_type(name)
        size = 8 if kind == "i64" else 4
        return self.op(f"load atomic volatile {kind}, ptr {self.field(name, of=of)} {order}, align {size}")

    def store_shared(self, name: str, value: str, of: str, order: str = "monotonic") -> None:
        """As `load_shared`."""
        kind = self.field_type(name)
        size = 8 if kind == "i64" else 4
        self.do(f"store atomic volatile {kind} {value}, ptr {self.field(name, of=of)} {order}, align {size}")

    # ** structured control flow

    @contextmanager
    def if_(self, condition: str):
        then, after = self.fresh("then"), self.fresh("after")
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.start(then)
        yield after
        self.do(f"br label %{after}")
        self.start(after)

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

    def return_if(self, condition: str, value: str) -> None:
        leave, stay = self.fresh("leave"), self.fresh("stay")
        self.do(f"br i1 {condition}, label %{leave}, label %{stay}")
        self.start(leave)
        self.do(f"ret {value}")
        self.start(stay)

    @contextmanager
    def for_range(self, end: str):
        """i32 counting from 0 to `end`; yields the index."""
        slot = self.alloca("i32", 4)
        self.do(f"store i32 0, ptr {slot}")
        with self.loop() as done:
            index = self.op(f"load i32, ptr {slot}")
            self.break_if(self.op(f"icmp uge i32 {index}, {end}"), done)
            yield index
            self.do(f"store i32 {self.op(f'add i32 {index}, 1')}, ptr {slot}")

    @contextmanager
    def for_bits(self, bits: str):
        """The positions of the set bits of an i32, lowest first."""
        slot = self.alloca("i32", 4)
        self.do(f"store i32 {bits}, ptr {slot}")
        with self.loop() as done:
            rest = self.op(f"load i32, ptr {slot}")
            self.break_if(self.op(f"icmp eq i32 {rest}, 0"), done)
            less = self.op(f"sub i32 {rest}, 1")
            self.do(f"store i32 {self.op(f'and i32 {rest}, {less}')}, ptr {slot}")
            yield self.op(f"call i32 @llvm.cttz.i32(i32 {rest}, i1 true)")

    def function(self, head: str) -> str:
        """The finished function; `head` is `define ... (...)`."""
        lines = [head + " {", "entry:", *self.allocas, *self.lines, "}"]
        return "\n".join(lines)


# ** what the scheduler's files share: code about thread %tid of the context %ctx


def lane_of(f: Builder) -> tuple[str, str]:
    """The warp of %tid, and its bit in the warp's masks."""
    return f.lshr("%tid", 5), f.shl(1, f.and_("%tid", 31))


def set_bits(f: Builder, name: str, index: str, bits: str) -> None:
    """Set bits of element `index` of a field."""
    f.store(name, f.or_(f.load(name, index), bits), index)


def clear_bits(f: Builder, name: str, index: str, bits: str) -> None:
    """As `set_bits`."""
    f.store(name, f.and_(f.load(name, index), f.not_(bits)), index)


def first_bit(f: Builder, bits: str) -> str:
    """The position of the lowest set bit of an i32."""
    return f.op(f"call i32 @llvm.cttz.i32(i32 {bits}, i1 false)")


def fault_if(f: Builder, condition: str, detail: int, value: str = "0") -> None:
    """An illegal instruction of thread %tid at %site; the function returns 0."""
    bad, fine = f.fresh("illegal"), f.fresh("legal")
    f.do(f"br i1 {condition}, label %{bad}, label %{fine}")
    f.start(bad)
    where = f"i32 {context.ILLEGAL}, i32 %site, i32 %tid"
    f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {value}, i64 0, i64 {detail})")
    f.do("ret i32 0")
    f.start(fine)


# ** the slots of a cluster: see runtime/clusters.py


@contextmanager
def mates(f: Builder, first: str):
    """Repeats its body for each slot of a cluster, which it yields, from that of `first` on."""
    place = f.alloca("ptr")
    f.put(place, first, "ptr")
    head, after = f.fresh("mates"), f.fresh("done")
    f.do(f"br label %{head}")
    f.start(head)
    slot = f.get(place, "ptr")
    yield slot
    following = f.cast("inttoptr", f.load("mate", of=slot), "i64", "ptr")
    f.put(place, following, "ptr")
    f.do(f"br i1 {f.cmp('eq', following, first, 'ptr')}, label %{after}, label %{head}")
    f.start(after)


def is_absent(f: Builder, slot: str) -> str:
    """Whether the block of a slot has ended while others of its cluster run."""
    bit = f.cast("zext", f.add(f.load("cluster_rank", of=slot), 1), "i32", "i64")
    return f.cmp("ne", f.and_(f.lshr(f.load("absent", of=slot), bit, "i64"), 1, "i64"), 0, "i64")
