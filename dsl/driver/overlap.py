"""Pieces of work of streams, as the driver tells of them (told_pieces.cc), and the races between them."""

from __future__ import annotations

from typing import Any

from dsl.emulator.check.accesses import Accesses
from dsl.emulator.check.numbers import access
from dsl.emulator.check.overlap import Piece, Pieces, runs
from dsl.emulator.diagnosis.overlap_report import Call, fault_of
from dsl.launch.driver.messages import Reader

_KERNEL, _ALLOCATION, _FREE = 0, 10, 11  # of work.h: Type
_FOR_PROGRAM, _HAS_RUNTIME = 1, 4  # of told_pieces.cc
_VERBS = {_ALLOCATION: "allocates", _FREE: "frees"}


class Overlap:
    """The pieces of one program. `memory`: what the device may touch."""

    def __init__(self, memory: Any) -> None:
        self._memory, self._pieces = memory, Pieces()
        self._next: tuple[Piece, tuple[int, ...]] | None = None  # a kernel that is to be launched

    def told(self, reader: Reader) -> None:
        """A piece comes. Raises Fault where it races with one before; of a kernel only its launch knows."""
        kind, how, stream, is_blocking, line, lines, known_lines, name_bytes, time = reader.take("8IQ")
        name = reader.bytes(name_bytes).decode()
        before, known = reader.take(f"{lines}Q"), reader.take(f"{known_lines}Q")
        more = bool(how & 3 == _FOR_PROGRAM), bool(how & _HAS_RUNTIME)
        call = Call(name, stream, bool(is_blocking), *more, verb=_VERBS.get(kind, ""))
        if kind == _KERNEL:
            self._next = Piece(line, time, before, call, Accesses({})), known
            return
        rows = [*_rows(reader)]
        self._add(Piece(line, time, before, call, Accesses(runs(rows))), known)

    def launched(self, program: Any, name: str, accesses: Accesses) -> None:
        """The kernel has run. Raises Fault."""
        if self._next is None:
            return
        (piece, known), self._next = self._next, None
        who = piece.who._replace(name=name, program=program)
        self._add(piece._replace(who=who, accesses=accesses), known)

    def forget(self, address: int, nbytes: int) -> None:
        """This memory is new."""
        self._pieces.forget(address, address + nbytes)

    def _add(self, piece: Piece, known: tuple[int, ...]) -> None:
        conflict = self._pieces.add(piece, known)
        if conflict is not None:
            programs = [each.who.program for each in (conflict.mine, conflict.other) if each.who.program is not None]
            variables = [row for program in programs for row in program.allocations()]
            raise fault_of(conflict, sorted([*self._memory.allocations(), *variables], key=lambda each: each.address))


def _rows(reader: Reader) -> Any:
    """First address, end, kind of access."""
    while reader.left:
        lo, hi, is_write, is_strong = reader.take("QQII")
        yield lo, hi, access.WRITE * is_write | access.STRONG * is_strong
