"""The report about two pieces of work that may overlap and access the same bytes: kernels, copies, fills."""

from __future__ import annotations

from typing import Any, NamedTuple

from dsl import exceptions
from dsl.emulator.check.numbers import access
from dsl.emulator.check.overlap import Conflict, Piece
from dsl.emulator.diagnosis import frames, places, report
from dsl.emulator.faults import Fault
from dsl.emulator.machine import memory
from dsl.emulator.ptx.syntax import Instr
from dsl.finding_kinds import KINDS
from dsl.span import Span

LEGACY, OF_THREAD = 0, 1  # numbers of streams; those that the program makes come after


class Call(NamedTuple):
    """A call that adds a piece of work. `name`: the function of the API, or the kernel, of `program`; `stream`: its
    number; `waits`: whether the program waits for it where CUDA does;
    `runtime`: whether the program calls the CUDA runtime; `verb`: what it does, if that is not seen by its accesses."""

    name: str
    stream: int
    is_blocking: bool
    waits: bool = False
    runtime: bool = True
    program: Any = None
    verb: str = ""

    @property
    def where(self) -> str:
        names = {LEGACY: "the default stream", OF_THREAD: "the default stream of its thread"}
        return names.get(self.stream, f"stream {self.stream - OF_THREAD}")

    @property
    def argument(self) -> str:
        """The stream as an argument of a call."""
        names = {LEGACY: "0", OF_THREAD: "cudaStreamPerThread" if self.runtime else "CU_STREAM_PER_THREAD"}
        return names.get(self.stream, f"stream{self.stream - OF_THREAD}")

    def api(self, name: str) -> str:
        """A function that the driver and the runtime have under one name, such as `EventRecord`."""
        return f"{'cuda' if self.runtime else 'cu'}{name}"

    def __str__(self) -> str:
        return f"`{self.name}` in {self.where}"


class _Side(NamedTuple):
    call: Call
    piece: Piece
    run: Any  # a row of RUN

    @property
    def instr(self) -> Instr | None:
        return self.piece.accesses.sites[self.run["site"]] if self.call.program is not None else None

    @property
    def place(self) -> Span | None:
        return frames.place_of(self.call, self.instr) if self.instr else None

    @property
    def verb(self) -> str:
        kind = int(self.run["kind"])
        if self.instr is not None:
            return places.verb(self.instr, kind)
        return self.call.verb or ("writes" if kind & access.WRITE else "reads")

    def at(self, here: Span | None) -> str:
        """The place, for a report at `here`."""
        if self.instr is None:
            return ""
        place = self.place
        if place is not None and here is not None and place.file == here.file:
            return f" at line {place.line}"
        return f" at {places.line_of(self.call, self.instr)}"

    def row(self) -> str:
        if self.instr is None:
            return f"    {self.verb:<8} {self.call}"
        calls = frames.of(self.call, self.instr).calls()
        at = f"{places.line_of(self.call, self.instr)}{calls}, " if self.place else ""
        return f"    {self.verb:<8} {self.call}: {at}PTX line {self.instr.line}: {self.instr.text}"

    def related(self) -> dict:
        code = self.instr.text if self.instr else self.call.name
        return exceptions.related_place(self.place, f"{self.verb}: {self.call}: {code}", does=self.verb, code=code)


def fault_of(conflict: Conflict, allocations: list[memory.Allocation]) -> Fault:
    """The RACE of two pieces of work; `allocations` names the memory."""
    mine = _Side(conflict.mine.who, conflict.mine, conflict.my_run)
    other = _Side(conflict.other.who, conflict.other, conflict.its_run)
    lead, second = (mine, other) if mine.instr or not other.instr else (other, mine)
    what = _memory_at(conflict.address, allocations, places.element_bytes(lead.instr) if lead.instr else 1)
    message = f"{_seen(lead, second, what)}: {_not_ordered(mine.call, other.call)}"
    fix = _fix(other.call, mine.call)
    where = f"    {f'in `{lead.call.name}`, ' if lead.instr else ''}{conflict.nbytes} bytes from {what} on"
    head = [report.head(lead.place, "RACE"), *report.source(lead.place, message)]
    text = "\n".join([*head, where, mine.row(), other.row(), f"fix: {fix}"])
    about = {"kernel": lead.call.name} if lead.instr else {}
    finding = exceptions.finding("RACE", message, fix, lead.place, [mine.related(), other.related()], **about)
    code, line = (lead.instr.text, lead.instr.line) if lead.instr else (lead.call.name, 0)
    return Fault(KINDS["RACE"].outcome, (0, 0, 0), (0, 0, 0), code, line, lead.place, text, finding)


def _seen(lead: _Side, second: _Side, what: str) -> str:
    does = lead.verb if lead.instr else f"{lead.call} {lead.verb}"
    return f"{does} {what}, which {second.call} {second.verb}{second.at(lead.place)}"


def _memory_at(address: int, allocations: list[memory.Allocation], element_bytes: int) -> str:
    near = memory.nearest(allocations, address)
    if near is None or not 0 <= near[1] < near[0].size_bytes:
        return f"0x{address:x}"
    allocation, offset = near
    if element_bytes == 1 or offset % element_bytes:
        return f"byte {offset} of `{allocation.label}`"
    return f"element {offset // element_bytes} of `{allocation.label}`"


def _not_ordered(mine: Call, other: Call) -> str:
    if mine.stream == other.stream:
        return "no node of the graph depends on the other"
    return f"nothing orders {other.where} and {mine.where} here{_why(mine, other)}"


def _why(mine: Call, other: Call) -> str:
    """Why the legacy default stream does not help."""
    pair = {mine.stream: mine, other.stream: other}
    if LEGACY not in pair:
        return ""
    (one,) = (call for number, call in pair.items() if number != LEGACY)
    return "" if one.is_blocking else f" ({one.where} is non-blocking: it does not wait for the default stream)"


def _fix(first: Call, then: Call) -> str:
    if first.stream == then.stream:
        return (
            f"let the later node depend on the earlier one ({then.api('GraphAddDependencies')}); in a captured stream "
            f"by {then.api('StreamWaitEvent')}"
        )
    wait = f"{first.api('StreamSynchronize')}({first.argument})"
    if then.waits:
        return f"call `{wait}` before `{then.name}`"
    record = f"{first.api('EventRecord')}(event, {first.argument})"
    text = (
        f"call `{record}` after `{first.name}`, and `{then.api('StreamWaitEvent')}({then.argument}, event)` before "
        f"`{then.name}`; or `{wait}`; or use one stream for both"
    )
    if first.waits and not first.program:
        return f"`{first.name}` may return before it is done: {text}"
    return text
