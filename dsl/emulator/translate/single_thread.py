"""Regions thread by thread, with every check inline: separate functions, seldom called and compiled quickly.

The kernel's values reach them as arguments, and the arrays as pointers that they do not keep; what a region leaves for
all threads comes back in `out`, 8 bytes a value.
"""

from __future__ import annotations

from contextlib import contextmanager

from dsl.emulator.ir.affine import FLAT
from dsl.emulator.ir.builder import Builder
from dsl.emulator.ptx.operands import reads, registers, writes
from dsl.emulator.ptx.syntax import Reg
from dsl.emulator.translate import collectives, leaving_threads
from dsl.emulator.translate.kept_registers import Captured
from dsl.emulator.translate.region import ALONE, HEAD
from dsl.emulator.translate.vector_loop import ONE_BY_ONE


class SingleThread:
    """The functions of one kernel that run a region for one thread after another."""

    def __init__(self, code):
        self.code = code
        self.common: list[str] = []  # what each of them begins with
        self.texts: list[str] = []
        self.most_out = 0  # values that one of them leaves
        self._names: list[tuple[str, str]] = []

    def declarations(self) -> list[str]:
        return [f"declare i1 @{name}(ptr, ptr captures(none){kinds}) cold" for name, kinds in self._names]

    # ** functions

    @contextmanager
    def _function(self, name: str):
        """Emit @name, whose answer is whether to go on; yields what it is handed. Ends with a branch to `end`."""
        code, frame = self.code, self.code.frame
        outer = code.lines, code.allocas, code.prologue, code.mode
        registers, frame.slots, frame.loaded = (frame.slots, frame.loaded), {}, set()
        code.lines, code.allocas, code.prologue, code.mode = [], [], [], HEAD
        captured = code.kept.captured = Captured()
        yield captured
        arguments = "".join(f", {kind} {inside}" for kind, inside, _, _ in captured.rows)
        self.texts.append("\n".join([
            f"define i1 @{name}(ptr %ctx, ptr %out{arguments}) {{", "entry:", *code.allocas, *code.prologue,
            *self.common, *code.lines, "end:", "  ret i1 true", "stop:", "  ret i1 false", "}",
        ]))  # fmt: skip
        self._names.append((name, "".join(f", {kind}" for kind, *_ in captured.rows)))
        code.kept.captured = None
        code.lines, code.allocas, code.prologue, code.mode = outer
        frame.slots, frame.loaded = registers

    def _call(self, name: str, captured: Captured) -> None:
        """Call a finished function; its result may end the launch."""
        code, arguments = self.code, ""
        for kind, _, outside, load in captured.rows:
            arguments += f", {kind} {code.get(outside, kind) if load else outside}"
        code.stop_unless(code.op(f"call i1 @{name}(ptr %ctx, ptr %out{arguments})"), "i1")

    @contextmanager
    def _each(self, tag: str):
        """A loop over all threads of the block, one by one; sets the emitter's threads."""
        code = self.code
        code.do(f"br label %{tag}.top")
        Builder.start(code, f"{tag}.top")
        code.do(f"br label %{tag}.head")
        Builder.start(code, f"{tag}.head")
        place = f"%{tag}.place"
        code.do(f"{place} = phi i32 [0, %{tag}.top], [%{tag}.more, %{tag}.next]")
        x, row = code.op(f"urem i32 {place}, %nx"), code.op(f"udiv i32 {place}, %nx")
        y, z = code.op(f"urem i32 {row}, %ny"), code.op(f"udiv i32 {row}, %ny")
        code.threads = code.block_threads | {"x": x, "y": y, "z": z, "linear": place}
        yield place
        code.branch(f"{tag}.next")
        Builder.start(code, f"{tag}.next")
        code.do(f"%{tag}.more = add i32 {place}, 1")
        again = code.cmp("ult", f"%{tag}.more", "%threads")
        code.do(f"br i1 {again}, label %{tag}.head, label %{tag}.done{code.loop_metadata(ONE_BY_ONE)}")
        Builder.start(code, f"{tag}.done")
        code.threads = code.block_threads

    # ** linear registers that stop being linear

    def ragged(self) -> None:
        """From here on linear registers are in arrays, and regions run thread by thread."""
        code = self.code
        name = f"ragged{code.region.number}"
        with self._function(name) as captured:
            self._spill(code.plan.live[code.position])
            code.branch("end")
        self._call(name, captured)
        code.put("%degraded", "true", "i1")

    def _spill(self, live: int) -> None:
        """Put linear registers into their arrays."""
        code = self.code
        rows = [row for row in code.plan.names(live) if code.plan.classes.get(row[0]) not in (None, FLAT)]
        if rows:
            with self._each("spill") as place:
                for name, bits in rows:
                    code.kept.store(name, bits, place, self._linear(name, bits), "i32")

    def _linear(self, name: str, bits: int) -> str:
        """The kept value of a linear register for the thread of the loop."""
        code = self.code
        return code.at(code.kept.form(name), [code.resize(code.threads[axis], 32, bits) for axis in "xyz"], bits)

    # ** a region

    def run(self, outs: list[tuple[str, int]], last) -> None:
        """The region thread after thread; then registers are kept as after the loop for vectors.

        `outs` has the (name, bits) of registers that it sets and that live on, `last` is its branch or exit.
        """
        code, region, classes = self.code, self.code.region, self.code.plan.classes
        name = f"region{region.number}"
        with self._function(name) as captured:
            degraded = captured.value("i1", "%degraded")
            if region.conditions:
                self._spill_where_wrapped(captured)
            slots = {reg: code.alloca(f"i{bits}") for reg, bits in outs if classes[reg] == FLAT}
            flag = code.alloca("i1")
            with self._each("one") as place:
                if code.plan.leaves:
                    captured.array("%active")
                    active = code.get(code.op(f"getelementptr i8, ptr %active, i32 {place}"), "i8")
                    code.do(f"br i1 {code.cmp('ne', active, 0, 'i8')}, label %here, label %one.next")
                    Builder.start(code, "here")
                self._thread(place, degraded, outs, last, slots, flag)
            self._hand_back(outs, slots, flag)
            code.branch("end")
        if code.plan.leaves:
            code.do("call void @emu_trim(ptr %ctx, ptr %active, ptr %box)")
        self._call(name, captured)
        if region.conditions:
            code.put("%degraded", code.or_(code.get("%degraded", "i1"), code.get("%wrapped", "i1"), "i1"), "i1")
        self._take_back(outs)

    def _spill_where_wrapped(self, captured: Captured) -> None:
        code = self.code
        wrapped = captured.value("i1", "%wrapped")
        code.do(f"br i1 {wrapped}, label %wrap, label %run")
        Builder.start(code, "wrap")
        self._spill(code.plan.live[code.region.first])
        code.branch("run")
        Builder.start(code, "run")

    def _thread(self, place: str, degraded: str, outs, last, slots: dict[str, str], flag: str) -> None:
        """One thread's run of the region."""
        code, region = self.code, self.code.region
        decides = last is not None and (region.branch is not None or region.leaver is not None)
        values = self._values(place, degraded, last if decides else None)
        code.values.clear()
        code.checked.clear()
        with code.into(code.lines, ALONE):
            for name, bits, value in values:
                code.write(Reg(name, bits), value, bits)
            for instr in region.instrs:
                code.instruction(instr)
            for name, bits in outs:
                value = code.read_reg(Reg(name, bits))
                if name in slots:
                    code.put(slots[name], value, f"i{bits}")
                else:
                    code.kept.store(name, bits, place, value, "i32")
            if region.collective is not None:
                collectives.give(code, region.collective, place, "i32")
            if region.branch is not None:
                code.put(flag, code.read(last.guard, 1), "i1")
            elif region.leaver is not None:
                code.kept.captured.array("%leave")
                leaves = leaving_threads.leaves(code)
                code.do(f"store i8 {leaves}, ptr {code.op(f'getelementptr i8, ptr %leave, i32 {place}')}")

    def _values(self, place: str, degraded: str, last) -> list[tuple[str, int, str]]:
        """(name, bits, value) of the registers that a thread needs, as they are kept."""
        code, plan = self.code, self.code.plan
        used = {reg.name for instr in code.region.instrs for reg in (*reads(instr), *writes(instr))}
        if code.region.collective is not None:
            used.update(reg.name for _, operand, _ in code.region.collective.given for reg in registers(operand))
        if last is not None and last.guard is not None:
            used.update(reg.name for reg in reads(last))
        rows = []
        for name, bits in plan.names(plan.live[code.region.first]):
            if name not in used:
                continue
            strides = plan.classes[name]
            value = self._linear(name, bits) if strides is not None else code.kept.load(name, bits, place, "i32")
            if plan.degrades and strides not in (None, FLAT):
                value = code.select(degraded, code.kept.load(name, bits, place, "i32"), value, f"i{bits}")
            rows.append((name, bits, value))
        return rows

    def _hand_back(self, outs, slots: dict[str, str], flag: str) -> None:
        """Store what the caller keeps for all threads: the values of `_places`, in their order."""
        code = self.code
        rows = [(code.get(slots[reg], f"i{bits}"), bits) for reg, bits in outs if reg in slots]
        for reg, bits in outs:
            if code.plan.classes[reg] not in (None, FLAT):
                rows += [(value, bits) for value in self._restored(reg, bits)]
        if code.region.branch is not None:
            rows.append((code.get(flag, "i1"), 1))
        for i, (value, bits) in enumerate(rows):
            code.put(code.op(f"getelementptr i64, ptr %out, i64 {i}"), code.resize(value, bits, 64), "i64")

    def _places(self, outs) -> list[tuple[str, int]]:
        """(slot, bits) of what a region leaves for all threads: flat registers, linear ones, the branch's flag."""
        code, classes = self.code, self.code.plan.classes
        rows = [(code.kept.slot(reg), bits) for reg, bits in outs if classes[reg] == FLAT]
        for reg, bits in outs:
            if classes[reg] not in (None, FLAT):
                rows += [(slot, bits) for slot in code.kept.slots(reg)]
        return rows + [("%branch", 1)] * (code.region.branch is not None)

    def _take_back(self, outs) -> None:
        code, places = self.code, self._places(outs)
        self.most_out = max(self.most_out, len(places))
        for i, (place, bits) in enumerate(places):
            value = code.get(code.op(f"getelementptr i64, ptr %out, i64 {i}"), "i64")
            code.put(place, code.resize(value, 64, bits), f"i{bits}")

    def _restored(self, name: str, bits: int) -> list[str]:
        """The base and strides of a register from its array. If it is no longer linear, nobody reads them."""
        code, captured = self.code, self.code.kept.captured
        first, ends = ["0"] * 3, [f"%wide_{axis}" for axis in "xyz"]
        if code.plan.leaves:
            first, ends = ([captured.value("i64", f"%{what}_{axis}") for axis in "xyz"] for what in ("first", "end"))
        steps = ["1", "%wide_x", code.mul("%wide_x", "%wide_y", "i64")]
        place = "0"
        for step, coordinate in zip(steps, first):
            if coordinate != "0":
                place = code.add(place, code.mul(step, coordinate, "i64"), "i64")
        base = value = code.kept.load(name, bits, place)
        rows = []
        for coordinate, end, step, stride in zip(first, ends, steps, code.plan.classes[name]):
            if stride == "?":
                several = code.cmp("ugt", code.sub(end, coordinate, "i64"), 1, "i64")
                next_place = code.add(place, code.select(several, step, 0, "i64"), "i64")
                stride = code.sub(code.kept.load(name, bits, next_place), value, f"i{bits}")
                rows.append(stride)
            if coordinate != "0" and stride != 0:
                part = code.mul(code.resize(coordinate, 64, bits), stride, f"i{bits}")
                base = code.sub(base, part, f"i{bits}")
        return [base, *rows]
