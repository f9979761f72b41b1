"""The place of an instruction in the author's files: the calls that lead to it, without those inside libraries."""

from __future__ import annotations

import re
from os.path import normpath
from typing import NamedTuple

from dsl.emulator.ptx.syntax import Instr
from dsl.span import Span, is_installed_file, is_library_file, is_our_file, short

_HEADERS = re.compile(
    r"/include/(.*/)?(cccl|cooperative_groups|cub|cuda|cute|cutlass|libcudacxx|nv|thrust)(\.h|[/_])"
    r"|/cuda[-.\d]*/(targets/[^/]+/)?include/|^/usr/(local/)?include/|^cuda_\w+\.h|^<"
)
_MOST = 8  # calls that a report shows


class Frames(NamedTuple):
    """`author`: the author's places, the kernel's place first; `library`: the instruction's place if in a library."""

    author: tuple[Span, ...]
    library: Span | None

    @property
    def place(self) -> Span | None:
        return self.author[-1] if self.author else None

    def rows(self) -> list[str]:
        """Lines of a report: the line of the library, and the calls that lead to the place, the kernel's last."""
        rows = [f"    inside {_name(self.library)}"] if self.library else []
        calls = list(reversed(self.author[:-1]))
        rows += [f"    called at {_name(each)}: {each.source_line().strip()}".rstrip(" :") for each in calls[:_MOST]]
        return rows + [f"    and {len(calls) - _MOST} calls more"] * (len(calls) > _MOST)

    def called(self) -> list[tuple[Span, str]]:
        """The calls that lead to the place, each with its text."""
        calls = list(reversed(self.author[:-1]))[:_MOST]
        return [(each, f"called here: {each.source_line().strip()}") for each in calls]

    def calls(self) -> str:
        """The calls that lead to the place, in brackets; "" where the kernel itself has it."""
        calls = [_name(each) for each in reversed(self.author[:-1])][:_MOST]
        return f" (called at {', '.join(calls)})" if calls else ""


def of(launch, instr: Instr) -> Frames:
    """The frames of an instruction of a launch."""
    frames = launch.program.frames_of(instr)
    author = [place for place in frames if not is_library(place.file)]
    if not author:  # a kernel of a library
        author = [place for place in frames if place.file == frames[-1].file]
    library = frames[0] if author and author[0] is not frames[0] else None
    return Frames(tuple(reversed(author)), library)


def place_of(launch, instr: Instr) -> Span | None:
    """The author's innermost place; one in a library if the kernel is of a library."""
    return of(launch, instr).place


def apart(launch, one: Instr, other: Instr) -> tuple[Span, Span] | None:
    """The author's places of two instructions in the function that leads to both; None if one has no place."""
    ours, theirs = of(launch, one).author, of(launch, other).author
    if not ours or not theirs:
        return None
    pairs = [*zip(ours, theirs)]
    return next(((a, b) for a, b in pairs if (a.file, a.line) != (b.file, b.line)), pairs[-1])


def is_library(file: str) -> bool:
    """Whether a file belongs to CUDA's headers, CUTLASS, an installed package or Python's library."""
    return (
        is_installed_file(file) or is_library_file(file) or is_our_file(file) or bool(_HEADERS.search(normpath(file)))
    )


def _name(place: Span) -> str:
    return f"{short(place.file)}:{place.line}"
