"""PTX as text: what a kernel takes, what its pointers point at, and a module with this kernel alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_PLACE = re.compile(r"^[ \t]*\.loc\b[^\n]*\n", re.M)
_DIRECTIVES_OF_A_LINE = (".version", ".target", ".address_size", ".file", ".loc")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_TYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "f16x2": "float16", "b8": "uint8", "u8": "uint8",
    "s8": "int8", "b16": "uint16", "u16": "uint16", "s16": "int16", "bf16": "uint16", "bf16x2": "uint16",
    "b32": "uint32", "u32": "uint32", "s32": "int32", "b64": "uint64", "u64": "uint64", "s64": "int64",
    "b128": "uint64",
}  # fmt: skip
_FLOATS = ("f64", "f32", "f16", "f16x2")
_ADDRESS_STEPS = ("mov", "cvta", "add", "sub", "mad", "selp")
_ACCESSES = ("ld", "st", "atom", "red", "ldu")


class NoSuchEntry(Exception):
    """The module has no kernel of this name."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: its PTX type (`b8` of an array), bytes in all, and alignment."""

    name: str
    type: str
    nbytes: int
    align: int

    @property
    def dtype(self) -> str:
        """The numpy dtype of its elements."""
        return _TYPES.get(self.type, "uint8")


@dataclass
class _Item:
    """A top-level part of a module: a directive, a variable or a function."""

    text: str
    kind: str  # entry | func | variable | directive
    name: str


def items(text: str) -> list[_Item]:
    """The top-level parts of a module, without comments."""
    return [_item(part) for part in _parts(_PLACE.sub("", _COMMENT.sub("", text.replace("\0", ""))))]


def _parts(text: str) -> Iterator[str]:
    at, begin, depth = 0, 0, 0
    while at < len(text):
        sign = text[at]
        depth += (sign == "{") - (sign == "}")
        ends = False
        if depth == 0 and sign == "}":
            ends = _is_block(text[begin:at])
        elif depth == 0 and sign == ";":
            ends = True
        elif depth == 0 and sign == "\n":
            ends = text[begin:at].strip().startswith(_DIRECTIVES_OF_A_LINE)
        at += 1
        if ends:
            yield text[begin:at].strip()
            begin = at
    if text[begin:].strip():
        yield text[begin:].strip()


def _is_block(text: str) -> bool:
    head = text.partition("{")[0]
    return bool(re.search(r"\.(entry|func|section)\b", head))


def _item(text: str) -> _Item:
    head = text.partition("{")[0]
    if found := re.search(r"\.entry\s+([\w$]+)", head):
        return _Item(text, "entry", found[1])
    if re.search(r"\.func\b", head):
        named = re.sub(r"\.func\s*(\.noreturn\s*)?(\([^)]*\))?", ".func ", head, count=1)
        found = re.search(r"\.func\s+([\w$]+)", named)
        return _Item(text, "func", found[1] if found else "")
    if re.search(r"\.(global|const|shared)\b", head) and (found := re.search(r"([\w$]+)\s*(\[|=|;|$)", head)):
        return _Item(text, "variable", found[1])
    return _Item(text, "directive", "")


def alone(text: str, entry: str) -> str:
    """The module with this kernel and what it mentions, without comments and debugging information.

    Raises NoSuchEntry.
    """
    lines = [line.rstrip() for part in _reached(text, entry) for line in part.text.splitlines() if line.strip()]
    return "\n".join(lines) + "\n"


def _reached(text: str, entry: str) -> list[_Item]:
    every = items(text)
    named: dict[str, list[_Item]] = {}
    for each in every:
        if each.name:
            named.setdefault(each.name, []).append(each)
    if not any(each.kind == "entry" for each in named.get(entry, ())):
        raise NoSuchEntry(f"its PTX has no kernel {entry}")
    wanted, waiting = set(), [entry]
    while waiting:
        name = waiting.pop()
        if name in wanted or name not in named:
            continue
        wanted.add(name)
        waiting += [word for each in named[name] for word in _NAME.findall(each.text)]
    left_out = (".file", ".section")
    return [each for each in every if each.name in wanted or (not each.name and not each.text.startswith(left_out))]


def variables(text: str, entry: str) -> list[str]:
    """Visible variables in global or constant memory that this kernel reaches: a program may write to them."""
    return [
        each.name
        for each in _reached(text, entry)
        if each.kind == "variable" and re.match(r"(\.visible|\.const|\.global|\.weak)", each.text)
        and re.search(r"\.(global|const)\b", each.text.partition("{")[0]) and not each.name.startswith("$")
    ]  # fmt: skip


def dtype_of_variable(text: str, name: str) -> str:
    """The numpy dtype that a variable is declared with."""
    for each in items(text):
        if each.name == name and (found := re.search(r"\.([busf]\d+)\s+[\w$]+\s*(\[|=|;)", each.text)):
            return _TYPES.get(found[1], "uint8")
    return "uint8"


def parameters(text: str, entry: str) -> list[Parameter]:
    """The parameters of a kernel in order. Raises NoSuchEntry."""
    body = next((each.text for each in items(text) if each.kind == "entry" and each.name == entry), None)
    if body is None:
        raise NoSuchEntry(f"its PTX has no kernel {entry}")
    listed = re.match(r"[^(){]*\(([^)]*)\)", body)
    return [_parameter(part) for part in (listed[1] if listed else "").split(",") if ".param" in part]


def _parameter(text: str) -> Parameter:
    text = re.sub(r"\.ptr\b(\s*\.(global|const|shared|local|generic))?(\s*\.align\s+\d+)?", "", text)
    kind = re.search(r"\.([busf]\d+)\b", text)
    name = re.search(r"([\w$]+)\s*(\[\s*(\d+)\s*\])?\s*$", text.strip())
    align = re.search(r"\.align\s+(\d+)", text)
    assert kind is not None and name is not None, text
    item = int(kind[1][1:]) // 8
    nbytes = item * int(name[3] or 1)
    return Parameter(name[1], kind[1], nbytes, max(item, int(align[1]) if align else 1))


def plain_names(name: str) -> set[str]:
    """A kernel's name, and the words of a C++ name: `_ZN3lib5saxpyIfEvPT_` has `lib` and `saxpy`."""
    found = {name}
    if not name.startswith("_Z"):
        return found
    at = 2
    while at < len(name):
        number = re.match(r"\d+", name[at:])
        if number:
            at += len(number[0])
            found.add(name[at : at + int(number[0])])
            at += int(number[0])
        elif name[at] in "NKVr":
            at += 1
        else:
            break
    return found


def shown_name(name: str) -> str:
    """The function's name in a C++ name; any other name as it is."""
    if not name.startswith("_Z"):
        return name
    words = sorted(plain_names(name) - {name}, key=name.rindex)
    return words[-1] if words else name


def pointed_types(text: str, entry: str) -> dict[tuple[str, int], str]:
    """(parameter, byte in it) of each pointer -> the numpy dtype of what the kernel reads or writes through it."""
    body = next(each.text for each in _reached(text, entry) if each.kind == "entry" and each.name == entry)
    statements = [each for part in body.partition("{")[2].split(";") if (each := _statement(part)) is not None]
    floats = _float_registers(statements)
    origin: dict[str, tuple[str, int]] = {}
    for _ in range(3):  # a loop may use a register before the text assigns it
        for opcode, operands in statements:
            _follow(opcode, operands, origin)
    found: dict[tuple[str, int], str] = {}
    for opcode, operands in statements:
        if opcode[0] not in _ACCESSES or "param" in opcode:
            continue
        address = next((word for word in operands if word.startswith("[")), "")
        key = next((origin[name] for name in _NAME.findall(address) if name in origin), None)
        kind = opcode[-1]
        if key is None or kind not in _TYPES:
            continue
        if kind.startswith("b"):
            kind = next((floats[name] for word in operands for name in _NAME.findall(word) if name in floats), kind)
        found.setdefault(key, _TYPES[kind])
    return found


def _statement(part: str) -> tuple[list[str], list[str]] | None:
    part = re.sub(r"^\s*([\w$]+:\s*|[{}]\s*)+", "", part)
    found = re.match(r"\s*(@!?%\w+\s+)?([a-z][\w.:]*)\s+(.*)", part, re.S)
    if found is None:
        return None
    return found[2].split("."), re.findall(r"\[[^\]]*\]|\{[^}]*\}|[^,\s]+", found[3])


def _float_registers(statements: list[tuple[list[str], list[str]]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for opcode, operands in statements:
        kinds = [part for part in opcode if part in _TYPES]
        if opcode[0] == "cvt" and len(kinds) == 2:
            rows = list(zip(operands, kinds))
        else:
            rows = [(word, kinds[-1]) for word in operands] if kinds else []
        for word, kind in rows:
            if kind in _FLOATS and not word.startswith("["):
                found.update(dict.fromkeys(_NAME.findall(word), kind))
    return found


def _follow(opcode: list[str], operands: list[str], origin: dict[str, tuple[str, int]]) -> None:
    """Note registers that hold an address made of a parameter."""
    if not operands:
        return
    targets, sources = _NAME.findall(operands[0]), " ".join(operands[1:])
    if opcode[:2] == ["ld", "param"]:
        place = re.match(r"\[\s*([\w$]+)\s*(?:\+\s*(\d+))?\s*\]", operands[-1])
        if place is not None:
            step = 8 if opcode[-1].endswith("64") else 4
            for number, name in enumerate(targets):
                origin.setdefault(name, (place[1], int(place[2] or 0) + number * step))
    elif opcode[0] in _ADDRESS_STEPS:
        key = next((origin[name] for name in _NAME.findall(sources) if name in origin), None)
        if key is not None:
            for name in targets:
                origin.setdefault(name, key)
