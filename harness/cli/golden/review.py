"""`repro golden review` at a terminal: each result that waits is shown, and one key decides."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Callable, Sequence
from pathlib import Path

from harness import pending, store
from harness.claim.repro_file import short
from harness.errors import UsageError
from harness.terminal import say

PAGE = 32  # elements: a warp
KEYS = {
    "a": "accept it as the golden",
    "f": "accept it for its own arch alone",
    "r": "reject: forget the result, keep the golden",
    "s": "skip: it waits on",
    "l": "show the next elements that differ, lane by lane",
    "q": "quit: what is left waits on",
}
_PROMPT = "[a]ccept  accept [f]or its arch  [r]eject  [s]kip  [l]anes  [q]uit  [?]  "


def is_possible() -> bool:
    """Whether a person is there to press keys."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def review(root: Path, waiting: Sequence[pending.Waiting], key: Callable[[], str]) -> int:
    """Ask about each; how many wait on. `key` gives the next key that is pressed, '' at the end of the input."""
    run, left = store.Run(), 0
    for number, one in enumerate(waiting, 1):
        say(f"\n{number} of {len(waiting)}  {pending.show(one)}")
        decision = _decide(root, one, key, run)
        left += decision in ("s", "q")
        if decision == "q":
            return left + len(waiting) - number
    return left


def _decide(root: Path, one: pending.Waiting, key: Callable[[], str], run: store.Run) -> str:
    """The key that settled it."""
    shown = 0
    while True:
        say(_PROMPT)
        pressed = key()
        if pressed == "l":
            rows = pending.lanes(one)
            say("\n".join(rows[shown : shown + PAGE]) or "    no element differs")
            shown = shown + PAGE if shown + PAGE < len(rows) else 0
            if shown:
                say(f"    {len(rows) - shown} more: l")
        elif pressed in ("a", "f", "r"):
            if _settle(root, one, pressed, run):
                return pressed
        elif pressed == "s":
            return "s"
        elif pressed in ("q", "", "\x03", "\x04"):
            return "q"
        else:
            say("\n".join(f"    {name}  {meaning}" for name, meaning in KEYS.items()))


def _settle(root: Path, one: pending.Waiting, pressed: str, run: store.Run) -> bool:
    """Accept or reject it; if that is refused, print why and return False."""
    if pressed == "r":
        pending.discard(root, one)
        say(f"rejected {one.name}")
        return True
    try:
        say(f"accepted {short(pending.accept(root, one, run, for_arch=pressed == 'f'))}")
        return True
    except (UsageError, OSError) as error:
        say(f"not accepted: {error}")
        return False


def pressed_key() -> str:
    """Wait for one key of the terminal; Enter is not needed. '' at the end of the input."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)  # a key that came early counts
        return os.read(fd, 1).decode("ascii", "replace").lower()
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
