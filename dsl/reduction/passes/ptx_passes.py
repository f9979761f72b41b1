"""Passes over PTX text: functions, instructions, branches, registers, parameters, operands, notes for debuggers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dsl.reduction.edit import Change, Edit
from dsl.reduction.ptx_program import PtxProgram, Statement

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(rb'"(?:\\.|[^"\\])*"')
_BLANK = re.compile(rb"(?<=\n)(?:[ \t]*\n)+")
_NUMBER = re.compile(r"\d+\Z")
_ENDS = {"ret", "exit", "trap"}
_HINTS = {
    ".maxntid": 3, ".reqntid": 3, ".minnctapersm": 1, ".maxnctapersm": 1, ".maxnreg": 1, ".reqnctapercluster": 3,
    ".maxclusterrank": 1, ".explicitcluster": 0, ".noreturn": 0,
}  # fmt: skip


def notes(program: PtxProgram) -> Iterator[Edit]:
    """`.loc`, `.file`, `.section` and `.pragma`: what is for debuggers."""
    for statement in [*program.statements, *program.top]:
        word = program.tokens[statement.first]
        if word in (".loc", ".file", ".section", ".pragma"):
            yield program.delete(f"drop `{word}`", statement)


def comments(program: PtxProgram) -> Iterator[Edit]:
    """Comments and empty lines."""
    strings = [match.span() for match in _STRING.finditer(program.text)]
    for match in _COMMENT.finditer(program.text):
        if any(start < match.start() < end for start, end in strings):
            continue
        start = program.text.rfind(b"\n", 0, match.start()) + 1
        alone = not program.text[start : match.start()].strip() and program.text[match.end() : match.end() + 1] == b"\n"
        change = Change(start, match.end() + 1) if alone else Change(*match.span(), b" " * (match[0][:2] == b"/*"))
        yield Edit("drop a comment", program.text.count(b"\n", 0, match.start()) + 1, [change])
    for match in _BLANK.finditer(program.text):
        yield Edit("drop blank lines", program.text.count(b"\n", 0, match.start()) + 1, [Change(*match.span())])


def functions(program: PtxProgram) -> Iterator[Edit]:
    """Each function alone with those that it calls; then without one of them; declarations of what is not used."""
    calls = {each.name: {*program.uses(each)} for each in program.functions}
    for function in program.functions:
        reached, waiting = {function.name}, [function.name]
        while waiting:
            more = {name for name in calls[waiting.pop()] if name in calls} - reached
            reached |= more
            waiting += more
        gone = [each for each in program.functions if each.name not in reached]
        if gone:
            yield program.delete(f"only `{function.name}`", *gone)
    for function in reversed(program.functions):
        if not any(function.name in names for name, names in calls.items() if name != function.name):
            yield program.delete(f"drop `{function.name}`", function)
    read = {name for names in calls.values() for name in names}
    for statement in [*program.top, *program.statements]:
        if statement.kind == "declaration" and program.tokens[statement.first] != ".reg":
            names = {each for each in program.names(statement) if not each.startswith(".")}
            if not names & read:
                yield program.delete(f"drop `{program.of(statement)[:40]}`", statement)


def unread(program: PtxProgram) -> Iterator[Edit]:
    """Instructions whose result nothing reads, the last first."""
    for statement in reversed(program.instructions):
        target = _target(program, statement)
        assert statement.function is not None
        if target and program.uses(statement.function)[target] == 1:
            yield program.delete(f"drop `{program.of(statement)}`", statement)


def _target(program: PtxProgram, statement: Statement) -> str:
    """The register that an instruction writes, judged by its place."""
    opcode = _opcode(program, statement)
    if opcode + 1 >= statement.last or not program.tokens[opcode + 1].startswith("%"):
        return ""
    return program.tokens[opcode + 1]


def _opcode(program: PtxProgram, statement: Statement) -> int:
    at = statement.first
    if program.tokens[at] == "@":
        at += 2 + (program.tokens[at + 1] == "!")
    return at


def _is_end(program: PtxProgram, statement: Statement) -> bool:
    return program.tokens[statement.first] in _ENDS


def instructions(program: PtxProgram) -> Iterator[Edit]:
    """Each instruction, the last first, except the end of a function."""
    for statement in reversed(program.instructions):
        if not _is_end(program, statement):
            yield program.delete(f"drop `{program.of(statement)}`", statement)


def runs(program: PtxProgram) -> Iterator[Edit]:
    """The instructions between two labels, and those to the end of a function."""
    for function in program.functions:
        run: list[Statement] = []
        for statement in [*function.body, None]:
            if statement is not None and statement.kind == "instruction" and not _is_end(program, statement):
                run.append(statement)
            elif (statement is None or statement.kind == "label") and len(run) > 1:
                yield program.delete(f"drop {len(run)} instructions", *run)
                run = []


def guards(program: PtxProgram) -> Iterator[Edit]:
    """A guarded instruction is always executed."""
    for statement in program.instructions:
        if program.tokens[statement.first] == "@":
            opcode = _opcode(program, statement)
            change = program.between(statement.first, opcode)
            yield Edit(f"always `{program.of(statement)}`", statement.line, [change])


def labels(program: PtxProgram) -> Iterator[Edit]:
    """Labels to which nothing goes."""
    for statement in program.statements:
        if statement.kind == "label" and statement.function is not None:
            if not program.uses(statement.function)[statement.name]:
                yield program.delete(f"drop the label `{statement.name}`", statement)


def registers(program: PtxProgram) -> Iterator[Edit]:
    """Declarations of registers that nothing uses; fewer of those that are numbered."""
    for statement in program.statements:
        if statement.kind != "declaration" or program.tokens[statement.first] != ".reg":
            continue
        assert statement.function is not None
        used = program.uses(statement.function)
        words = program.tokens[statement.first : statement.last]
        if "<" not in words:
            names = [each for each in words[2:] if each not in (",",) and not each.startswith(".")]
            if not any(used[name] for name in names) and not any(each.startswith(".v") for each in words):
                yield program.delete(f"drop `{program.of(statement)}`", statement)
            continue
        place = words.index("<")
        if words.count("<") > 1:
            continue
        stem, count = words[place - 1], int(words[place + 1])
        numbers = [
            int(name[len(stem) :]) for name in used if name.startswith(stem) and _NUMBER.match(name[len(stem) :])
        ]
        if not numbers:
            yield program.delete(f"drop `{program.of(statement)}`", statement)
        elif max(numbers) + 1 < count:
            change = program.token_change(statement.first + place + 1, str(max(numbers) + 1))
            yield Edit(f"fewer registers `{stem}`", statement.line, [change])


def copies(program: PtxProgram) -> Iterator[Edit]:
    """A register that is the copy of another, or of a number, becomes it where it is read."""
    for statement in program.instructions:
        tokens = program.tokens[statement.first : statement.last + 1]
        if len(tokens) != 5 or not tokens[0].startswith("mov.") or tokens[2] != "," or not tokens[1].startswith("%"):
            continue
        function, target, source = statement.function, tokens[1], tokens[3]
        assert function is not None
        writers = [each for each in function.body if each.kind == "instruction" and _target(program, each) == target]
        if len(writers) != 1 or (not source.startswith("%") and not source.isdigit()) or "." in source:
            continue
        changes = [program.deletion(statement)]
        for each in function.body:
            if each.kind == "instruction" and each is not statement:
                for number in range(each.first, each.last):
                    if program.tokens[number] == target:
                        changes.append(program.token_change(number, source))
        yield Edit(f"`{source}` in place of `{target}`", statement.line, changes)


def operands(program: PtxProgram) -> Iterator[Edit]:
    """A register that is read becomes 1; a number becomes half of it, or 0."""
    for statement in program.instructions:
        opcode = _opcode(program, statement)
        depth = 0
        for number in range(opcode + 1, statement.last):
            token = program.tokens[number]
            depth += (token in "[{(") - (token in "]})")
            if token.isdigit() and int(token) > 0 and program.tokens[number - 1] not in ".-+":
                less = str(int(token) // 2)
                yield Edit(f"{less} in place of {token}", statement.line, [program.token_change(number, less)])
            elif token.startswith("%") and number > opcode + 1 and not depth and _takes_numbers(program, opcode):
                yield Edit(f"1 in place of `{token}`", statement.line, [program.token_change(number, "1")])


def _takes_numbers(program: PtxProgram, opcode: int) -> bool:
    """Whether the operands of an instruction are whole numbers."""
    return program.tokens[opcode].rpartition(".")[2] in ("u32", "s32", "b32", "u64", "s64", "b64", "u16", "s16", "b16")


def hints(program: PtxProgram) -> Iterator[Edit]:
    """The directives about launches in a function's head."""
    for function in program.functions:
        for number in range(function.first, function.head_last + 1):
            count = _HINTS.get(program.tokens[number])
            if count is not None:
                following = number + 1
                while following <= function.head_last and program.tokens[following][:1] not in (".",):
                    following += 1
                yield Edit(f"drop `{program.tokens[number]}`", function.line, [program.between(number, following)])


def parameters(program: PtxProgram) -> Iterator[Edit]:
    """Parameters that a function does not read; who launches it passes them all the same."""
    for function in program.functions:
        head = range(function.first, function.head_last + 1)
        used = program.uses(function)
        starts = [
            number for number in head if program.tokens[number] == ".param" and _in_list(program, function, number)
        ]
        for start in starts:
            end = start
            while program.tokens[end] not in (",", ")"):
                end += 1
            name = next(
                (program.tokens[n] for n in range(end - 1, start, -1) if program.tokens[n][0] not in ".[]0123456789"),
                "",
            )
            if not name or used[name]:
                continue
            comma = program.tokens[end] == ","
            change = program.between(start, end + comma)
            yield Edit(f"drop the parameter `{name}`", function.line, [change])


def _in_list(program: PtxProgram, function: Statement, number: int) -> bool:
    """Whether a token follows the function's name."""
    return function.name in program.tokens[function.first : number]
