"""Mbarriers of a deadlock in words: what a phase lacks, and the stages of pipelines, each with who has it.

A pipeline is found by the waits: a row of neighbouring mbarriers that some warps wait at and others arrive at, and a
second row of as many where it is the other way round. The row of full ones is the row that copies signal, or that
nobody waits at before somebody has arrived.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.places import line_of, shared_place
from dsl.emulator.families.mbarrier import log as mbarrier_log
from dsl.emulator.families.mbarrier.emit import State
from dsl.emulator.ptx.traits import COPY

MOST_STAGES = 8


@dataclass
class Barrier:
    """An mbarrier: where it is, its state, what was noted of it (families/mbarrier/mbarrier_log.cc)."""

    offset: int
    state: State
    noted: dict[str, int]
    usual: int = 0  # the warps that arrive at its row, as a mask
    name: str = ""  # for people

    @property
    def missing_warps(self) -> int:
        """Those that arrive at its row and have not here in this phase, as a mask."""
        return (self.usual or self.noted["arrivers"]) & ~self._now("now")

    def _now(self, name: str) -> int:
        return self.noted[name] if self.noted["parity"] == self.state.parity else 0

    @property
    def came_now(self) -> int:
        return self._now("now")

    @property
    def expected_bytes(self) -> int:
        return self._now("expected")

    @property
    def signature(self) -> tuple[int, int, int, int]:
        return self.state.count, self.noted["waiters"], self.noted["arrivers"], self.noted["peers"]


def barriers(ctx) -> dict[int, Barrier]:
    """The mbarriers of the block in a slot, by offset."""
    rows = mbarrier_log.entries(ctx)
    words = {offset: ctypes.c_uint64.from_address(ctx.smem + offset).value for offset in rows}
    return {offset: Barrier(offset, State.of(words[offset]), rows[offset]) for offset in sorted(rows)}


def _alike(one: Barrier, other: Barrier) -> bool:
    """Whether both are of one row; what was not used yet fits."""
    (count, *mine), (its_count, *its) = one.signature, other.signature
    return count == its_count and all(a & b or not a or not b for a, b in zip(mine, its))


def rows(of: dict[int, Barrier]) -> list[list[Barrier]]:
    """Rows of neighbouring mbarriers that are used alike."""
    result: list[list[Barrier]] = []
    for each in of.values():
        last = result[-1] if result else None
        if last and last[-1].offset + 8 == each.offset and all(_alike(one, each) for one in last):
            last.append(each)
        else:
            result.append([each])
    return result


def _mask(row: list[Barrier], name: str) -> int:
    mask = 0
    for each in row:
        mask |= each.noted[name]
    return mask


def _is_full(row: list[Barrier]) -> bool:
    return bool(_mask(row, "copy_site") or _mask(row, "expect_site"))


def pipelines(of: dict[int, Barrier]) -> list[tuple[list[Barrier], list[Barrier]]]:
    """The rows of full and of empty mbarriers that belong together."""
    left, result = rows(of), []
    for row in left:
        for each in row:
            each.usual = _mask(row, "arrivers")
    while left:
        row = left.pop(0)
        other = next((each for each in left if _take_turns(row, each)), None)
        if other is not None:
            left.remove(other)
            swapped = _is_full(other) or (not _is_full(row) and _mask(row, "passed_new"))
            result.append((other, row) if swapped else (row, other))
    return result


def _take_turns(row: list[Barrier], other: list[Barrier]) -> bool:
    """Whether who waits at one row arrives at the other one; where nobody has arrived yet, one way is enough."""
    if len(row) != len(other):
        return False
    ways = [(_mask(a, "waiters"), _mask(b, "arrivers")) for a, b in ((row, other), (other, row))]
    return any(waits & arrives for waits, arrives in ways) and all(
        waits & arrives or (waits and not arrives) for waits, arrives in ways
    )


class Words:
    """Sentences about the mbarriers of the block in the slot of a launch."""

    def __init__(self, launch) -> None:
        self.launch, self.of = launch, barriers(launch.ctx)
        for each in self.of.values():
            each.name = shared_place(launch, each.offset, 1)
        self.pipelines = pipelines(self.of)

    def line(self, number: int) -> str:
        """The author's line of a site + 1."""
        return line_of(self.launch, self.launch.code.sites[number - 1])

    def lacks(self, offset: int) -> list[str]:
        """Who has arrived and who has not, and whose bytes are missing, where that is known."""
        one = self.of.get(offset)
        if one is None:
            return []
        texts = []
        if one.noted["passed_new"] and _is_full([one]):
            texts.append(
                f"the wait of {self.line(one.noted['wait_site'])} passed before the first phase, of parity 0, had ended"
            )
        if one.came_now and one.missing_warps:
            texts.append(f"{warps(one.came_now)} arrived, {warps(one.missing_warps)} did not")
        elif one.state.pending and one.came_now:
            texts.append(f"all that ever arrived have: {warps(one.came_now)}; mbarrier.init requires {one.state.count}")
        short_by = one.state.pending_bytes
        if short_by and one.expected_bytes and one.noted["expect_site"]:
            came = one.expected_bytes - short_by
            copies = f"the copies of {self.line(one.noted['copy_site'])}" if one.noted["copy_site"] else "copies"
            texts.append(
                f"{self.line(one.noted['expect_site'])} expects {one.expected_bytes} bytes, {copies} brought {came}"
            )
        return texts

    def fix(self, waited: dict[int, int]) -> str | None:
        """The fix for mbarriers that warps wait at for ever (masks by offset); None if it is not known."""
        those = self._those(waited)
        texts = [self.fix_of_bytes(waited), *map(self._fix_of_new, those)]
        pairs = [pair for row in self.pipelines for pair in zip(*row)]
        texts += [self._fix_of_parity(*pair, waited.get(pair[0].offset, 0)) for pair in pairs]
        texts += map(self._fix_of_count, those)
        texts += map(self._fix_of_left, those)
        copies = any(each.traits & COPY and "bulk" in each.mods for each in self.launch.code.sites)
        texts += [_fix_of_empty(full, empty, copies) for full, empty in pairs if empty.offset in waited]
        texts += [_fix_of_full(full) for full, _ in pairs if full.offset in waited]
        return next(filter(None, texts), None)

    def fix_of_bytes(self, waited: dict[int, int]) -> str | None:
        """The fix for mbarriers that warps wait at and whose bytes do not add up."""
        return next(filter(None, map(self._fix_of_bytes, self._those(waited))), None)

    def _those(self, waited: dict[int, int]) -> list[Barrier]:
        return [self.of[offset] for offset in sorted(waited.keys() & self.of.keys())]

    def _fix_of_new(self, one: Barrier) -> str | None:
        if not one.noted["passed_new"] or not _is_full([one]):
            return None
        return (
            f"begin with parity 0 at {self.line(one.noted['wait_site'])}: only a producer's first wait is for parity 1 "
            "(`pipeline.make_pipeline_state`)"
        )

    def _fix_of_parity(self, full: Barrier, empty: Barrier, waiting: int) -> str | None:
        """The fix for threads that wait for the next phase of a filled stage that they have not given back."""
        late = 0 if empty.came_now else waiting & empty.usual
        if full.state.parity == empty.state.parity or not late:
            return None
        there, who, parity = self.line(full.noted["wait_site"]), warps(late), 1 - full.state.parity
        return (
            f"wait for parity {parity} at {there}: the stage of {full.name} is filled, and {who} wait for "
            "another of its phases; the parity changes each time that the ring comes round"
        )

    def _fix_of_bytes(self, one: Barrier) -> str | None:
        left, expect, copy = one.state.pending_bytes, one.noted["expect_site"], one.noted["copy_site"]
        if left < 0 and one.state.pending == one.state.count and not one.expected_bytes:
            of = f" of {self.line(copy)}" if copy else ""
            return (
                f"let a thread arrive at the mbarrier {one.name} and expect the {-left} bytes{of} there "
                "(mbarrier.arrive.expect_tx): they have come, and nobody expects them"
            )
        if not left or not expect or not one.expected_bytes:
            return None
        came = one.expected_bytes - left
        if not came:
            return (
                f"begin a copy of {one.expected_bytes} bytes that signals the mbarrier {one.name}, which "
                f"{self.line(expect)} expects: none was begun"
            )
        more = f", or let the copies of {self.line(copy)} bring {one.expected_bytes}" if copy else ""
        edit = propose.number(self.launch, self.launch.code.sites[expect - 1], one.expected_bytes, came)
        return Fix(f"expect {came} bytes at {self.line(expect)}{more}", edit)

    def _fix_of_count(self, one: Barrier) -> Fix | None:
        came, count = one.state.came, one.state.count
        if not one.came_now or one.missing_warps or not one.state.pending:
            return None
        made = one.noted["life_site"]
        edit = propose.number(self.launch, self.launch.code.sites[made - 1], count, came) if made else None
        others = f"only {count} of them come" if came > count else f"each of the {count} that it counts arrive"
        text = f"init the mbarrier {one.name} with {came} arrivals, or let {others}"
        return Fix(text, edit)

    def _fix_of_left(self, one: Barrier) -> str | None:
        """The fix for warps that arrived in earlier phases and have exited."""
        exited = self.launch.lanes("exited")
        left = sum(1 << warp for warp in {each // 32 for each in exited})
        if not one.came_now or not one.missing_warps or one.missing_warps & ~left:
            return None
        return (
            f"let {warps(one.missing_warps)}, which exited, arrive at the mbarrier {one.name} for the last time by "
            "mbarrier.arrive_drop, so that the phases after it do not count them"
        )

    def stages(self, waited: dict[int, int]) -> list[str]:
        """A line a stage of each pipeline that threads wait in."""
        lines = []
        for full, empty in self.pipelines:
            if not waited.keys() & {each.offset for each in (*full, *empty)}:
                continue
            lines.append(f"    the pipeline of {len(full)} stages, full at {full[0].name}, empty at {empty[0].name}:")
            lines += [f"        stage {i}: {self._stage(*pair)}" for i, pair in enumerate(zip(full, empty))][
                :MOST_STAGES
            ]
        return lines

    def _stage(self, full: Barrier, empty: Barrier) -> str:
        state = f"full in parity {full.state.parity}, empty in parity {empty.state.parity}"
        if full.state.parity == empty.state.parity:
            if full.came_now or full.expected_bytes:
                return f"being filled: {_counts(full)}; {state}"
            who = warps(full.usual) if full.usual else "the producer"
            return f"empty, {who} to fill it: {_counts(full)} at the full one; {state}"
        who = empty.missing_warps or (0 if empty.came_now else full.noted["waiters"])
        held = f", {warps(who)} to give it back" if who else ""
        return f"filled{held}: {_counts(empty)} at the empty one; {state}"


def _fix_of_empty(full: Barrier, one: Barrier, has_copies: bool) -> str | None:
    is_told = _is_full([full]) or (one.noted["passed_new"] and not has_copies)  # which of both is the full one
    is_filled = is_told and full.state.parity != one.state.parity
    readers = one.missing_warps or (full.noted["waiters"] if is_filled and not one.usual else 0)
    if not readers or not one.state.pending:
        return None
    who = warps(readers)
    return f"let {who} arrive at the empty mbarrier {one.name} when the stage is read (`pipeline.consumer_release`)"


def _fix_of_full(one: Barrier) -> str | None:
    if not one.state.pending:
        return None
    who = warps(one.usual) if one.usual else "the producer"
    fix = f"let {who} fill the stage of the full mbarrier {one.name} (`pipeline.producer_commit`), or wait for one less"
    return fix if _is_full([one]) else f"{fix}; only a producer's first wait is for parity 1, a consumer's is for 0"


def _counts(one: Barrier) -> str:
    text = f"{one.state.came} of {one.state.count} arrivals"
    if one.expected_bytes:
        text += f" and {one.expected_bytes - one.state.pending_bytes} of {one.expected_bytes} bytes"
    return text


def warps(mask: int) -> str:
    """A mask of warps, as text."""
    numbers = [n for n in range(32) if mask >> n & 1]
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    text = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"warp{'s' if len(numbers) > 1 else ''} {text}"
