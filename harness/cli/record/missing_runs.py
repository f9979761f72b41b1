"""Runs that complete a comparison of the record: `repro record compare` makes them where a side has no answer yet."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.claim.repro_file import Case, ReproError, read
from harness.errors import UsageError
from harness.session import Session, as_data
from harness.terminal import say
from harness.verbosity import note


def runnable(missing: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of changes.compare()["missing"] of which it is known where they can be run.

    A compiler with a version of something else, as in `ours, torch==2.9.0`, is of a bisection.
    """
    return [one for one in missing if one["host"] and one["compiler"] and "," not in one["compiler"]]


def run(root: Path, missing: Iterable[dict[str, Any]]) -> list[str]:
    """Run and record them, one host and compiler after another; what could not be run, one sentence each.

    A host or a compiler that is not to be had costs its own runs alone.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for one in missing:
        groups[one["host"], one["compiler"]].append(one)
    errors: list[str] = []
    for (host, compiler), rows in groups.items():
        try:
            session = Session(root, [host], note=note, compiler=compiler)
        except UsageError as error:
            errors.append(f"{len(rows)} runs on {host} by {compiler}: {error}")
            continue
        try:
            for one in rows:
                _run(root, session, one, errors)
        finally:
            session.close()
        session.finish(interrupted=False)
        errors += session.errors
    return errors


def _run(root: Path, session: Session, one: dict[str, Any], errors: list[str]) -> None:
    from harness import judge

    case = _case(root, one["claim"], one["case"])
    if case is None:
        errors.append(f"{one['claim']} has no case {one['case']!r} now")
        return
    [host] = session.hosts()
    host, outcome = session.run(case, host, None, False)
    verdict = judge.judge(case, host, outcome, root)
    session.take(as_data(verdict, case.repro.path, host.is_hardware, host.compiler))
    name = f"{one['claim']}::{one['case']}" if one["case"] else one["claim"]
    status = f"{verdict.status}: {verdict.reason}" if verdict.reason else verdict.status
    say(f"{status}  {name}  {host.name} {host.compiler}", file=sys.stderr)
    if verdict.status == "infra":
        errors.append(f"{name}: {verdict.text}")


def _case(root: Path, claim: str, name: str) -> Case | None:
    try:
        return next((case for case in read(root / claim).cases() if case.name == name), None)
    except (OSError, ReproError):
        return None
