"""The commands `repro golden ...`: review, accept, reject and unused."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from harness import pending, store
from harness.claim.repro_file import short
from harness.cli import document
from harness.errors import UsageError
from harness.terminal import say
from harness.verbosity import note

HOLDS, FAILS = 0, 1

_REVIEW = """\
Show what the last runs gave that nobody accepted: new results and those that differ from their golden, lane by lane.
A run leaves them when it fails for that reason alone (never under CI); the golden itself stays as it was.

At a terminal it asks about each; one key is the answer: a accept, f accept for its own arch alone, r reject, s skip,
l show the elements that differ lane by lane, q quit. If the input is not a terminal, it shows all and asks nothing.

  repro golden review                          everything that waits
  repro golden review --list                   show it and ask nothing
  repro golden review shuffle_width            of one repro: its path, or its name without .py
  repro golden review shuffle_width::width=8   one case
  repro golden accept shuffle_width            take it as the golden
  repro golden reject shuffle_width            forget it

Exit status: 0 nothing waits, 1 something does, 2 wrong usage.
"""

_ACCEPT = """\
Take results that wait as goldens (see `repro golden review`).
A result is refused if its repro or its golden has changed since. A result of the emulator never replaces a golden from
hardware.

  repro golden accept shuffle_width            what waits of one repro; also a path, a folder, FILE::CASE
  repro golden accept --all                    everything that waits
  repro golden accept --for-arch shuffle_width for the arch it ran on alone: the golden of the others stays
  pytest repros --gpu-update-goldens    run and accept at once

Exit status: 0 all were accepted, 1 some were not, 2 wrong usage (also under CI).
"""

_REPLAY = """\
Judge a replayed capsule. Each repro runs here once more, its kernels giving what they gave on that GPU; if that agrees
with expected() and the golden, the golden becomes validated. Each verdict is a hardware record.

  repro replay accept out/              the folder that a capsule's replay wrote
  repro replay accept out.zip           the file that `python validate.pyz` wrote; it writes validation/ too

Exit status: 0 all agree, 1 some do not, 2 wrong usage (also under CI).
"""

_REJECT = """\
Forget results that wait (see `repro golden review`). Goldens and records stay as they are.

  repro golden reject shuffle_width            also a path, a folder, FILE::CASE
  repro golden reject --all

Exit status: 0 done, 2 wrong usage.
"""

_UNUSED = """\
Goldens that belong to no case of any repro: left over from a case or a file that was renamed or removed. A golden of a
file that cannot be read as a repro is not listed.

  repro golden unused                          below the working folder
  repro golden unused repros/shuffle_width.py  of one file
  repro golden unused --delete                 delete them (never under CI)

Exit status: 0 there are none (or they were deleted), 1 there are some, 2 wrong usage.
"""


def add(commands: Any) -> None:
    """Add the commands."""
    review = document.command(commands, "review", "show results that nobody accepted yet", _REVIEW, _review)
    document.add_claims(review)
    review.add_argument("--list", action="store_true", help="show what waits and ask nothing, also at a terminal")
    accept = document.command(commands, "accept", "take results as goldens", _ACCEPT, _accept)
    document.add_claims(accept)
    accept.add_argument("--all", action="store_true", help="accept everything that waits")
    accept.add_argument("--for-arch", action="store_true", help="keep it as the answer for its own arch only")
    accept.add_argument("--from-replay", type=Path, metavar="FOLDER", help="as `repro replay accept FOLDER`")
    _add_differences(accept)
    reject = document.command(commands, "reject", "forget results that wait", _REJECT, _reject)
    document.add_claims(reject)
    reject.add_argument("--all", action="store_true", help="forget everything that waits")
    unused = document.command(commands, "unused", "goldens that belong to no repro", _UNUSED, _unused)
    unused.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders (default: here)")
    unused.add_argument("--delete", action="store_true", help="delete them")


def add_replay(commands: Any) -> None:
    """Add `replay accept`."""
    accept = document.command(commands, "accept", "judge what came back from a GPU", _REPLAY, _accept_replay)
    accept.add_argument("from_replay", type=Path, metavar="FOLDER", help="what replay.py wrote: a folder, or out.zip")
    _add_differences(accept)


def _add_differences(accept: argparse.ArgumentParser) -> None:
    accept.add_argument(
        "--accept-differences",
        action="store_true",
        help="replace goldens that differ from a replay by what the GPU gave",
    )


def _review(arguments: argparse.Namespace) -> int:
    from harness.cli.golden import review

    waiting = pending.waiting(store.working_root(), arguments.names)
    if arguments.json:
        document.give(arguments, {"waiting": [pending.as_table(one) for one in waiting]})
        return FAILS if waiting else HOLDS
    if waiting and review.is_possible() and not arguments.list:
        pending.refuse_in_ci("review")
        return FAILS if review.review(store.working_root(), waiting, review.pressed_key) else HOLDS
    for one in waiting:
        say(pending.show(one) + "\n")
    if not waiting:
        say("nothing waits")
        return HOLDS
    stale = sum(bool(one.stale) for one in waiting)
    them = f"{len(waiting)} wait" + (f", {stale} of them stale" if stale else "")
    note(f"{them}: repro golden accept, repro golden reject", sys.stdout)
    return FAILS


def _accept(arguments: argparse.Namespace) -> int:
    if arguments.from_replay:
        if arguments.names or arguments.all:
            raise UsageError("repro golden accept: give --from-replay, or what to accept of that which waits; not both")
        return _accept_replay(arguments)
    pending.refuse_in_ci("accept")
    root, run = store.working_root(), store.Run()
    accepted: list[str] = []
    refused: list[dict[str, str]] = []
    for one in _selected(root, arguments):
        try:
            accepted.append(short(pending.accept(root, one, run, arguments.for_arch)))
            note(f"accepted {accepted[-1]}", sys.stdout)
        except (UsageError, OSError) as error:
            refused.append({"name": one.name, "reason": str(error)})
            say(f"not accepted: {error}", file=sys.stderr)
    document.give(arguments, {"accepted": accepted, "refused": refused, "replayed": None})
    return FAILS if refused else HOLDS


def _accept_replay(arguments: argparse.Namespace) -> int:
    from harness.capsules import capsule_file

    by_status = capsule_file.accept(arguments.from_replay, store.working_root(), arguments.accept_differences, say)
    text = ", ".join(f"{len(names)} {status}" for status, names in by_status.items())
    document.give(arguments, {"accepted": [], "refused": [], "replayed": by_status}, text)
    return HOLDS if by_status.keys() <= {"validated", "accepted before", "agreement", "skipped"} else FAILS


def _selected(root: Path, arguments: argparse.Namespace) -> list[Any]:
    if bool(arguments.names) == arguments.all:
        raise UsageError("name what you mean, or write --all; `repro golden review` shows what waits")
    return pending.waiting(root, arguments.names)


def _reject(arguments: argparse.Namespace) -> int:
    root = store.working_root()
    chosen = _selected(root, arguments)
    for one in chosen:
        pending.discard(root, one)
        note(f"rejected {one.name}", sys.stdout)
    document.give(arguments, {"rejected": [one.name for one in chosen]})
    return HOLDS


def _unused(arguments: argparse.Namespace) -> int:
    if arguments.delete:
        pending.refuse_in_ci("unused --delete")
    unused = pending.unused(store.working_root(), arguments.paths or [Path.cwd()])
    for path in unused:
        if arguments.delete:
            path.unlink()
        say(f"deleted {short(path)}" if arguments.delete else short(path))
    document.give(arguments, {"unused": [short(path) for path in unused], "deleted": arguments.delete})
    return FAILS if unused and not arguments.delete else HOLDS
