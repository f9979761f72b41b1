"""Regions thread by thread, with every check inline: functions of their own, seldom called and compiled quickly.

The kernel's values reach them as arguments, and the arrays as pointers that they do not keep; what a region leaves for
all threads comes back in `out`, 8 bytes a value.
"""

from __future__ import annotations

from contextlib import contextmanager

from dsl.emulator.builder import Builder
from dsl.emulator.ptx.syntax import Reg
from dsl.emulator.translate.affine import FLAT, Linear
from dsl.emulator.translate.uniform_branches import reads, writes

SLOW_LOOP = "!11, !12"


class Given:
    """What a function of this kind is given: (type, name inside, value or pointer outside, whether to load it)."""

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


@contextmanager
def function(lanes, name: str):
    """Emit @name, whose answer is whether to go on; yields what it is given. Ends with a branch to `end`."""
    frame, outer = lanes.frame, (lanes.lines, lanes.allocas, lanes.prologue, lanes.mode)
    registers, frame.slots, frame.loaded = (frame.slots, frame.loaded), {}, set()
    lanes.lines, lanes.allocas, lanes.prologue, lanes.mode = [], [], [], "head"
    captured = lanes.given = Given()
    yield captured
    arguments = "".join(f", {kind} {inside}" for kind, inside, _, _ in captured.rows)
    lanes.cold.append("\n".join([
        f"define i1 @{name}(ptr %ctx, ptr %out{arguments}) {{", "entry:", *lanes.allocas, *lanes.prologue,
        *lanes.common, *lanes.lines, "end:", "  ret i1 true", "stop:", "  ret i1 false", "}",
    ]))  # fmt: skip
    lanes.cold_names.append((name, "".join(f", {kind}" for kind, *_ in captured.rows)))
    lanes.given = None
    lanes.lines, lanes.allocas, lanes.prologue, lanes.mode = outer
    frame.slots, frame.loaded = registers


def call(lanes, name: str, captured: Given) -> None:
    """Call a finished function; the launch ends where it says so."""
    arguments = ""
    for kind, _, outside, load in captured.rows:
        arguments += f", {kind} {lanes.get(outside, kind) if load else outside}"
    lanes.stop_unless(lanes.op(f"call i1 @{name}(ptr %ctx, ptr %out{arguments})"), "i1")


@contextmanager
def each(lanes, tag: str):
    """A loop over all threads of the block, one by one; sets lanes.threads."""
    lanes.do(f"br label %{tag}.top")
    Builder.start(lanes, f"{tag}.top")
    lanes.do(f"br label %{tag}.head")
    Builder.start(lanes, f"{tag}.head")
    place = f"%{tag}.place"
    lanes.do(f"{place} = phi i32 [0, %{tag}.top], [%{tag}.more, %{tag}.next]")
    x, row = lanes.op(f"urem i32 {place}, %nx"), lanes.op(f"udiv i32 {place}, %nx")
    y, z = lanes.op(f"urem i32 {row}, %ny"), lanes.op(f"udiv i32 {row}, %ny")
    lanes.threads = lanes.block_threads | {"x": x, "y": y, "z": z, "linear": place}
    yield place
    lanes.branch(f"{tag}.next")
    Builder.start(lanes, f"{tag}.next")
    lanes.do(f"%{tag}.more = add i32 {place}, 1")
    again = lanes.cmp("ult", f"%{tag}.more", "%threads")
    lanes.do(f"br i1 {again}, label %{tag}.head, label %{tag}.done{lanes.loop_metadata(SLOW_LOOP)}")
    Builder.start(lanes, f"{tag}.done")
    lanes.threads = lanes.block_threads


def _here(lanes, name: str, bits: int) -> str:
    """The kept value of a linear register for the thread of an `each` loop."""
    place = [lanes.resize(lanes.threads[axis], 32, bits) for axis in "xyz"]
    return lanes.at(lanes.stored(name), place, bits)


def spill(lanes, live: int) -> None:
    """Put linear registers into their arrays."""
    rows = [row for row in lanes.plan.names(live) if lanes.plan.classes.get(row[0]) not in (None, FLAT)]
    if rows:
        with each(lanes, "spill") as place:
            for name, bits in rows:
                lanes.array_put(name, bits, place, _here(lanes, name, bits), "i32")


def ragged(lanes) -> None:
    """From here on linear registers are in arrays, and regions run thread by thread."""
    name = f"ragged{lanes.number}"
    with function(lanes, name) as captured:
        spill(lanes, lanes.plan.live[lanes.position])
        lanes.branch("end")
    call(lanes, name, captured)
    lanes.put("%degraded", "true", "i1")


def region(lanes, outs, last) -> None:
    """A region thread after thread; then registers are kept as after the loop for vectors."""
    plan, name = lanes.plan, f"region{lanes.number}"
    with function(lanes, name) as captured:
        degraded = captured.value("i1", "%degraded")
        if lanes.conditions:
            wrapped = captured.value("i1", "%wrapped")
            lanes.do(f"br i1 {wrapped}, label %wrap, label %run")
            Builder.start(lanes, "wrap")
            spill(lanes, plan.live[lanes.start_at])
            lanes.branch("run")
            Builder.start(lanes, "run")
        slots = {reg: lanes.alloca(f"i{bits}") for reg, bits in outs if plan.classes[reg] == FLAT}
        flag = lanes.alloca("i1")
        with each(lanes, "one") as place:
            if plan.leaves:
                captured.array("%active")
                left = lanes.get(lanes.op(f"getelementptr i8, ptr %active, i32 {place}"), "i8")
                lanes.do(f"br i1 {lanes.cmp('ne', left, 0, 'i8')}, label %here, label %one.next")
                Builder.start(lanes, "here")
            _thread(lanes, place, degraded, outs, last, slots, flag)
        rows = [(lanes.get(slots[reg], f"i{bits}"), bits) for reg, bits in outs if reg in slots]
        for reg, bits in outs:
            if plan.classes[reg] not in (None, FLAT):
                rows += [(value, bits) for value in _restored(lanes, reg, bits)]
        if lanes.flag is not None:
            rows.append((lanes.get(flag, "i1"), 1))
        for i, (value, bits) in enumerate(rows):
            lanes.put(lanes.op(f"getelementptr i64, ptr %out, i64 {i}"), lanes.resize(value, bits, 64), "i64")
        lanes.branch("end")
    call(lanes, name, captured)
    if lanes.conditions:
        lanes.put("%degraded", lanes.or_(lanes.get("%degraded", "i1"), lanes.get("%wrapped", "i1"), "i1"), "i1")
    places = [(lanes.kept(reg), bits) for reg, bits in outs if plan.classes[reg] == FLAT]
    for reg, bits in outs:
        if plan.classes[reg] not in (None, FLAT):
            places.append((lanes.kept(reg), bits))
            places += [(lanes.kept(reg, i + 1), bits) for i, s in enumerate(plan.classes[reg]) if s == "?"]
    if lanes.flag is not None:
        places.append(("%branch", 1))
    lanes.most_out = max(lanes.most_out, len(places))
    for i, (place, bits) in enumerate(places):
        value = lanes.get(lanes.op(f"getelementptr i64, ptr %out, i64 {i}"), "i64")
        lanes.put(place, lanes.resize(value, 64, bits), f"i{bits}")


def _thread(lanes, place: str, degraded: str, outs, last, slots: dict, flag: str) -> None:
    """One thread's run of the region."""
    plan = lanes.plan
    used = {reg.name for instr in lanes.instrs for reg in (*reads(instr), *writes(instr))}
    guard = last.guard if last is not None and (lanes.flag is not None or lanes.leaver is not None) else None
    if guard is not None:
        used.update(reg.name for reg in reads(last))
    values = []
    for name, bits in plan.names(plan.live[lanes.start_at]):
        if name not in used:
            continue
        strides = plan.classes[name]
        value = _here(lanes, name, bits) if strides is not None else lanes.array_get(name, bits, place, "i32")
        if plan.degrades and strides not in (None, FLAT):
            value = lanes.select(degraded, lanes.array_get(name, bits, place, "i32"), value, f"i{bits}")
        values.append((name, bits, value))
    lanes.values.clear()
    lanes.checked.clear()
    with lanes.into(lanes.lines, "alone"):
        for name, bits, value in values:
            lanes.write(Reg(name, bits), value, bits)
        for instr in lanes.instrs:
            lanes.instruction(instr)
        for name, bits in outs:
            value = lanes.read_reg(Reg(name, bits))
            if name in slots:
                lanes.put(slots[name], value, f"i{bits}")
            else:
                lanes.array_put(name, bits, place, value, "i32")
        if lanes.flag is not None:
            lanes.put(flag, lanes.read(guard, 1), "i1")
        elif lanes.leaver is not None:
            lanes.given.array("%leave")
            leaves = lanes.cast("zext", lanes.read(guard, 1), "i1", "i8")
            lanes.do(f"store i8 {leaves}, ptr {lanes.op(f'getelementptr i8, ptr %leave, i32 {place}')}")


def _restored(lanes, name: str, bits: int) -> list[str]:
    """The base and strides of a register from its array. Where it is no longer linear nobody reads them."""
    base = lanes.array_get(name, bits, "0")
    rows, step = [base], "1"
    for axis, stride in enumerate(lanes.plan.classes[name]):
        if stride == "?":
            letter = "xyz"[axis]
            count = lanes.given.value("i64", f"%count_{letter}") if lanes.plan.leaves else f"%wide_{letter}"
            several = lanes.cmp("ugt", count, 1, "i64")
            other = lanes.array_get(name, bits, lanes.select(several, step, 0, "i64"))
            rows.append(lanes.sub(other, base, f"i{bits}"))
        step = lanes.mul(step, f"%wide_{'xyz'[axis]}", "i64")
    return rows
