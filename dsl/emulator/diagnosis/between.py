"""The code between the two accesses of a race, and the fix: which of both comes first in the program, what the
threads passed on the way from it to the other one, and why that orders nothing.

Taken from what both threads did last (check/trail.py). If all threads take the same way through the kernel, rounds
of loops and the order of the text show which access comes first, whichever the emulator happened to run first.
"""

from __future__ import annotations

from typing import NamedTuple

from dsl.emulator.check import trail
from dsl.emulator.check.access import kind_of
from dsl.emulator.check.numbers import access
from dsl.emulator.check.trail import Row
from dsl.emulator.diagnosis import cluster_report, frames, group_waits
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Edit, Fix
from dsl.emulator.diagnosis.reasons import flag_relays, flags, handovers
from dsl.emulator.ptx.syntax import Addr, Instr
from dsl.emulator.ptx.traits import BARRIER, CLUSTER, COPY, EXCHANGE, FENCE, PRODUCT
from dsl.span import Span, short

_FARTHEST = 64  # bytes from the address of an access to one that it touches


class Access(NamedTuple):
    """One side of a race. `row`: its row in its thread's trail; `before`: what the thread did until then;
    `passed`: what it did between both accesses, as far as it got; `after`: what it did since."""

    thread: int
    instr: Instr
    kind: int
    row: Row
    before: list[Row]
    passed: list[Row]
    after: list[Row]

    @property
    def lane(self) -> int:
        return self.thread % 32

    @property
    def writes(self) -> bool:
        return bool(self.kind & access.WRITE)


class Between:
    """Both accesses of a race: `first` and `second` as the program orders them, of one block."""

    def __init__(self, launch):
        self.launch, ctx = launch, launch.ctx
        self.sites: list[Instr] = launch.code.sites
        self.one_warp = ctx.thread // 32 == ctx.other_thread // 32
        ends = (ctx.thread, ctx.site, ctx.detail), (ctx.other_thread, ctx.other_site, ctx.other_kind)
        self.is_one_block = ctx.other_block == ctx.block
        its_slot = next((each for each in launch.slots if each.ctx.block == ctx.other_block), None)
        mine = self._found(self.rows_of(ctx.thread), ctx.site)
        others = self.rows_of(ctx.other_thread, its_slot.ctx) if its_slot is not None else []
        found = [mine, self._found(others, ctx.other_site, near=mine[1])]
        low, high = sorted(row.position for _, row, _ in found)
        sides = []
        for (thread, site, kind), (before, row, after) in zip(ends, found):
            passed = [each for each in (before if row.position == high else after) if low < each.position < high]
            sides.append(Access(thread, self.sites[site], kind, row, before, passed, after))
        self.first, self.second = sorted(sides, key=lambda side: side.row.position)
        self.mine, self.other = sides

    def _found(self, rows: list[Row], site: int, near: Row | None = None) -> tuple[list[Row], Row, list[Row]]:
        """The row of the access of a site that raced, and the rows before and after it: the last one that touches the
        address, or among rows of one stretch the one nearest to another access."""
        address, label = self.launch.ctx.address, self.launch.ctx.other_label
        line = self.sites[site].line
        at = [i for i, row in enumerate(rows) if row.site == site] or [
            i for i, row in enumerate(rows) if self.sites[row.site].line == line
        ]  # fmt: skip
        at = [i for i in at if 0 <= address - rows[i].value < _FARTHEST] or at
        if not at:
            rank = self.launch.code.ranks[site]
            return rows, Row(site, rows[-1].rounds if rows else 0, 0, address, rank), []
        best = at[-1]
        if near is not None and (alike := [i for i in at if rows[i].label == label]):
            best = min(alike, key=lambda i: abs(rows[i].rounds - near.rounds))
        return rows[:best], rows[best], rows[best + 1 :]

    def rows_of(self, thread: int, ctx=None) -> list[Row]:
        return trail.rows_of(ctx or self.launch.ctx, thread, self.launch.code.ranks)

    # ** where

    def place(self, row: Row) -> str:
        """The line of a row, as text."""
        return self.named(frames.place_of(self.launch, self.sites[row.site]), self.sites[row.site])

    def named(self, place: Span | None, instr: Instr) -> str:
        if place is None:
            return f"PTX line {instr.line}"
        mine = frames.place_of(self.launch, self.sites[self.launch.ctx.site])
        return f"line {place.line}" if mine and mine.file == place.file else f"{short(place.file)}:{place.line}"

    def lines(self) -> tuple[str, str]:
        """The lines of the first and the second access, in the function that calls both where they are in others."""
        a, b = frames.apart(self.launch, self.first.instr, self.second.instr) or (None, None)
        return self.named(a, self.first.instr), self.named(b, self.second.instr)

    @property
    def goes_round(self) -> bool:
        """Whether the second access is of a later round than the first."""
        if self.first.row.rounds != self.second.row.rounds:
            return True
        one, other = (frames.of(self.launch, each.instr).author for each in (self.first, self.second))
        if not one or not other:
            return False
        level = next((i for i, (x, y) in enumerate(zip(one, other)) if _line(x) != _line(y)), None)
        if level is not None:  # of a loop that the compiler unrolled, the text goes back
            goes_back = one[level].file == other[level].file and one[level].line > other[level].line
            return goes_back and not self.is_apart
        return self.first.writes and not self.second.writes

    @property
    def is_apart(self) -> bool:
        """Whether the accesses are in different branches: neither thread comes by both, or by one of them again."""
        both = {self._statement(self.first.row), self._statement(self.second.row)}
        ways = ([*side.before, side.row, *side.after] for side in (self.mine, self.other))
        return all(sum(self._statement(row) in both for row in way) == 1 for way in ways)

    def _statement(self, row: Row) -> tuple[str, str]:
        """The line of a row and what it does there, alike in each copy of a loop's body."""
        return self.place(row), self.sites[row.site].name

    # ** the fix

    def fix_of_blocks(self) -> str | None:
        """The missing part of a flag between two blocks, or scopes that are too narrow; None if no flag is meant."""
        either = self.mine.kind | self.other.kind
        if self.mine.kind & self.other.kind & access.STRONG and either & access.NEAR:
            edit = self._wider()
            if either & access.CTA:
                return Fix(
                    "give both the scope .gpu, or .cluster for blocks of one cluster: .cta is for threads of one block",
                    edit,
                )
            return Fix("give both the scope .gpu: .cluster is for threads of one cluster", edit)
        if (weak := flag_relays.of_weak_flag(self)) is not None:
            return weak
        after = self.other.after or self._text_after(self.other)
        found = flags.fix(self.launch, after, self.mine.before, self.place, self.mine.instr, self.is_one_block)
        return found or self._early_flag() or flag_relays.fix(self)

    def _wider(self) -> Edit | None:
        """The edit that widens the scope of both accesses, if one line has it."""
        sides = self.mine, self.other
        near = [each.instr for each in sides if each.kind & access.NEAR]
        found = {propose.change(self.launch, "the scope of the GPU", each) for each in near}
        return found.pop() if len(found) == 1 else None

    def _text_after(self, side: Access) -> list[Row]:
        """The rows after an access in the text, for a block that has ended: as if each wrote the flag."""
        strong = [row for row in self.mine.before if flags.is_strong(self.sites[row.site])]
        rank = self.launch.code.ranks
        return [Row(site, 0, 0, strong[-1].value, rank[site]) for site in range(side.row.site + 1, len(self.sites))
                if strong and rank[site] > side.row.rank]  # fmt: skip

    def atomic(self) -> str | None:
        """The fix of a value that two blocks read, change and write back; None of another race."""
        reader, writer = (self.other, self.mine) if self.mine.writes else (self.mine, self.other)
        addresses = [[each for each in side.instr.operands if isinstance(each, Addr)] for side in (reader, writer)]
        if reader.writes or (reader.kind | writer.kind) & access.STRONG or addresses[0] != addresses[1]:
            return None
        at, there = self.place(reader.row), self.place(writer.row)
        if at == there:
            return f"use an atomic at {at}: several threads read and write this place there"
        return f"use one atomic in the place of {at}, which reads, and {there}, which writes what it makes of that"

    def why_not_met(self) -> str:
        """The reason why two blocks of a cluster are not ordered, or another fix."""
        for row in self.other.passed or self.other.after:
            if self.sites[row.site].traits & (BARRIER | CLUSTER) == BARRIER:
                return f"; the barrier at {self.place(row)} is one of a block"
        if (self.mine.kind ^ self.other.kind) & access.STRONG:
            return "; or use atomics in all threads that change it"
        return ""

    def relaxed(self) -> str | None:
        """The fix of an arrival that the other thread passed and that orders no memory."""
        instrs = (self.sites[row.site] for row in (*self.other.after, *self.other.passed))
        return next(filter(None, (cluster_report.instead_of_relaxed(self.launch, each) for each in instrs)), None)

    def fix(self) -> str:
        """The fix, in one sentence or two."""
        if self.first.kind & access.ASYNC and (text := self._copy()) is not None:
            return text
        reasons = (self._flag, lambda: handovers.fix(self), self._barrier, self._warp_barrier)
        return next(filter(None, (reason() for reason in reasons)), None) or self._put()

    def _copy(self) -> Fix | None:
        """Of what a cp.async still writes; None where it was waited for, as far as is known."""
        line, here = self.lines()
        waits = self.waits(group_waits.CP_ASYNC, self.way)
        if waits.done is not None:
            return None
        if waits.signal is not None:
            return Fix(
                f"let {here} wait for the phase of the mbarrier (mbarrier.try_wait) at which the copy arrives by "
                f"cp.async.mbarrier.arrive at {self.place(waits.signal)}: a barrier of the block does not wait for it"
            )
        if (text := waits.why_not(line)) is not None:
            return text
        late = ", then a barrier of the block," if self.first.thread != self.second.thread else ""
        commit = "" if waits.is_committed else "commit the group and "
        names = ["wait for copies"] if waits.is_committed else ["commit of copies", "wait for copies"]
        names += ["barrier of the block"] * bool(late)
        edit = propose.before(self.launch, names, self.first.instr, self.second.instr)
        is_whole = late or not self.second.instr.traits & PRODUCT  # a wgmma reads what others copied too
        return Fix(f"{commit}wait for the copy (cp.async.wait_group 0){late} before {here}", edit if is_whole else None)

    def waits(self, family: group_waits.Family, rows: list[Row]) -> group_waits.Waits:
        return group_waits.Waits(family, self.launch, rows, self.place)

    def put(self, names: list[str], since: Row | None = None) -> Edit | None:
        """The edit that puts statements between both accesses: after the row `since`, else after the last one that
        does what the first access does."""
        if "" in names:
            return None
        if self.goes_round:
            return propose.end_of_round(self.launch, names, self.first.instr, self.second.instr)
        start = self.sites[since.site] if since is not None else self._last_like_first()
        return propose.after(self.launch, names, start, self.second.instr)

    @property
    def comes_before(self) -> bool:
        """Whether this access comes before the other one in the program, as the other thread has made it too."""
        return self.mine is self.first and any(row.site == self.mine.row.site for row in self.other.before)

    @property
    def comes_after(self) -> bool:
        """Whether this access comes after the other one in the program, as this thread has made that too."""
        return self.mine is self.second and any(row.site == self.other.row.site for row in self.mine.before)

    def meeting(self) -> Edit | None:
        """The edit that lets the blocks of a cluster meet between both accesses, if no other one would do."""
        passed = (
            self.sites[row.site].traits & (BARRIER | CLUSTER) for row in (*self.first.passed, *self.second.passed)
        )
        has_arrived = any(traits == BARRIER | CLUSTER for traits in passed)  # before the first access
        if has_arrived or (self.mine.kind ^ self.other.kind) & access.STRONG:
            return None
        return self.put(["barrier of the cluster"])

    def barrier(self) -> tuple[str, str]:
        """The barrier to put: in words, and the name of its statement."""
        threads = self.launch.ctx.threads
        absent, name = self._absent(), "barrier of the block"
        if self.one_warp and threads <= 32:
            text, name = "a barrier of the warp (bar.warp.sync) or of the block (bar.sync)", "barrier of the warp"
        elif self.one_warp and absent and all(self._is_elsewhere(warp) for warp in {each // 32 for each in absent}):
            text = "a barrier of the warp (bar.warp.sync), or of the warps that come (bar.sync ID, COUNT)"
            return text, "barrier of the warp"
        elif self.one_warp and propose.is_in_branch(self.launch, self.first.instr, self.second.instr):
            return "a barrier of the warp (bar.warp.sync), or of the block if all its threads come by,", ""
        else:
            text = "a barrier of the block (bar.sync)"
        return f"{text} that all its threads reach" if absent else text, name

    def _is_elsewhere(self, warp: int) -> bool:
        """Whether no thread of another warp ever makes the first access."""
        threads = range(32 * warp, min(32 * warp + 32, self.launch.ctx.threads))
        return warp != self.first.thread // 32 and not any(
            row.site == self.first.row.site for thread in threads for row in self.rows_of(thread)
        )

    def _put(self) -> str:
        """Put a barrier where none is."""
        a, b = self.lines()
        both_write = self.first.writes and self.second.writes
        plain = not (self.first.kind | self.second.kind) & access.STRONG
        if both_write and plain and a == b and not self.goes_round:
            return "let one thread write it, or use an atomic"
        (barrier, name), edit, why = self.barrier(), None, self._looks_like_order()
        if self.goes_round:
            text, edit = f"put {barrier} " + self._between_rounds(a, b), self.put([name])
        elif a == b and self._updates():
            return f"use an atomic at {a}: several threads read and write this place there"
        elif a == b and not self.first.writes:
            text = f"let {a} read into a register, then put {barrier}, and only then write"
        elif a == b:
            text = f"part {a}: put {barrier} between the write and the read"
        elif self.second.writes and not self.first.writes and _number(a) > _number(b) and self.is_apart:
            text = f"put {barrier} between {b} and {a}"  # neither is before the other one in the program
        else:
            text, edit = f"put {barrier} between {self._end_of_first(a)} and {b}", self.put([name])
        if both_write and (self.first.kind ^ self.second.kind) & access.STRONG:
            text += "; or make both atomic"
        return Fix(f"{text}; {why}" if why else text, edit)

    def _between_rounds(self, a: str, b: str) -> str:
        """After the lower of two lines, which the rest of the round may need too, and before the higher one."""
        if a == b:
            return f"before the next round of {a}"
        lower, higher = (b, a) if _number(a) < _number(b) else (a, b)
        return f"between {lower} and the next round of {higher}"

    def _updates(self) -> bool:
        """Whether the thread that writes has read the same place by the instruction by which the other one reads it."""
        writer, reader = (self.first, self.second) if self.first.writes else (self.second, self.first)
        return any(
            row.site == reader.row.site and row.value == writer.row.value and row.rounds == writer.row.rounds
            for row in writer.before
        )

    @property
    def way(self) -> list[Row]:
        """The rows between both accesses, of the thread that has gone that way."""
        return self.first.passed or self.second.passed

    def _end_of_first(self, line: str) -> str:
        """From where on a barrier helps: once a copy was waited for; once the last one has written, or read."""
        last = self._last_like_first()
        named = self.named(frames.place_of(self.launch, last), last)
        if last is self.first.instr:
            return line
        return f"the wait at {named}" if self.first.instr.traits & COPY else named

    def _last_like_first(self) -> Instr:
        """The last instruction before the second access that does what the first one does; of a copy its wait."""
        if self.first.instr.traits & COPY:
            done = self.waits(group_waits.CP_ASYNC, self.way).done
            return self.sites[done.site] if done else self.first.instr
        alike = [row for row in (*self.first.passed, *self.second.passed) if self._is_like_first(row)]
        last = max(alike, key=lambda row: row.position, default=self.first.row)
        is_new = self.place(last) not in self.lines() and frames_are_flat(self, last)
        return self.sites[last.site] if is_new else self.first.instr

    def _is_like_first(self, row: Row) -> bool:
        """Whether it writes, or reads, what is shared as the first access does."""
        instr, smem = self.sites[row.site], self.launch.ctx.smem
        kind = kind_of(instr)
        inside = [0 <= each - smem < self.launch.ctx.smem_bytes for each in (row.value, self.first.row.value)]
        return kind is not None and (kind ^ self.first.kind) & access.WRITE == 0 and inside[0] == inside[1]

    def _absent(self) -> list[int]:
        """The threads of the block that went past an access without making it."""
        absent = []
        for thread in range(self.launch.ctx.threads):
            rows = self.rows_of(thread)
            done = {each.position for each in rows}
            for side in (self.first, self.second):
                position = side.row.position
                went_past = bool(rows) and rows[0].position <= position < rows[-1].position
                if (went_past or self._has_exited(thread)) and position not in done:
                    absent.append(thread)
        return absent

    def _has_exited(self, thread: int) -> bool:
        if not self.launch.code.meets:  # one thread after another
            return thread < self.launch.ctx.thread
        return bool(self.launch.ctx.exited[thread // 32] >> thread % 32 & 1)

    # ** what is there, and does not count

    def mods(self, row: Row) -> tuple:
        return self.sites[row.site].mods

    def _looks_like_order(self) -> str | None:
        """A sentence about an instruction there that seems to order threads and does not."""
        for row in (*self.first.passed, *self.second.passed):
            instr = self.sites[row.site]
            if instr.traits & FENCE:
                return f"the fence at {self.place(row)} orders accesses of one thread only, and waits for nobody"
            if instr.traits & EXCHANGE and self.one_warp:
                return f"`{instr.name}` at {self.place(row)} moves registers, and orders no memory"
        return None

    def _passed(self, side: Access, is_warp: bool) -> list[Row]:
        """The barriers of the block, or of its warp, that a side passed."""
        return [
            row
            for row in side.passed
            if self.sites[row.site].traits & (BARRIER | CLUSTER) == BARRIER and ("warp" in self.mods(row)) == is_warp
        ]

    def _barrier(self) -> str | None:
        """A barrier that only one of both passed, or another one than the other side."""
        ones, others = self._passed(self.first, False), self._passed(self.second, False)
        if not ones and not others:
            return None
        if others and "arrive" in self.mods(others[-1]):
            return Fix(
                f"wait at {self.place(others[-1])} (bar.sync): bar.arrive there does not wait, so nothing is ordered "
                "before what follows",
                propose.change(self.launch, "a barrier that waits", self.sites[others[-1].site]),
            )
        if ones and others:
            return self._two_barriers(ones[0], others[-1])
        row, absent = (ones[0], self.second) if ones else (others[-1], self.first)
        if absent is self.first is self.mine:
            return None  # it has not gone on yet: nobody knows what it would pass
        return (
            f"let thread {self.launch.thread_index(absent.thread)} pass the barrier at {self.place(row)} too: put it "
            "where all threads that share this memory come by"
        )

    def _two_barriers(self, one: Row, other: Row) -> str:
        a, b = one.value & 0xFFFFFFFF, other.value & 0xFFFFFFFF
        if a != b:
            return (
                f"let both meet at one barrier: {self.place(one)} is at barrier {a}, {self.place(other)} at barrier {b}"
            )
        count, its_count = one.value >> 32, other.value >> 32
        threads = self.launch.ctx.threads
        if count and (count < threads or its_count < threads):
            return (
                f"let barrier {a} at {self.place(one)} count all threads that share this memory ({threads} in the "
                f"block): it counts {count}, which others filled; or give each group of threads its own barrier"
            )
        return self._put()

    def _warp_barrier(self) -> str | None:
        """A barrier of the warp between threads of two warps, or with a mask that leaves one of them out."""
        ones, others = self._passed(self.first, True), self._passed(self.second, True)
        row = next(iter([*ones, *others]), None)
        if row is None:
            return None
        at, instr = self.place(row), self.sites[row.site]
        whole = propose.change(self.launch, "a barrier of the whole warp", instr)
        if not self.one_warp:
            return Fix(
                f"put a barrier of the block (bar.sync) in the place of the one of the warp at {at}: the threads are "
                f"of warps {self.first.thread // 32} and {self.second.thread // 32}",
                propose.change(self.launch, "a barrier of the block", instr) if others else None,
            )
        if not (ones and others):
            absent = self.second if ones else self.first
            if absent is self.first is self.mine:
                return None
            text = f"let lane {absent.lane} pass the barrier of the warp at {at} too, with all lanes in its mask (-1)"
            return Fix(text, whole if instr.guard is not None else None)
        masks = ones[0].value & 0xFFFFFFFF, others[-1].value & 0xFFFFFFFF
        return Fix(
            f"give the barrier of the warp at {at} one mask that has both lanes, {self.first.lane} and "
            f"{self.second.lane}: -1 has all; it is 0x{masks[0]:x} for the one and 0x{masks[1]:x} for the other",
            whole,
        )

    def _flag(self) -> str | None:
        """A flag that the first writes and the second reads with no release or no acquire."""
        first, second = self.first.after, self.second
        found = flags.fix(self.launch, first, second.before, self.place, second.instr, self.is_one_block)
        return found or self._early_flag()

    def _early_flag(self) -> str | None:
        """A flag that the one that writes has written before its access."""
        writer, reader = (self.mine, self.other) if self.mine.writes else (self.other, self.mine)
        return None if reader.writes else flags.early(self.sites, writer, reader.before, self.place)


def frames_are_flat(between: Between, row: Row) -> bool:
    """Whether neither the first access nor this one is in a function that the kernel calls."""
    instrs = between.first.instr, between.second.instr, between.sites[row.site]
    return all(len(frames.of(between.launch, each).author) <= 1 for each in instrs)


def _number(line: str) -> int:
    """The number at the end of a line's name."""
    return int(line.rpartition(":")[2].rpartition(" ")[2])


def _line(place: Span) -> tuple[str, int]:
    return place.file, place.line
