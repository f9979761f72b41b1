"""The text of a finding, whatever its kind: the name, the author's line, what was seen, the fix."""

from __future__ import annotations

import warnings

from dsl import exceptions
from dsl.emulator import families
from dsl.emulator.diagnosis import frames, language, vocabulary
from dsl.emulator.diagnosis.edits import edit
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.faults import Fault, KernelNote, KernelWarning
from dsl.emulator.ptx.syntax import Instr
from dsl.finding_kinds import ERROR, KINDS, NOTE
from dsl.span import Span, short


def error(
    launch, name: str, instr: Instr, message: str, rows: list[str], fix: str, block: tuple, thread: int, related=()
) -> Fault:
    """The Fault of a finding of level "error" at `instr`. `name`: a key of KINDS; `block`: its index; `thread`: linear;
    `rows`: indented lines that come after the message; `fix`: an edit.Fix has an edit too; `related`: other accesses
    and waits, of `access`."""
    kind = KINDS[name]
    assert kind.level == ERROR, name
    where = frames.of(launch, instr)
    place = where.place
    proposed = edit.of(fix)
    fix = language.translated(fix, place.file if place else "", launch.program.ptx)
    lines = [head(place, name), *source(place, message), *where.rows(), *rows, *([f"fix: {fix}"] if fix else [])]
    who, calls = launch.thread_index(thread), [exceptions.related_place(at, text) for at, text in where.called()]
    about = {"kernel": launch.entry_name, "block": list(block), "thread": list(who)}
    about |= {"edit": proposed._asdict()} if proposed is not None else {}
    finding = exceptions.finding(name, message, fix, place, [*calls, *related], **about)
    return Fault(kind.outcome, block, who, instr.text, instr.line, place, "\n".join(lines), finding)


def cause(launch) -> Fix | None:
    """The fix of a mistake that a checker has noted before, and that a race or a deadlock follows from."""
    return next(filter(None, (find(launch) for rows in families.named("words", "CAUSES") for find in rows)), None)


def access(launch, instr: Instr, does: str, text: str, **more) -> dict:
    """An access or a wait of a report as data. `does`: as a verb; `text`: the text to show there."""
    return exceptions.related_place(frames.place_of(launch, instr), text, does=does, code=instr.text, **more)


def warn(launch, name: str, instr: Instr, message: str, category: type[Warning] | None = None) -> None:
    """Warn of a finding of another level, at the author's line of `instr`."""
    level = KINDS[name].level
    assert level != ERROR, name
    place = frames.place_of(launch, instr)
    where = (place.file, place.line) if place else (launch.entry_name, instr.line)
    message = vocabulary.warned(message, language.of_launch(place.file if place else "", launch.program.ptx))
    category = category or (KernelNote if level == NOTE else KernelWarning)
    warnings.warn_explicit(f"{name}: {message}", category, *where)


def head(place: Span | None, name: str) -> str:
    return f"{short(place.file)}:{place.line}:{place.column}: {name}" if place else name


def source(place: Span | None, message: str) -> list[str]:
    return place.underlined(message).split("\n") if place else [f"    {message}"]
