"""Weaker synchronisation in PTX: each instruction that orders threads is removed or weakened, one change at a time.

`weakenings(ptx, entry)` lists the changes of a kernel. Section numbers are from the PTX ISA 9.0.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dsl.perturbation.statements import Statement, statements

_ROOTS = frozenset({"bar", "barrier", "mbarrier", "fence", "membar", "griddepcontrol", "wgmma", "cp", "ld", "st"})
_ATOMICS, _COLLECTIVES = frozenset({"atom", "red"}), frozenset({"shfl", "vote", "match", "redux"})
_SCOPES = ("cluster", "gpu", "sys")
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)")
_GUARD = re.compile(r"(@\s*!?\s*[\w$%]+\s+)?(\S+)\s*(.*);", re.DOTALL)
HALF_A_WARP = 0xFFFF


@dataclass(frozen=True)
class Weakening:
    """One change of a module. `number` counts the instructions of this opcode in the kernel, from 1; `line` is a line
    of the PTX. `text` takes the place of what is from `start` to `end`."""

    opcode: str
    number: int
    line: int
    change: str
    start: int
    end: int
    text: str
    was: str

    def applied(self, ptx: str) -> str:
        """The module with the change."""
        return ptx[: self.start] + self.text + ptx[self.end :]

    def reached(self, ptx: str) -> str:
        """The module with a trap in the instruction's place, under the same guard: it shows whether any thread gets there."""
        guard = _GUARD.fullmatch(self.was)[1] or ""
        return ptx[: self.start] + f"{guard}trap;" + ptx[self.end :]


def weakenings(ptx: str, entry: str) -> list[Weakening]:
    """The changes of a kernel and of the functions of its module, in the order of the text. Raises statements.BadPtx."""
    others = set(_ENTRY.findall(ptx)) - {entry}
    numbers: collections.Counter[str] = collections.Counter()
    found: list[Weakening] = []
    body = [each for each in statements(ptx) if each.function not in others]
    for index, each in enumerate(body):
        if not _synchronises(each):
            continue
        numbers[each.opcode] += 1
        line = ptx.count("\n", 0, each.start) + 1
        whole = ptx[each.start : each.end]
        place = each.opcode, numbers[each.opcode], line
        found += [Weakening(*place, change, each.start, each.end, text, whole) for change, text in _changes(whole)]
        follower = body[index + 1] if index + 1 < len(body) else None
        if follower is not None and _is_half(each, "arrive") and _is_half(follower, "wait"):
            found.append(
                Weakening(*place, "removed with its wait", each.start, follower.end, "", ptx[each.start : each.end])
            )
    return found


def _synchronises(statement: Statement) -> bool:
    root, *mods = statement.opcode.split(".")
    if root in _COLLECTIVES:
        return "sync" in mods
    if root in _ATOMICS or root in ("ld", "st"):
        return bool({"acquire", "release", "acq_rel", "relaxed"} & set(mods)) and "async" not in mods
    if root == "wgmma":
        return "mma_async" not in mods
    if root == "tcgen05":
        return mods[0] in ("commit", "wait::ld", "wait::st") or mods[0].startswith("fence::")
    if root == "cp":
        return bool({"commit_group", "wait_group", "wait_all", "mbarrier"} & set(mods))
    return root in _ROOTS


def _is_half(statement: Statement, half: str) -> bool:
    return statement.opcode.startswith(f"barrier.cluster.{half}")


def _changes(whole: str) -> Iterator[tuple[str, str]]:
    """(name, text) of each change of an instruction."""
    guard, opcode, rest = (part or "" for part in _GUARD.fullmatch(whole).groups())
    root, *mods = opcode.split(".")
    operands = _operands(rest)

    def again(new_mods: list[str], new_operands: list[str] = operands, before: str = "") -> str:
        text = f"{guard}{'.'.join([root, *new_mods])} {', '.join(new_operands)};".replace(" ;", ";")
        return f"{{ .reg .b32 %weaker; {before} {text} }}" if before else text

    def counted(place: int, step: str, by: int) -> str:
        """The instruction with another number as one of its operands."""
        value = operands[place]
        if step != "and" and re.fullmatch(r"\d+", value):
            new = int(value) + by if step == "add" else int(value) ^ by
            return again(mods, [*operands[:place], str(new), *operands[place + 1 :]])
        before = f"{step}.{'s32' if step == 'add' else 'b32'} %weaker, {value}, {by};"
        return again(mods, [*operands[:place], "%weaker", *operands[place + 1 :]], before)

    if root in _COLLECTIVES:
        yield "mask narrowed", counted(len(operands) - 1, "and", HALF_A_WARP)
        return
    if root == "mbarrier":
        yield from _of_mbarrier(mods, operands, guard, again, counted)
    elif root not in (*_ATOMICS, "ld", "st") and not (root in ("bar", "barrier") and "red" in mods):
        yield "removed", ""
    if root in ("bar", "barrier") and mods[0] == "warp":
        yield "mask narrowed", counted(0, "and", HALF_A_WARP)
    elif root in ("bar", "barrier") and mods[0] != "cluster" and "red" not in mods and len(operands) > 1:
        yield "count + 32", counted(1, "add", 32)
        yield "count - 32", counted(1, "add", -32)
    if "wait_group" in mods:
        yield "group + 1", counted(0, "add", 1)
        if root == "cp" and "bulk" in mods and "read" not in mods:
            yield "reads only", again([*mods, "read"])
    if root == "cp" and "mbarrier" in mods:
        toggled = [each for each in mods if each != "noinc"]
        yield "noinc", again(toggled if "noinc" in mods else [*mods[:3], "noinc", *mods[3:]])
    yield from _of_order(root, mods, again)


def _of_order(root: str, mods: list[str], again) -> Iterator[tuple[str, str]]:
    """A narrower scope, a weaker order."""
    if root == "barrier" and mods[:2] == ["cluster", "arrive"] and "relaxed" not in mods:
        rest = [each for each in mods[2:] if each != "release"]
        yield "relaxed", again(["cluster", "arrive", "relaxed", *rest])
    if root in ("bar", "barrier") or mods[:1] in (["proxy"], ["mbarrier_init"]):
        return
    for at, mod in enumerate(mods):
        if mod in _SCOPES:
            yield f"{mod} -> cta", again([*mods[:at], "cta", *mods[at + 1 :]])
        if root == "fence" and mod == "sc":
            yield "sc -> acq_rel", again([*mods[:at], "acq_rel", *mods[at + 1 :]])
        if root != "fence" and mod in ("acquire", "release", "acq_rel"):
            yield f"{mod} -> relaxed", again([*mods[:at], "relaxed", *mods[at + 1 :]])


def _of_mbarrier(mods: list[str], operands: list[str], guard: str, again, counted) -> Iterator[tuple[str, str]]:
    kind = mods[0]
    if kind in ("try_wait", "test_wait"):
        yield "wait removed", f"{guard}setp.eq.u32 {operands[0]}, 0, 0;"
        if "parity" in mods:
            yield "parity flipped", counted(2, "xor", 1)
        return
    if kind == "pending_count":
        return
    yield "removed", ""
    if kind == "init":
        yield "count + 1", counted(1, "add", 1)
        yield "count - 1", counted(1, "add", -1)
    if "expect_tx" in mods:
        yield "bytes + 16", counted(len(operands) - 1, "add", 16)
        yield "bytes - 16", counted(len(operands) - 1, "add", -16)


def _operands(text: str) -> list[str]:
    """The operands of an instruction; one in brackets or braces is one."""
    return [each.strip() for each in re.findall(r"\[[^\]]*\]|\{[^}]*\}|[^,\s][^,]*", text)]
