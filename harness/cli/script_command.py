"""`repro run` of a program that makes no claim: as `python FILE ARGS` runs it, on any host, under any compiler."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.claim import repro_file
from harness.claim.repro_file import Case, Repro, short
from harness.cli import document
from harness.errors import UsageError
from harness.terminal import say

if TYPE_CHECKING:
    from harness.host.hosts import Host
    from harness.run.result import Outcome
    from harness.session import Session

NOT_RUN, TIME_IS_OVER, INTERRUPTED, BY_SIGNAL = 3, 124, 130, 128


def given(name: str, args: tuple[str, ...]) -> Repro | None:
    """The script that a name means, or None for a claim. `-` is standard input. Raises ReproError, OSError."""
    from harness.claim import script_file

    if name == "-":
        text = sys.stdin.buffer.read()
        if repro_file.is_repro(text):
            raise UsageError("standard input has a repro, and a claim is a file\nfix: save it and run the file")
        return script_file.read(script_file.STDIN, text, args)
    path = Path(name).resolve()
    data = path.read_bytes()
    if repro_file.is_repro(data) or not script_file.is_program(path, data):
        return None
    return script_file.read(path, data, args)


def again(arguments: argparse.Namespace) -> Repro | None:
    """The script of a run that `repro record history` lists, by the run's id, or None for another name.

    A setting that is not given is taken from that run: host, compiler, seed, checks and the script's own arguments.
    Raises UsageError, ReproError.
    """
    from harness.claim import script_file
    from harness.records import observations

    found = observations.named(arguments.file) if observations.is_id(arguments.file) else []
    if not found:
        return None
    one, *others = found
    if others:
        ids = "\n".join(f"    {each.id}  {each.script} on {each.host}" for each in found)
        raise UsageError(f"{arguments.file} has {len(found)} runs:\n{ids}\nfix: give the id of one")
    text = observations.script_of(one)
    if not text or arguments.watch:
        why = "--watch wants a file" if text else f"the script of {one.id} is no longer kept"
        raise UsageError(f"{why}\nfix: name the file, {one.script}")
    arguments.host = arguments.host or one.host
    arguments.compiler = arguments.compiler or ([one.asked] if one.asked else None)
    arguments.seed, arguments.check = arguments.seed or one.seed or 0, arguments.check or one.checks or None
    here = script_file.STDIN if one.script == str(script_file.STDIN) else Path(one.script)
    path = here if here == script_file.STDIN else observations.root() / here
    return script_file.read(path, text.encode(), tuple(arguments.args) or tuple(one.args))


def run(script: Repro, session: Session, arguments: argparse.Namespace) -> int:
    """Run it on every host under every compiler; the exit status of the last that did not end well.

    0, or what the program gave; 124 after --timeout, 128 and the number of a signal that killed it, 130 after Ctrl-C,
    3 where it could not be run.
    """
    from harness.run.console import Console, OutputGone

    refuse_options_of_claims(script, arguments)
    from harness.comparison import orders
    from harness.reporting import case_table

    status, case = 0, Case(script, {})
    tables: list[dict[str, Any]] = []
    stdin = None if arguments.file == "-" or sys.stdin is None or sys.stdin.closed else sys.stdin.fileno()
    hosts = session.hosts()
    with Console(stdin) as console:
        session.console = console
        try:
            for host in hosts:
                if len(hosts) > 1:
                    say(f"--- {host.name} {host.compiler}", file=sys.stderr)
                where, outcome = session.run(case, host, arguments.timeout, arguments.fresh)
                line = keep(script, where, outcome, session, console.was_interrupted)
                ended = told(outcome, arguments, console.was_interrupted)
                for note in orders.notes(outcome, is_script=True) if not ended else ():
                    say(f"repro: {note}" if not note.startswith(" ") else note, file=sys.stderr)
                status = ended or status
                about = {"id": line and line["id"], "ended_with": ended, "interrupted": console.was_interrupted}
                run = case_table.of_script(script, where, outcome, session.root)
                tables.append(case_table.with_output(run | about, outcome, arguments.ptx, arguments.sass))
                if console.was_interrupted:
                    break
        except OutputGone as gone:
            raise (gone.__cause__ or gone) from None
        finally:
            session.close()
    session.publish(tables, arguments.sarif)
    for line in session.annotations:
        say(line)
    for error in session.errors:
        say(error, file=sys.stderr)
    document.give(arguments, {"cases": [], "scripts": tables, "advice": [], "errors": session.errors})
    return status


def refuse_options_of_claims(script: Repro, arguments: argparse.Namespace) -> None:
    """Raises UsageError for what is about a claim."""
    for is_given, option in ((arguments.params, "-p"), (arguments.update_goldens, "--update-goldens")):
        if is_given:
            raise UsageError(
                f"{option} is for repros, but {short(script.path)} has no run() and no [tool.repro] block\n"
                "fix: put the program's own arguments after --, or make a repro of it (docs/writing-a-repro.md)"
            )


def keep(script: Repro, host: Host, outcome: Outcome, session: Session, interrupted: bool) -> dict[str, Any] | None:
    """Write the observation; its line."""
    from harness.records import observations

    if outcome.kind in ("infra", "skipped"):
        return None
    try:
        return observations.keep(script, host, outcome, session.record_run, session.checks or "", interrupted)
    except OSError as error:
        session.errors.append(f"what it printed could not be recorded: {error}")
        return None


def told(outcome: Outcome, arguments: argparse.Namespace, interrupted: bool) -> int:
    """Print what the program did not print itself, and return the exit status."""
    from harness.reporting import text_report

    if outcome.kind != "exited":
        say(outcome.text, file=sys.stderr)
    if arguments.full_traceback and outcome.full_text:
        say(f"--- with the frames inside the compiler\n{outcome.full_text.rstrip()}", file=sys.stderr)
    for text in text_report.code(outcome, arguments.ptx, arguments.sass):
        say(text)
    status = INTERRUPTED if interrupted else _STATUS.get(outcome.kind, lambda _: NOT_RUN)(outcome)
    is_of_finding = status == 1 and outcome.detail.get("found") not in (None, "error")
    return arguments.finding_status if is_of_finding and arguments.finding_status is not None else status


def _by_signal(outcome: Outcome) -> int:
    return BY_SIGNAL + getattr(signal, str(outcome.detail.get("signal")), 0)


_STATUS: dict[str, Callable[[Outcome], int]] = {
    "exited": lambda outcome: outcome.detail["exit"],
    "timeout": lambda _: TIME_IS_OVER,
    "crash": _by_signal,
}
