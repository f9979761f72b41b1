"""The parts of docs/checkers.md on what orders what, from the table of check/ordering.py; the rest is prose.

python tests/emulator/ordering_page.py            # write those parts again
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from dsl.emulator.check import ordering
from tests.emulator.fidelity_page import MARK, ROOT

PAGE = ROOT / "docs" / "checkers.md"
COMMAND = "python tests/emulator/ordering_page.py"
NOTHING = "nothing"  # how the text of a row begins that orders nothing
_COUNTED = {None: "", False: " without a thread count", True: " with a thread count"}


def instructions(row: ordering.Ordering) -> str:
    """The names of a row's instructions."""
    return ", ".join(f"`{each}`" for each in row.names.split()) + _COUNTED[row.counted]


def accesses(row: ordering.Ordering) -> str:
    """The proxy and the memory of the accesses that a row orders, if it does not order all by ordinary instructions."""
    return ", ".join([row.proxy] * (row.proxy != "generic") + sorted(row.spaces) * (row.spaces != ordering.SPACES))


def orders() -> str:
    """The rows that order something."""
    lines = ["| instruction | orders | scope | proxy, memory | PTX ISA |", "|---" * 5 + "|"]
    for row in ordering.table():
        if not row.orders.startswith(NOTHING):
            lines.append(f"| {instructions(row)} | {row.orders} | {row.scope} | {accesses(row)} | {row.source} |")
    return "\n".join(lines) + "\n"


def nothing() -> str:
    """The rows that order nothing."""
    rows = [row for row in ordering.table() if row.orders.startswith(NOTHING)]
    return "".join(
        f"- {instructions(row)}: {row.orders.removeprefix(NOTHING + ': ')}. PTX ISA {row.source}\n" for row in rows
    )


def differs() -> str:
    """The rows in which the checkers are kinder or stricter than the PTX ISA."""
    return "".join(f"- {instructions(row)}: {row.differs}.\n" for row in ordering.table() if row.differs)


PARTS = {"orders": orders, "nothing": nothing, "differs": differs}


def page(text: str) -> str:
    """The page with its generated parts written again."""
    return MARK.sub(lambda match: match[1] + PARTS[match[2]]() + match[3], text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
