"""The command `repro fix`."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.claim import as_seconds, as_seed
from harness.claim.repro_file import Case, read, short
from harness.cli import choice, document, script_command
from harness.cli.fix import changes
from harness.errors import NoDevice, UsageError
from harness.session import Session
from harness.terminal import say

if TYPE_CHECKING:
    from harness.reporting.case_findings import Finding

CURED, LEFT = 0, 1

_ABOUT = """\
Show the edits that the findings of a program propose, as a diff in the language of the file: a barrier, a fence, a wait
or a scope that is missing. The program runs on the emulator with all checks. A finding has an edit only if one change
of one place is known to cure it; else its text states what must hold. A finding that the claim states is left alone.
Nothing is recorded.

  repro fix my_question                    run it and show the diff
  repro fix my_question --apply            make the edits, run it again, and report whether it is cured
  repro fix script.py -- --size 64         a script, with its arguments
  repro fix my_question | git apply        the text on standard output is the diff alone

An edit that does not cure its finding, or brings another one, is taken back. If another mistake shows up after it, the
edit stays: run the command again.

Exit status: 0 there is nothing to fix, or it is cured, 1 findings are left, 2 wrong usage, 3 it could not be run.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = document.command(commands, "fix", "edit a program as its findings propose", _ABOUT, _fix)
    parser.add_argument("file", metavar="FILE", help="a repro, by path or name, or a script")
    parser.add_argument("args", nargs="*", default=[], metavar="ARG", help="arguments of a script, options after --")
    parser.add_argument(
        "-p", dest="params", action="append", default=[], metavar="NAME=VALUE", help="only this value; repeatable"
    )
    parser.add_argument("--apply", action="store_true", help="write the edits, and run the program again")
    parser.add_argument("--seed", type=as_seed, default=0, metavar="N", help="as of `repro run`")
    parser.add_argument("--timeout", type=as_seconds, metavar="SECONDS", help="as of `repro run`")


def _fix(arguments: argparse.Namespace) -> int:
    from harness.records import history

    if arguments.file == "-":
        raise UsageError("standard input cannot be edited\nfix: save the program, and name its file")
    path = choice.path_of(arguments.file)
    path = path.resolve() if path.exists() else path
    root = history.root_of(path)
    session = Session(root, ["embedded"], checks="all", seed=arguments.seed)
    try:
        found = _findings(session, path, arguments, "running it")
        wrong = [one for one in found if _is_wrong(one)]
        edits = changes.of(wrong, path, root)
        _tell(found, edits)
        left, is_kept, cured = [], False, None
        if edits and arguments.apply:
            left, is_kept = _apply(edits, found, lambda: _findings(session, path, arguments, "running it again"))
            cured = not left
    finally:
        session.close()
    if edits and not arguments.apply:
        _note(f"to make the edits: repro fix {arguments.file} --apply")
    diff = "".join(each.diff() for each in edits)
    table = {"file": short(path), "findings": _tables(found), "diff": diff, "applied": is_kept, "cured": cured}
    document.give(arguments, table | {"left": _tables(left)}, diff.rstrip("\n"))
    return LEFT if cured is False or (wrong and cured is None) else CURED


def _tables(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [one.as_table() for one in findings]


def _is_wrong(finding: Finding) -> bool:
    return finding.level == "error" and not finding.expected


def _tell(findings: list[Finding], edits: list[changes.Change]) -> None:
    """The title and the fix of each finding."""
    for one in findings:
        _note(f"{_title(one)}\nfix: {one.fix}" if one.fix else _title(one))
        if one.expected:
            _note("the claim states it: there is nothing to fix")
        elif one.edit is not None and one.edit.file is None and not edits:
            _note(f"the edit is of the PTX, which no file has: line {one.edit.line}, {one.edit.kind}: {one.edit.text}")
        elif one.edit is None and _is_wrong(one):
            _note("no single edit is known for it")
    if not findings:
        _note("nothing was found")


def _title(finding: Finding) -> str:
    place = finding.place
    return f"{f'{place.file}:{place.line}: ' if place else ''}{finding.id}: {finding.message}"


def _apply(
    edits: list[changes.Change], found: list[Finding], run_again: Callable[[], list[Finding]]
) -> tuple[list[Finding], bool]:
    """Write the edits and run again: the errors of that run and its new warnings, and whether the edits stay."""
    written: list[changes.Change] = []
    try:
        for one in edits:
            one.write()
            written.append(one)
        left = run_again()
    except BaseException:
        for one in written:
            one.put_back()
        raise
    known = {each.id for each in found}
    bad = [one for one in left if not one.expected and (one.level == "error" or one.id not in known)]
    blamed = [one for one in bad if _is_same(one, found, edits) or _names_a_new_line(one, edits)]
    if blamed:
        for one in edits:
            one.put_back()
        _note("the edits do not cure it, and the files are as before; with them it has:")
    elif bad:
        _note("the edits are made, and that finding is cured; another one is left:")
    else:
        _note("the edits are made, and it is cured: no finding is left")
    for one in bad:
        _note(_title(one))
    return bad, not blamed


def _is_same(one: Finding, before: list[Finding], edits: list[changes.Change]) -> bool:
    """Whether a finding is one of those before: of its kind, at the same text."""
    return any(one.id == each.id and _line(one, edits, True) == _line(each, edits, False) for each in before)


def _line(one: Finding, edits: list[changes.Change], is_after: bool) -> tuple[str, str]:
    """The texts of the lines of a finding, in the files with the edits or without."""
    texts = []
    for place in (one.place, *one.related):
        change = next((each for each in edits if place and each.path.name == Path(place.file).name), None)
        lines = (change.after if is_after else change.before).splitlines() if change else []
        known = place is not None and place.line <= len(lines)
        texts.append(lines[place.line - 1].strip() if known and place else f"{place and (place.file, place.line)}")
    return texts[0], " ".join(sorted(texts))


def _names_a_new_line(one: Finding, edits: list[changes.Change]) -> bool:
    places = [place for place in (one.place, *one.related) if place is not None]
    return any(
        place.line in each.added and each.path.name == Path(place.file).name for place in places for each in edits
    )


def _findings(session: Session, path: Path, arguments: argparse.Namespace, about: str) -> list[Finding]:
    """The findings of a run of each case with all checks. Raises NoDevice if a case could not be run."""
    from harness import judge
    from harness.host.connection.call_progress import telling
    from harness.reporting import case_findings, case_table
    from harness.reporting.finding_rules import ERROR

    found: dict[Finding, None] = {}
    (host,) = session.hosts()
    for case in _cases(path, arguments):
        with telling(short(path), about):
            outcome = judge.run(
                session.transport(host), case, host, arguments.timeout, seed=arguments.seed, checks=session.checks
            )
        if outcome.kind in ("infra", "skipped"):
            raise NoDevice(outcome.text)
        is_stated = case_table.is_predicted(case, outcome)
        for one in case_findings.of(outcome, case.repro, session.root):
            found[dataclasses.replace(one, expected=is_stated and one.level == ERROR)] = None
    return list(found)


def _cases(path: Path, arguments: argparse.Namespace) -> list[Case]:
    """The cases of the file. Raises UsageError, ReproError."""
    script = script_command.given(str(path), tuple(arguments.args)) if path.is_file() else None
    if script is None and arguments.args:
        raise UsageError("a repro takes no arguments\nfix: choose a value with -p NAME=VALUE")
    if script is not None and arguments.params:
        raise UsageError("-p is for repros\nfix: put the script's own arguments after --")
    return [Case(script, {})] if script is not None else choice.chosen(read(path), arguments.params)


def _note(text: str) -> None:
    say(text, file=sys.stderr)
