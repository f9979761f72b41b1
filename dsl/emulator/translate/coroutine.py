"""An entry as an LLVM module: a loop over threads where they never meet, else one coroutine a thread."""

from __future__ import annotations

from dsl.emulator.families import table as isa
from dsl.emulator.ir import operand_grammar
from dsl.emulator.ir.body import Body, Frame
from dsl.emulator.ir.builder import Builder
from dsl.emulator.ir.places import Places
from dsl.emulator.machine import context, native
from dsl.emulator.ptx.analysis import any_nan_registers, is_clustered, reachable
from dsl.emulator.ptx.polling import PATIENCE, Poll, polls
from dsl.emulator.ptx.syntax import Function, Instr, Label, Module, PtxError, Reg
from dsl.emulator.ptx.traits import LOAD, PARTS, STORE, UPDATES, WAIT

_METADATA = """
!0 = !{}
!1 = !{!"branch_weights", i32 2000, i32 1}
!2 = !{!"branch_weights", i32 1, i32 2000}
"""
MOST_SUSPENSIONS = 24  # of a coroutine whose registers LLVM may hold over them
MARK = ".mark"  # what checked code keeps with a register's slot
PRIVATE = frozenset({"param", "const", "local"})


class Thread(Body):
    """The IR of one entry's threads. `seeded` ones give way before each access to memory that others see.

    `quick`: for code without optimisation, whose time must not grow with what it does not run.
    """

    in_regions = False  # whether code runs for all threads of a block, region by region

    def __init__(self, module: Module, entry: Function, places: Places, place_of, seeded=False, quick=False):
        functions = reachable(module, entry)
        self.polls_by_function = {f.name: polls(f, module.functions) for f in functions}
        waits = (poll for rows in self.polls_by_function.values() for poll in rows.values() if not poll.ends)
        self.gives_way, self.spins = seeded, seeded or any(waits)
        clustered = is_clustered(functions)
        meets = (
            self.spins
            or clustered
            or any(
                (row := isa.find(item)) is not None and row.meets
                for f in functions
                for item in f.items
                if isinstance(item, Instr)
            )
        )
        super().__init__(module, entry, places, meets, place_of)
        self.clustered = clustered
        if clustered:
            self.uses.add("cluster")
        self.hits_in_memory |= quick
        self.any_nan = any_nan_registers(entry)
        self.label_positions: dict[str, int] = {}
        self.polls: dict[str, Poll] = {}
        self.outer_poll: Poll | None = None  # the idle loop that calls the function whose code is being made
        self.position = 0
        self.pending: list[tuple] = []
        self.suspensions = 0
        self.first_touch: dict[str, int] = {}  # how many suspensions come before a register's first access, in the text
        self.crossing: set[str] = set()  # registers that are used on both sides of one
        self.cold_text = ""  # a second module, of functions that this one seldom calls

    # ** leaving and waiting

    def suspend(self) -> None:
        """Give way to the scheduler; goes on when this thread is ready again."""
        if self.gives_way and self.idle_poll is None:
            self.store("idle", "0")
        if (poll := self.idle_poll or self._looking_poll()) is not None:
            if not poll.idle:
                self.store("idle", "0")
            linear = self.threads["linear"]
            self.set_bits("polling", self.lshr(linear, 5), self.shl(1, self.and_(linear, 31)))
            self.store("poll_site", str(self.site(poll.instr)), linear)
        resumed = self.fresh("resumed")
        state = self.op("call i8 @llvm.coro.suspend(token none, i1 false)")
        self.do(f"switch i8 {state}, label %coro.out [i8 0, label %{resumed} i8 1, label %coro.clean]")
        self.start(resumed, keep=True)
        self.suspensions += 1
        self.values.clear()  # see `_registers`

    def slot(self, reg: Reg) -> str:
        slot = super().slot(reg)
        if self.first_touch.setdefault(slot, self.suspensions) != self.suspensions:
            self.crossing.add(slot)
        return slot

    def stop_unless(self, flag: str, kind: str = "i32") -> None:
        """End the launch where `flag` is 0."""
        condition = flag if kind == "i1" else self.cmp("ne", flag, 0, kind)
        after = self.fresh("fine")
        self.do(f"br i1 {condition}, label %{after}, label %stop, !prof !1")
        self.start(after, keep=True)

    @property
    def idle_poll(self) -> Poll | None:
        """The idle loop (polling.py) that the current instruction is in, the outermost one."""
        if self.outer_poll is not None:
            return self.outer_poll
        around = [each for each in self.polls.values() if each.idle and self.position in each.positions]
        return max(around, key=lambda each: len(each.positions), default=None)

    def _looking_poll(self) -> Poll | None:
        """A loop that only looks, but ends by itself, that the current instruction is in."""
        around = (each for each in self.polls.values() if each.looks and self.position in each.positions)
        return next(around, None)

    # ** branches

    def target(self, instr, name: str) -> str:
        """The block to branch to; a backward branch goes through a poll of the stop flag."""
        label = self.label(name)
        if name not in self.label_positions:
            raise PtxError(f"there is no label `{name}`")
        if self.label_positions[name] > self.position:
            return label
        poll = self.fresh("poll")
        self.pending.append((poll, label, self.polls.get(name), instr))
        return poll

    def emit_polls(self) -> None:
        """The poll blocks of the branches just emitted; spin loops also let other threads run."""
        for poll, label, wait, instr in self.pending:
            self.start(poll)
            stop = self.op(f"load volatile i32, ptr {self.field('stop')}")
            stopped, on = self.fresh("stopped"), self.fresh("on")
            self.do(f"br i1 {self.cmp('ne', stop, 0)}, label %{stopped}, label %{on}, !prof !2")
            self.start(stopped)
            ends = self.fresh("ends")
            answer = self.op(f"call i32 @emu_take_signals(i64 {self.cast('ptrtoint', '%ctx', 'ptr', 'i64')})")
            self.do(f"br i1 {self.cmp('eq', answer, 0)}, label %{on}, label %{ends}, !prof !2")
            self.start(ends)
            self.store("status", str(context.INTERRUPTED))
            self.store("stopped_site", str(self.site(instr) + 1))
            self.store("stopped_thread", str(context.ALL_THREADS) if self.in_regions else self.threads["linear"])
            self.branch("stop")
            self.start(on)
            if wait is not None and self.coroutine:
                self._give_way(wait)
            self.branch(label)
        self.pending.clear()

    def _give_way(self, wait) -> None:
        """A round of a loop that polls is over: let other threads run, at once or after some rounds. See polling.py."""
        after = None
        if not wait.at_once:
            slot, stays, after = self.alloca("i32", 4), self.fresh("stays"), self.fresh("goes")
            self.prologue.append(f"  store i32 0, ptr {slot}")
            rounds = self.add(self.get(slot), 1)
            self.put(slot, rounds)
            self.do(f"br i1 {self.cmp('ugt', rounds, PATIENCE)}, label %{stays}, label %{after}")
            self.start(stays)
            self.put(slot, PATIENCE)
        linear = self.threads["linear"]
        if not wait.instr.traits & WAIT:
            self.store("wait_site", str(self.site(wait.instr)), linear)
        if self.idle_poll is None:
            self.store("idle", "0")
        self.suspend()
        if after is not None:
            self.branch(after)
            self.start(after)

    # ** functions

    def emit_function(self, function: Function) -> None:
        """The body of `function` in the current frame; control ends at the frame's `leave`."""
        outer = self.label_positions, self.polls, self.position, self.outer_poll
        self.outer_poll = self.idle_poll
        self.param_slots(function.variables)
        self.label_positions = {item.name: i for i, item in enumerate(function.items) if isinstance(item, Label)}
        self.polls = self.polls_by_function[function.name]
        for self.position, item in enumerate(function.items):
            if isinstance(item, Label):
                label = self.label(item.name)
                self.branch(label)
                self.start(label)
                self.reached(item.name)
            else:
                self.instruction(item)
        self.branch(self.frame.leave)
        self.start(self.fresh("dead"))
        self.label_positions, self.polls, self.position, self.outer_poll = outer

    def instruction(self, instr: Instr) -> None:
        row = isa.find(instr)
        if row is None:
            if instr.opcode not in isa.ROWS:
                raise self.refuse(instr)
            if why := isa.problem(instr):
                fix = "correct the modifiers; if ptxas takes them, run this program on a GPU"
                raise self.refuse(instr, f"the emulator has no such form, {why}", fix)
            raise self.refuse(instr, "the emulator does not support this form")
        why, fix = isa.need(instr).refusal(self.module.target, self.module.version)
        if why:
            raise self.refuse(instr, why, fix)
        wanted = row.operands or isa.OPERANDS.get(instr.opcode)
        if wanted and (why := operand_grammar.problem(wanted, instr)):
            raise self.malformed(instr, why)
        if instr.selectors and not row.traits & PARTS:
            raise self.malformed(instr, f"`{instr.opcode}` takes no part of a register and no negated one")
        if self.gives_way and instr.traits & (LOAD | STORE | UPDATES) and PRIVATE.isdisjoint(instr.mods):
            self.suspend()
        self.set_widths(instr)
        try:
            if instr.guard is None or instr.opcode == "bra":
                self.emit(row, instr)
            else:
                self.guarded(instr, row)
        except PtxError as error:
            if error.line:  # of an instruction of a function that this one calls
                raise
            raise self.malformed(instr, str(error)) from None
        except (IndexError, ValueError, AttributeError, StopIteration, TypeError, KeyError) as error:
            raise self.malformed(instr, "operands must be the ones that the PTX ISA has") from error

    def emit(self, row: isa.Row, instr: Instr) -> None:
        """The code of an instruction whose guard holds."""
        row.emit(self, instr)

    def guarded(self, instr: Instr, row: isa.Row) -> None:
        condition = self.read(instr.guard, 1)
        then, after = self.fresh("do"), self.fresh("next")
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        values, written, checked, suspensions = dict(self.values), self.written, set(self.checked), self.suspensions
        self.written = set()
        self.start(then, keep=True)
        self.emit(row, instr)
        self.branch(after)
        self.start(after)
        if suspensions == self.suspensions:
            self.values.update((slot, value) for slot, value in values.items() if slot not in self.written)
        self.written |= written
        self.checked = checked

    # ** the two shapes of a block of threads

    def module_text(self) -> str:
        """The finished LLVM module; it exports @block(ptr ctx)."""
        frame = Frame(self.entry, 0, leave="exit")
        self.frames.append(frame)
        head = Builder("%h")  # what runs once a block
        self._entry_values(head)
        for variable, offset in zip(self.entry.params, self.places.param_offsets):
            pointer = f"%param{len(frame.params)}"
            head.do(f"{pointer} = getelementptr i8, ptr %params, i64 {offset}")
            frame.params[variable.name] = (pointer, variable.size)
        self.emit_function(self.entry)
        self.branch("exit")
        text = self._coroutine(head) if self.coroutine else self._loop(head)
        tail = _METADATA + f"!3 = !{{i64 {max(self.places.param_bytes, 1)}}}\n"
        return text + "\n" + native.declarations(text) + tail

    def _entry_values(self, head) -> None:
        head.do(f"%params = load ptr, ptr {head.field('params')}, !invariant.load !0, !dereferenceable !3")
        for i, axis in enumerate("xyz"):
            head.do(f"%block_{axis} = load i32, ptr {head.field('block_index', str(i))}")
            head.do(f"%n{axis} = load i32, ptr {head.field('block_dim', str(i))}, !invariant.load !0")
            self.threads["block_" + axis] = f"%block_{axis}"
            self.threads[axis] = f"%thread_{axis}"
        self.threads["linear"] = "%thread"

    def _last_hits(self, head) -> None:
        """Load the stack slots that cache what an access hit last: the block before may know."""
        base = head.cast("inttoptr", head.load("sites", constant=True), "i64", "ptr")
        for site, *slots in self.cached_sites:
            for i, (part, slot) in enumerate(zip(("lo", "limit"), slots)):
                head.do(f"%site{site}.{part} = getelementptr i64, ptr {base}, i64 {2 * site + i}")
                head.put(slot, head.get(f"%site{site}.{part}", "i64"), "i64")

    def _loop(self, head) -> str:
        lines = ["define void @block(ptr %ctx) {", "entry:", *self.allocas]
        lines += [f"  %slot_{name} = alloca i32" for name in ("x", "y", "z", "linear")]
        self._last_hits(head)
        lines += head.lines
        lines += ["  store i32 0, ptr %slot_linear", "  store i32 0, ptr %slot_z", "  br label %head_z"]
        lines += ["head_z:", "  store i32 0, ptr %slot_y", "  br label %head_y"]
        lines += ["head_y:", "  store i32 0, ptr %slot_x", "  br label %head_x", "head_x:"]
        lines += [f"  %thread_{axis} = load i32, ptr %slot_{axis}" for axis in "xyz"]
        lines += ["  %thread = load i32, ptr %slot_linear", *self.prologue, *self.lines]
        lines += ["exit:", "  %linear1 = add i32 %thread, 1", "  store i32 %linear1, ptr %slot_linear"]
        for axis, after in (("x", "y"), ("y", "z"), ("z", None)):
            lines += [f"  %next_{axis} = add i32 %thread_{axis}, 1"]
            lines += [f"  store i32 %next_{axis}, ptr %slot_{axis}"]
            lines += [f"  %more_{axis} = icmp ult i32 %next_{axis}, %n{axis}"]
            done = f"done_{axis}" if after else "stop"
            lines += [f"  br i1 %more_{axis}, label %head_{axis}, label %{done}"]
            lines += [f"{done}:"]
        return "\n".join([*lines, "  ret void", "}"])

    def _registers(self) -> tuple[list[str], list[str]]:
        """A coroutine's slots: lines for its entry, and for after it has begun, which set those to zero.

        What LLVM holds in registers over a suspension it saves, or computes again after each: the code of many in a row
        would grow with the square of their number. Then such registers are in memory that LLVM believes to be seen by
        others, in which each is saved where it is set and loaded where it is used.
        """
        if self.suspensions <= MOST_SUSPENSIONS:
            return self.allocas, self.prologue
        entry, begun, kept, offset = [], [], set(), 0
        for line in self.allocas:
            name, _, kind = line.strip().partition(" = alloca i")
            if name.removesuffix(MARK) not in self.crossing:
                entry.append(line)
                continue
            kept.add(name)
            cell_bytes = 8 if int(kind) <= 64 else 16
            offset = -(-offset // cell_bytes) * cell_bytes
            begun.append(f"  {name} = getelementptr i8, ptr %registers, i64 {offset}")
            offset += cell_bytes
        size = max(offset, 1)
        entry.append(f"  %registers = alloca [{size} x i8], align 16")
        begun.append(f"  call void @llvm.memset.p0.i64(ptr %registers, i8 0, i64 {size}, i1 false)")
        begun.append('  call void asm sideeffect "", "r,~{memory}"(ptr %registers)')
        return entry, begun + [line for line in self.prologue if line.rpartition("ptr ")[2] not in kept]

    def _coroutine(self, head) -> str:
        entry, begun = self._registers()
        lines = ["define internal ptr @thread(ptr %ctx, i32 %thread) presplitcoroutine {", "entry:", *entry]
        lines += [
            "  %id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)",
            "  %size = call i64 @llvm.coro.size.i64()",
            "  %memory = call ptr @emu_frame(ptr %ctx, i32 %thread, i64 %size)",
            "  %handle = call ptr @llvm.coro.begin(token %id, ptr %memory)",
            *head.lines,
            "  %row = udiv i32 %thread, %nx",
            "  %thread_x = urem i32 %thread, %nx",
            "  %thread_y = urem i32 %row, %ny",
            "  %thread_z = udiv i32 %row, %ny",
            *begun,
            *self.lines,
            "exit:",
            *(["  call void @emu_bulk_exit(ptr %ctx, i32 %thread)"] if "bulk" in self.uses else []),
            "  call void @emu_exit(ptr %ctx, i32 %thread)",
            "  br label %stop",
            "stop:",
            "  %last = call i8 @llvm.coro.suspend(token none, i1 true)",
            "  switch i8 %last, label %coro.out [i8 0, label %coro.clean i8 1, label %coro.clean]",
            "coro.clean:",
            "  %freed = call ptr @llvm.coro.free(token %id, ptr %handle)",
            "  br label %coro.out",
            "coro.out:",
            "  call void @llvm.coro.end(ptr %handle, i1 false, token none)",
            "  ret ptr %handle",
            "}",
            "define void @block(ptr %ctx) {",
            "  call void @emu_run_block(ptr %ctx, ptr @thread)",
            "  ret void",
            "}",
        ]
        return "\n".join(lines)
