"""The calls of the author's functions, from MLIR's locations to `.loc ... inlined_at` of PTX.

MLIR keeps one caller of a location for LLVM, and LLVM's NVPTX prints none. So between both stages a place in a function
that is called has the calls in the name of its file: `"helper.py <- kernel.py:20:5"`. Texts are changed, because
neither has an operation for it: the aliases of MLIR's locations, and the `.file` and `.loc` lines of PTX.
"""

from __future__ import annotations

import re

_ARROW = " <- "
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_PLACE = re.compile(r'"(.*)":(\d+):(\d+)')
_CALL = re.compile(r"callsite\((#loc\d*) at (#loc\d*)\)")
_FILE = re.compile(r'^\t\.file\t(\d+) "(.*)"\n?', re.MULTILINE)
_LOC = re.compile(r"^\t\.loc\t(\d+) (\d+) (\d+)$", re.MULTILINE)
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)$", re.MULTILINE)
_FIRST = (7, 2)  # of PTX that has inlined_at: PTX ISA 11.5.3
_LABEL = "$L__inlined"
_NAMES = f"\t.section\t.debug_str\n\t{{\n{_LABEL}:\n\t.b8 0\n\t}}\n"


def into_file_names(mlir_text: str) -> str:
    """MLIR text whose locations of calls are places in files that name the calls."""
    if "callsite(" not in mlir_text:
        return mlir_text
    aliases = dict(_ALIAS.findall(mlir_text))

    def place(alias: str) -> tuple[str, list[str]]:
        """The text of a place, and the calls that lead to it, the nearest first."""
        calls: list[str] = []
        call = _CALL.fullmatch(aliases[alias])
        if call is None:
            return aliases[alias], calls
        callee, caller = call.groups()
        while (call := _CALL.fullmatch(aliases[caller])) is not None:
            calls.append(aliases[call[1]])
            caller = call[2]
        return aliases[callee], [*calls, aliases[caller]]

    def named(match: re.Match) -> str:
        if _CALL.fullmatch(match[2]) is None:
            return match[0]
        callee, calls = place(match[1])
        places = [_PLACE.fullmatch(each) for each in (callee, *calls)]
        if None in places:
            return f"{match[1]} = loc({callee})"
        (file, line, column), *rest = (each.groups() for each in places if each)
        names = _ARROW.join([file, *(":".join(each) for each in rest)])
        return f'{match[1]} = loc("{names}":{line}:{column})'

    return _ALIAS.sub(named, mlir_text)


def into_inlined_at(ptx: str) -> str:
    """PTX whose `.loc` lines state where functions were inlined, and whose files have their own names again. A call has
    its own `.loc` before it is named, as the PTX ISA requires."""
    names = dict(_FILE.findall(ptx))
    if not any(_ARROW in name for name in names.values()):
        return ptx
    version = _VERSION.search(ptx)
    says_calls = version is not None and (int(version[1]), int(version[2])) >= _FIRST
    numbers = _Numbers({name: number for number, name in names.items() if _ARROW not in name}, names)
    calls_of: dict[str, tuple[str, ...]] = {}  # the calls in the last .loc of a place

    def lines_of(place: str, calls: tuple[str, ...]) -> list[str]:
        before = lines_of(calls[0], calls[1:]) if calls and calls_of.get(calls[0]) != calls[1:] else []
        calls_of[place] = calls
        text = f"\t.loc\t{place}"
        return [*before, f"{text}, function_name {_LABEL}, inlined_at {calls[0]}" if calls else text]

    def told(match: re.Match) -> str:
        file, *calls = names[match[1]].split(_ARROW)
        places = [f"{numbers.of(file)} {match[2]} {match[3]}"]
        places += [f"{numbers.of(name)} {line} {column}" for name, line, column in (c.rsplit(":", 2) for c in calls)]
        return "\n".join(lines_of(places[0], tuple(places[1:]) if says_calls else ()))

    ptx = _LOC.sub(told, ptx)
    body = _FILE.sub("", ptx).rstrip("\n")
    files = [f'\t.file\t{number} "{name}"' for name, number in sorted(numbers.all.items(), key=lambda row: int(row[1]))]
    return "\n".join([body, *files, *([_NAMES] if says_calls else [""])])


class _Numbers:
    """Numbers of files by name; new ones are those that are free."""

    def __init__(self, known: dict[str, str], taken: dict[str, str]):
        self.all = known
        self._next = max(map(int, taken), default=0)

    def of(self, name: str) -> str:
        if name not in self.all:
            self._next += 1
            self.all[name] = str(self._next)
        return self.all[name]
