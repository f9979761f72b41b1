"""Verdicts of the memory model against Dat3M's PTX litmus tests: each test becomes PTX, whose outcomes are enumerated.

    git clone https://github.com/hernanponcedeleon/Dat3M; python tests/upstream/litmus.py Dat3M [NAME ...]

Prints each test whose verdict differs, and the counts. Tests with surfaces, textures, aliases, and constant memory
that changes have no PTX that runs here: their events go to the model as they are. DIFFERENT lists the questions that are left out.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsl import emulator
from dsl.emulator.execute.outcomes import Outcomes
from dsl.memory_model.events import SCOPES, Event, Kind, Position, Proxy, Trace
from dsl.memory_model.exploration import Choices, Recorded, explore
from dsl.memory_model.outcomes import Search

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
VERDICTS = {"allowed": "PTXv7_5-expected.csv", "ends": "PTXv7_5-Liveness-expected.csv"}
_PROXIES = {"sust": Proxy.SURFACE, "suld": Proxy.SURFACE, "tld": Proxy.TEXTURE, "cold": Proxy.CONSTANT}
# Questions that Dat3M answers otherwise than PTX ISA 9.7.13.1: there a barrier that counts all threads waits for those
# that come to another one; and of three threads at a barrier that counts two, one waits for ever.
DIFFERENT = {
    **dict.fromkeys(
        ("SB+named-bar-reg-diff", "SB+named-bar-reg-const-diff", "SB+named-bar-dyn-reg-const"), ("allowed",)
    ),
    **dict.fromkeys((f"quorum{n}-pass" for n in range(1, 5)), ("allowed", "ends")),
    **dict.fromkeys(("quorum3-fail", "quorum4-fail"), ("ends",)),
}


@dataclass
class Litmus:
    """A test: `threads` has (block, GPU, instructions) of each; `quantifier` is exists, ~exists or forall."""

    initial: dict[str, int]
    aliases: dict[str, tuple[str, str]]  # by name of memory that has another name too: its place and its address
    threads: list[tuple[str, str, list[str]]]
    quantifier: str
    condition: str

    @property
    def runs(self) -> bool:
        """Whether the device has its memory."""
        return not self.aliases and not any(
            parts(line)[0].split(".")[0] in _PROXIES for _, _, t in self.threads for line in t
        )

    @property
    def variables(self) -> list[str]:
        """The names of memory, in the order of their places."""
        names = [name for name in self.initial if ":" not in name]
        for _, _, lines in self.threads:
            for line in lines:
                opcode, operands = parts(line)
                if opcode.split(".")[0] in ("ld", "st", "atom", "red") and "." in opcode:
                    names.append(operands[0 if opcode.startswith(("st", "red")) else 1])
        return list(dict.fromkeys(names))

    def registers(self, thread: int) -> list[str]:
        """The registers of a thread, in the order in which they are kept at its end."""
        text = " ".join([*self.threads[thread][2], *re.findall(rf"\bP?{thread}:\s*(r\d+)", self.condition)])
        return sorted(set(re.findall(r"\br\d+\b", text)))


def parts(line: str) -> tuple[str, list[str]]:
    """Opcode and operands."""
    opcode, _, rest = line.partition(" ")
    return opcode, [each.strip() for each in rest.split(",") if each.strip()]


def read(text: str) -> Litmus:
    """The test in a .litmus file."""
    text = re.sub(r'"[^"]*"', "", text)
    head, _, rest = text.partition("{")
    initial_text, _, rest = rest.partition("}")
    match = re.search(r"(~?exists|forall)\s*(.*)", rest, re.S)
    if match is None:
        raise ValueError("it has no condition")
    rows = [[cell.strip() for cell in row.split("|")] for row in rest[: match.start()].split(";") if row.strip()]
    threads = []
    for column, name in enumerate(rows[0]):
        block, gpu = re.search(r"cta (\d+)\s*,\s*gpu (\d+)", name).groups()
        lines = [row[column] for row in rows[1:] if column < len(row) and row[column]]
        threads.append((block, gpu, lines))
    initial, aliases = {}, {}
    for each in filter(None, (e.strip() for e in initial_text.split(";"))):
        if " aliases " in each:
            name, proxy, original = re.fullmatch(r"(\w+) @ (\w+) aliases (\w+)", each).groups()
            place, address = aliases.get(original, (original, original))
            aliases[name] = place, name if proxy == "generic" else address
            continue
        name, _, value = (part.strip() for part in each.partition("="))
        initial[name] = int(value)
    return Litmus(initial, aliases, threads, match[1], match[2].strip())


class Kernel:
    """The test as PTX: a block for each (cta, gpu), memory and at the end the registers in one array."""

    def __init__(self, test: Litmus):
        self.test, self.variables = test, test.variables
        self.blocks = list(dict.fromkeys((block, gpu) for block, gpu, _ in test.threads))
        self.at: list[tuple[int, int]] = []
        for block, gpu, _ in test.threads:
            number = self.blocks.index((block, gpu))
            self.at.append((number, sum(each == number for each, _ in self.at)))
        self.width = max(lane for _, lane in self.at) + 1
        self.places = {name: i for i, name in enumerate(self.variables)}
        for thread, _ in enumerate(test.threads):
            for register in test.registers(thread):
                self.places[f"P{thread}:{register}"] = len(self.places)

    @property
    def ptx(self) -> str:
        lines = [
            ".visible .entry test(.param .u64 memory)",
            "{",
            ".reg .b64 %m;",
            ".reg .pred %p, %q;",
            ".reg .b32 %r<100>;",
        ]
        lines += [".reg .b32 %b, %t, %n;", "ld.param.u64 %m, [memory];", "mov.u32 %b, %ctaid.x;", "mov.u32 %t, %tid.x;"]
        for thread, (block, lane) in enumerate(self.at):
            lines += [f"setp.eq.u32 %p, %b, {block};", f"setp.eq.and.u32 %q, %t, {lane}, %p;", f"@%q bra P{thread};"]
        lines.append("ret;")
        for thread, _ in enumerate(self.test.threads):
            lines += [f"P{thread}:", *self._thread(thread), "ret;"]
        return HEADER + "\n".join([*lines, "}", ""])

    def _thread(self, thread: int) -> Iterator[str]:
        for register in self.test.registers(thread):
            yield f"mov.u32 %{register}, {self.test.initial.get(f'P{thread}:{register}', 0)};"
        for line in self.test.threads[thread][2]:
            if line.endswith(":"):
                yield f"P{thread}_{line}"
            else:
                yield from self._instruction(thread, *parts(line))
        for register in self.test.registers(thread):
            yield f"st.global.u32 [%m+{4 * self.places[f'P{thread}:{register}']}], %{register};"

    def _memory(self, name: str) -> str:
        return f"[%m+{4 * self.places[name]}]"

    def _instruction(self, thread: int, opcode: str, operands: list[str]) -> Iterator[str]:
        root, *mods = opcode.split(".")
        values = [f"%{each}" if re.fullmatch(r"r\d+", each) else each for each in operands]
        if root == "ld" and not mods:
            yield f"mov.u32 {values[0]}, {values[1]};"
        elif root == "ld":
            yield f"ld.{'.'.join(mods)}.global.u32 {values[0]}, {self._memory(operands[1])};"
        elif root == "st":
            yield f"st.{'.'.join(mods)}.global.u32 {self._memory(operands[0])}, {values[1]};"
        elif root in ("atom", "red"):
            yield from self._update(root, mods, operands, values)
        elif root in ("bne", "beq"):
            yield f"setp.{root[1:]}.u32 %p, {values[0]}, {values[1]};"
            yield f"@%p bra P{thread}_{operands[2]};"
        elif root == "goto":
            yield f"bra P{thread}_{operands[0]};"
        elif root in ("add", "sub"):
            yield f"{root}.u32 {', '.join(values)};"
        elif root == "bar":
            yield self._barrier(thread, mods, operands, values)
        elif root == "fence":
            yield f"{opcode};"
        else:
            raise ValueError(f"it has `{opcode}`")

    def _update(self, root: str, mods: list[str], operands: list[str], values: list[str]) -> Iterator[str]:
        has_result = root == "atom"
        place, rest = operands[has_result], values[has_result + 1 :]
        *mods, operation = mods
        if operation == "sub":
            yield f"neg.s32 %n, {rest[0]};" if rest[0].startswith("%") else f"mov.u32 %n, -{rest[0]};"
            operation, rest = "add", ["%n"]
        kind = "b32" if operation in ("exch", "cas", "and", "or", "xor") else "u32"
        first = values[0] if has_result else "_"
        yield f"atom.{'.'.join(mods)}.global.{operation}.{kind} {', '.join([first, self._memory(place), *rest])};"

    def _barrier(self, thread: int, mods: list[str], operands: list[str], values: list[str]) -> str:
        """`bar.cta.sync NAME [, NUMBER [, COUNT]]`; without a count it is of the threads of the block that have it."""
        number = values[1] if len(values) > 1 else values[0]
        count = operands[2] if len(operands) > 2 else None
        how = "arrive" if "arrive" in mods else "sync"
        if count is None:
            mine = [number_of(line) for line in self.test.threads[thread][2] if line.startswith("bar")]
            block = self.at[thread][0]
            users = {
                t
                for t, (its, _) in enumerate(self.at)
                if its == block
                for line in self.test.threads[t][2]
                if line.startswith("bar") and (number_of(line) == number or "r" in number_of(line) + number)
            }
            count = str(len(users)) if mine else "1"
        return f"barrier.cta.{how} {number}, {count};"

    def outcomes(self) -> tuple[list[dict[str, int]], bool, bool]:
        """Memory and registers of each outcome, whether a thread may wait for ever, and whether these are all."""
        memory = emulator.Memory()
        data = np.zeros(len(self.places), np.uint32)
        for name in self.variables:
            data[self.places[name]] = self.test.initial.get(name, 0) & 0xFFFFFFFF
        memory.register(data.ctypes.data, data.nbytes, "memory")
        program = emulator.load(self.ptx)
        pointer = struct.pack("<Q", data.ctypes.data)
        gpus = [gpu for _, gpu in self.blocks]
        found = Outcomes(
            program, "test", (len(self.blocks), 1, 1), (self.width, 1, 1), [pointer], memory,
            gpu_of=lambda block: gpus[block],
        )  # fmt: skip
        values, waits = [], False
        for outcome in found:
            if outcome.stuck:
                waits = True
                continue
            now = data.copy()
            for place, value in outcome.final:
                now[(place.address - data.ctypes.data) // 4] = value
            values.append({name: int(now[i]) for name, i in self.places.items()})
        return values, waits, found.is_complete


class Events:
    """The test as events, for the model alone; it has no branches."""

    def __init__(self, test: Litmus):
        self.test = test

    def _run(self, choices: Sequence[Choices | None]) -> list[Recorded | None]:
        return [None if each is None else self._thread(thread, each) for thread, each in enumerate(choices)]

    def _thread(self, thread: int, choices: Choices) -> Recorded:
        events: list[Event] = []
        own: list[tuple[int, ...]] = []
        written: dict[str, list[int]] = {}
        registers: dict[str, tuple[int, frozenset[int]]] = {}
        for line in self.test.threads[thread][2]:
            opcode, operands = parts(line)
            root, *mods = opcode.split(".")
            if root == "fence":
                order = mods[1] if mods[:2] == ["proxy", "alias"] else mods[0]
                proxy = Proxy[mods[1].upper()] if order == "proxy" else Proxy.GENERIC
                scope = mods[-1] if mods[-1] in SCOPES else "cta"
                events.append(Event(Kind.FENCE, order=order, scope=scope, proxy=proxy))
                continue
            scope = mods[1] if len(mods) > 1 else "cta"
            if root == "bar":
                events.append(Event(Kind.BARRIER, operands[0], "sync"))
            elif root in ("ld", "suld", "tld", "cold"):
                name = operands[1]
                (place, address), proxy = self.test.aliases.get(name, (name, name)), _PROXIES.get(root, Proxy.GENERIC)
                own.append(tuple(reversed([self._initial(place), *written.get(place, [])])))
                value = choices[len(own) - 1] if len(own) <= len(choices) else own[-1][0]
                registers[operands[0]] = value, frozenset({len(events)})
                events.append(Event(Kind.READ, place, mods[0], scope, value, proxy=proxy, address=address))
            elif root in ("st", "sust"):
                name = operands[0]
                (place, address), proxy = self.test.aliases.get(name, (name, name)), _PROXIES.get(root, Proxy.GENERIC)
                value, needs = registers.get(operands[1]) or (int(operands[1]), frozenset())
                written.setdefault(place, []).append(value)
                events.append(Event(Kind.WRITE, place, mods[0], scope, value, needs, proxy=proxy, address=address))
            else:
                raise ValueError(f"it has `{opcode}`")
        for register, (value, needs) in registers.items():
            events.append(Event(Kind.WRITE, f"P{thread}:{register}", value=value, needs=needs))
        return Recorded(Trace(tuple(events)), own)

    def _initial(self, place: str) -> int:
        return self.test.initial.get(place, 0)

    def outcomes(self) -> tuple[list[dict[str, int]], bool, bool]:
        """As Kernel.outcomes."""
        positions = [Position((gpu, block), (gpu, block), gpu) for block, gpu, _ in self.test.threads]
        traces, is_complete = explore(len(positions), self._run)
        found = list(Search(traces, positions, self._initial).outcomes())
        values = [{**self.test.initial, **dict(each.final)} for each in found if not each.stuck]
        return values, any(each.stuck for each in found), is_complete


def number_of(line: str) -> str:
    """The number of a barrier: its second operand, or the only one."""
    operands = parts(line)[1]
    number = operands[1] if len(operands) > 1 else operands[0]
    return f"%{number}" if number.startswith("r") else number


def holds(condition: str) -> Callable[[dict[str, int]], bool]:
    """The condition as a function of values."""
    code = re.sub(r"\b(P?)(\d+):\s*(r\d+)", r"P\2:\3", condition)
    code = code.replace("/\\", " and ").replace("\\/", " or ").replace("~", " not ")
    code = re.sub(r"(?<![=!<>])=(?!=)", "==", code)
    code = re.sub(
        r"\b(P\d+:r\d+|[a-z_]\w*)\b", lambda m: m[0] if m[0] in ("and", "or", "not") else f"v[{m[0]!r}]", code
    )
    return eval(f"lambda v: bool({code})")


def verdict(test: Litmus, question: str) -> tuple[int, bool]:
    """1 or 0, and whether all outcomes were seen."""
    values, waits, is_complete = (Kernel if test.runs else Events)(test).outcomes()
    if question == "ends":
        return int(not waits), is_complete
    test_of = holds(test.condition)
    if test.quantifier == "forall":
        return int(all(map(test_of, values))), is_complete
    return int(any(map(test_of, values)) == (test.quantifier == "exists")), is_complete


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*", help="tests to run, by file name without .litmus; default: all")
    arguments = parser.parse_args()
    resources = arguments.checkout / "dartagnan" / "src" / "test" / "resources"
    counts = {"equal": 0, "differs": 0, "left out": 0}
    slowest = (0.0, "")
    for question, file in VERDICTS.items():
        for row in (resources / file).read_text().split():
            path, wanted = row.split(",")
            name = Path(path).stem
            if arguments.names and name not in arguments.names:
                continue
            text = (arguments.checkout / path).read_text()
            if question in DIFFERENT.get(name, ()):
                counts["left out"] += 1
                continue
            start = time.perf_counter()
            try:
                got, is_complete = verdict(read(text), question)
            except Exception as error:
                got, is_complete = f"{type(error).__name__}: {error}", True
            slowest = max(slowest, (time.perf_counter() - start, name))
            equal = got == int(wanted) and is_complete
            counts["equal" if equal else "differs"] += 1
            if not equal:
                print(f"{path} ({question}): {got}{'' if is_complete else ', bounded'}, expected {wanted}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()), f"; slowest {slowest[0]:.2f} s ({slowest[1]})")
    return int(counts["differs"] > 0)


if __name__ == "__main__":
    sys.exit(main())
