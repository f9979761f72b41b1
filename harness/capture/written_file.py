"""The captured file: PEP 723 block, claim, the author's code, and a `run()` that makes the call again."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.capture import private
from harness.capture.arguments import draws, spelling, values
from harness.capture.arguments.device_memory import DeviceMemory
from harness.capture.arguments.memory import Storage, View, is_packed
from harness.capture.author import licence
from harness.capture.author.packages import packages_of
from harness.capture.recorder import Taken, plain_name

WIDTH = 120
# The bounds of torch.testing.assert_close: relative, absolute.
CLOSE = {"float64": "1e-7,1e-7", "float32": "1.3e-6,1e-5", "float16": "1e-3,1e-5", "bfloat16": "1.6e-2,1e-5"}
TARGET = "CUTE_DSL_ARCH"
_SYMBOL = re.compile(r"cute\.sym_int")
OWN_IMPORTS = ("import numpy as np", "import torch", "from pathlib import Path")


@dataclass
class Written:
    """The text of a captured file, its data by name, and what it lacks."""

    text: str
    data: dict[str, np.ndarray] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


@dataclass
class Sliced:
    """The author's code that a call reaches, and what its module variables without source are, as text."""

    parts: Any  # slicer.Slice
    before: list[str] = field(default_factory=list)  # statements of the module
    inside: list[str] = field(default_factory=list)  # statements of run()


def prepare(taken: Taken) -> None:
    """Slice the program as it is now: before the call, module variables have the values that the call finds."""
    from harness.capture.author import slicer  # noqa: PLC0415

    speller = taken.spelling
    called = set(re.findall(r"\.(\w+)\(", "\n".join([taken.text, *(text for _, text in speller.statements)])))
    texts: dict[int, tuple[str, list[str]]] = {}
    while True:  # values of module variables may need more of the program
        count = len(speller.roots)
        parts = slicer.slice_of(speller.roots, _reserved(list(speller.imports)), called)
        for name, value in parts.values.items():
            if id(value) not in texts:
                texts[id(value)] = _spelt(speller, name, value)
        if len(speller.roots) == count:
            break
    sliced = taken.sliced = Sliced(parts)
    for name, value in parts.values.items():
        text, rows = texts[id(value)]
        if any(mark in line for line in (text, *rows) for mark in "\x01\x03") or "_object(" in text:
            sliced.inside += [f"global {name}", *rows, f"{name} = {text}"]
        else:
            sliced.before += [*rows, f"{name} = {text}"]


def _spelt(speller: spelling.Spelling, name: str, value: Any) -> tuple[str, list[str]]:
    """A value as an expression, with the statements that it needs."""
    count = len(speller.statements)
    text = speller.of(value, name)
    rows = [f"{mark} = {expression}" for mark, expression in speller.statements[count:]]
    del speller.statements[count:]
    return text, rows


def _reserved(lines: list[str]) -> dict[str, Any]:
    """Names that the file's own parts and these imports have, with what slicer calls their owners."""
    names: dict[str, Any] = dict.fromkeys(
        ("run", "expected", "arguments", "main", "_object", "_stored", "_stored_array")
    )
    for node in ast.parse("\n".join([*lines, *OWN_IMPORTS])).body:
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            bound = (alias.asname or alias.name).partition(".")[0]
            if isinstance(node, ast.ImportFrom):
                names[bound] = ("import", node.module, alias.name)
            else:
                names[bound] = ("import", alias.name if alias.asname else bound)
    return names


def write(taken: Taken, program: str, packages: Mapping[str, str | None]) -> Written:
    """The file of a call. `program` is what the claim calls the program; `packages`: distributions with versions."""
    if taken.sliced is None:
        prepare(taken)
    sliced: Any = taken.sliced
    speller, parts = taken.spelling, sliced.parts
    made = _Body(taken)
    expected = made.expected()
    lines = made.lines()
    lines[-2:-2] = sliced.inside
    constants = [f"{name} = {text}" for name, text in speller.constants.items()]
    setting = "\n".join([*speller.setting, *constants, *sliced.before])
    made.keep(speller.stored)
    taken_names = _module_names(parts.text) | set(parts.values) | {"run", "arguments", "Path", "np", "torch"}
    body = made.arguments() + "\n".join(["def run():", *(f"    {line}" for line in lines)])
    setting, body, expected = (speller.finished(text, parts.names, taken_names) for text in (setting, body, expected))
    modules = dict.fromkeys([*made.imports, *speller.imports])
    helpers = _helpers(speller, made, body + setting)
    code = _joined(parts.text, setting, helpers, body, expected, modules)
    missing = [*speller.missing, *parts.missing]
    code, hidden = private.without(code)
    if "nvidia-cutlass-dsl" in packages and TARGET in os.environ:
        code = _for_target(code, os.environ[TARGET])
    missing = [private.sentence(line) for line in [*missing, *hidden]]
    program, needed = private.sentence(program), {**packages_of(code), **speller.packages, **packages}
    head = _head(taken, program, needed, missing, parts.licences, code)
    tail = (
        '\n\n\nif __name__ == "__main__":\n    for name, value in run().items():\n        print(f"{name} = {value}")\n'
    )
    return Written(head + code.strip() + tail, made.data, missing)


def _for_target(code: str, architecture: str) -> str:
    """The code, compiled for the architecture that the program got from its environment."""
    future = "from __future__ import annotations\n"
    setting = f"import os\n\nos.environ[{json.dumps(TARGET)}] = {json.dumps(architecture)}\n"
    if code.startswith(future):
        return future + setting + code[len(future) :]
    return setting + code


def _with_symbols(statements: Sequence[tuple[str, str]], others: Sequence[str]) -> list[tuple[str, str]]:
    """The statements; a symbolic extent that one of them reads once, and none of the `others`, is made there."""
    kept = list(statements)
    for mark, text in statements:
        readers = [place for place, (_, each) in enumerate(kept) if mark in each]
        if not _SYMBOL.match(text) or len(readers) != 1 or any(mark in each for each in others):
            continue
        name, reader = kept[readers[0]]
        if reader.count(mark) == 1:
            kept[readers[0]] = name, reader.replace(mark, text)
            kept.remove((mark, text))
    return kept


def _helpers(speller: spelling.Spelling, made: _Body, text: str) -> list[str]:
    """The functions of the file that the author did not write: those that `text` calls, and the functions they call."""
    found: dict[str, str] = {}
    while new := [name for name in speller.helpers if name not in found and f"{name}(" in text]:
        for name in new:
            found[name] = speller.helpers[name]
            text += found[name].partition("\n")[2]
    of_data = [helper for name, helper in values.HELPER.items() if name in made.stored]
    return of_data + [helper for name, helper in speller.helpers.items() if name in found]


class _Body:
    """The statements of run(): memory, other values, the call, what it gives."""

    def __init__(self, taken: Taken):
        self.taken, self.speller = taken, taken.spelling
        self.data: dict[str, np.ndarray] = {}
        self.stored: set[str] = set()
        self.imports: dict[str, None] = {}

    def arguments(self) -> str:
        """The function arguments(), of which run() and expected() both take the tensors."""
        if not self.taken.reference:
            return ""
        lines = [*self._memory_lines, f"return {self._tensors}"]
        return "\n".join(["def arguments():", *(f"    {line}" for line in lines)]) + "\n\n\n"

    @property
    def _tensors(self) -> str:
        return ", ".join(view.name for view in self.speller.views) + "," * (len(self.speller.views) == 1)

    @functools.cached_property
    def _memory_lines(self) -> list[str]:
        return self._memory()

    def lines(self) -> list[str]:
        memory = [f"{self._tensors} = arguments()"] if self.taken.reference else self._memory_lines
        rows = [(plain_name(view.name), self._output(view)) for view in self.taken.changed]
        rows += [(name, expression) for name, expression, _ in self.taken.returned]
        reads = any("returned" in expression for _, expression, _ in self.taken.returned)
        call = f"returned = {self.taken.text}" if reads else self.taken.text
        outputs = ", ".join(f'"{name}": {value}' for name, value in rows)
        last = [call, f"return {{{outputs}}}"]
        sliced: Any = self.taken.sliced
        statements = _with_symbols(self.speller.statements, [*sliced.inside, *last])
        return [*self.speller.first, *memory, *(f"{mark} = {text}" for mark, text in statements), *last]

    def _output(self, view: View) -> str:
        if isinstance(view.tensor, DeviceMemory):
            return view.tensor.output.replace("{}", view.name)
        if is_packed(view.dtype):
            return f"{view.name}.view(torch.uint8)"
        return f"{view.name}.detach()" if view.requires_grad else view.name

    def expected(self) -> str:
        """The function expected(), of what a reference gave."""
        if not self.taken.expected:
            return ""
        if self.taken.reference:
            return self._computed()
        rows = []
        for name, value in self.taken.expected.items():
            kept = spelling.Spelling()
            view = kept.memory.view(value, "")
            storage = kept.memory.storages[0]
            made = self._note(values.made(storage, view.dtype, []), storage)
            rows.append(f'"{name}": {self._viewed(made, view, storage)}')
        return "\n\n\ndef expected():\n    return {" + ", ".join(rows) + "}\n"

    def _computed(self) -> str:
        """expected() that asks the reference."""
        names, lines = list(self.taken.expected), [f"{self._tensors} = arguments()"]
        given = self.taken.reference
        if self.taken.reference_gives is None:
            rows = [f'"{names[0]}": {given}']
        else:
            lines.append(f"given = {given}")
            keys = names if self.taken.reference_gives is dict else range(len(names))
            rows = [f'"{name}": given[{key!r}]' for name, key in zip(names, keys)]
        lines.append(f"return {{{', '.join(rows)}}}")
        return "\n".join(["\n\n\ndef expected():", *(f"    {line}" for line in lines)]) + "\n"

    def _memory(self) -> list[str]:
        torch = sys.modules.get("torch")
        storages = self.speller.memory.storages
        if not storages:
            return []
        if torch is None:
            return self._made(storages, [])
        with draws.replayed(torch) as drawn:
            return self._made(storages, drawn)

    def _made(self, storages: list[Storage], drawn: list[tuple[str, Any]]) -> list[str]:
        made = []
        for storage in storages:
            found = values.made(storage, _element_type(storage), drawn)
            if storage.addresses and storage.library == "driver":
                words = f'np.array([{", ".join(storage.addresses)}], "uint64")'
                found = values.Made(storage.owner.making.replace("{}", words), False)
            elif storage.addresses:
                place = "" if storage.device == "cpu" else f', device="{storage.device}"'
                found = values.Made(f"torch.tensor([{', '.join(storage.addresses)}]{place})", False)
            made.append(self._note(found, storage))
        lines: list[str] = []
        first_of = {}
        for storage, how in zip(storages, made):
            if how.draw is not None:
                first_of.setdefault(how.draw, []).append((storage, how))
        if first_of:
            lines.append(f"torch.manual_seed({draws.seed()})")
            for number, (expression, _) in enumerate(drawn[: max(first_of) + 1]):
                if number not in first_of:
                    lines.append(f"{expression}  # drawn before")
                    continue
                users = first_of[number]
                if len(users) == 1:
                    lines += self._views(*users[0])
                else:
                    mark = self.speller.name("drawn")
                    lines.append(f"{mark} = {expression}")
                    for storage, how in users:
                        text = how.text.replace(expression, f"{mark}.clone()", 1)
                        lines += self._views(storage, values.Made(text, False))
        for storage, how in sorted(zip(storages, made), key=lambda pair: bool(pair[0].addresses)):
            if how.draw is None:
                lines += self._views(storage, how)
        return lines

    def _note(self, made: values.Made, storage: Storage) -> values.Made:
        self.imports[spelling.PUBLIC["torch" if storage.library == "torch" else "numpy"]] = None
        if made.data is not None:
            self.data[made.data] = storage.before
            self.stored.add("torch" if storage.library == "torch" else "numpy")
            self.imports["from pathlib import Path"] = None
            self.imports[spelling.PUBLIC["numpy"]] = None
        return made

    def keep(self, stored: Mapping[str, np.ndarray]) -> None:
        """Store data next to the file that are not read as memory."""
        self.data.update(stored)
        if stored:
            self.stored.add("numpy")
            self.imports |= {"from pathlib import Path": None, spelling.PUBLIC["numpy"]: None}

    def _views(self, storage: Storage, made: values.Made) -> list[str]:
        views, dtype = storage.views, _element_type(storage)
        count = storage.nbytes // max(1, _item_bytes(storage, dtype))
        if len(views) == 1 and views[0].dtype == dtype:
            return [f"{views[0].name} = {self._viewed(made, views[0], storage)}"]
        base = self.speller.name("memory")
        lines = [f"{base} = {made.text.replace('{shape}', f'({count},)')}"]
        for view in views:
            source = base if view.dtype == dtype else f"{base}.view({_dtype_text(storage, view.dtype)})"
            lines.append(f"{view.name} = {_strided(storage, source, view)}{_gradient(view)}")
        return lines

    def _viewed(self, made: values.Made, view: View, storage: Storage) -> str:
        """The only view of a storage as one expression."""
        count = storage.nbytes // max(1, view.item_bytes)
        whole = view.offset == 0 and view.nbytes == storage.nbytes and view.is_contiguous
        if whole and made.shaped:
            return made.text.replace("{shape}", _shape(view.shape)) + _gradient(view)
        text = made.text.replace("{shape}", f"({count},)")
        if whole and made.draw is not None and _shape(view.shape) in text.partition(")")[0] + ")":
            return text + _gradient(view)
        if whole and made.draw is not None and text.startswith(f"torch.randn({', '.join(map(str, view.shape))}"):
            return text + _gradient(view)
        if whole:
            return (text if len(view.shape) == 1 else f"{text}.reshape({_shape(view.shape)})") + _gradient(view)
        if made.draw is not None:
            text += ".view(-1)"
        return _strided(storage, text, view) + _gradient(view)


def _gradient(view: View) -> str:
    return ".requires_grad_()" if view.requires_grad else ""


def _strided(storage: Storage, base: str, view: View) -> str:
    if storage.library == "torch":
        offset = f", {view.offset}" if view.offset else ""
        return f"{base}.as_strided({_shape(view.shape)}, {_shape(view.stride)}{offset})"
    strides = tuple(step * view.item_bytes for step in view.stride)
    return (
        f'np.ndarray({_shape(view.shape)}, "{view.dtype}", {base}, {view.offset * view.item_bytes}, {_shape(strides)})'
    )


def _shape(shape: tuple[int, ...]) -> str:
    return repr(tuple(int(size) for size in shape))


def _dtype_text(storage: Storage, dtype: str) -> str:
    return dtype if storage.library == "torch" else f'"{dtype}"'


def _element_type(storage: Storage) -> str:
    """The dtype of the first view whose item size divides the size of the storage."""
    for view in storage.views:
        if view.item_bytes and storage.nbytes % view.item_bytes == 0 and not is_packed(view.dtype):
            return view.dtype
    return "torch.uint8" if storage.library == "torch" else "uint8"


def _item_bytes(storage: Storage, dtype: str) -> int:
    return next((view.item_bytes for view in storage.views if view.dtype == dtype), 1)


def _module_names(text: str) -> set[str]:
    """Names that the code of a module binds."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        else:
            found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found


def _joined(sliced: str, setting: str, helpers: list[str], body: str, expected: str, modules: dict[str, None]) -> str:
    """The parts in their order: imports, constants, definitions, helpers, run()."""
    tree = ast.parse(sliced)
    have = {_import_text(one, alias) for one in tree.body for alias in getattr(one, "names", ()) if _is_import(one)}
    new = sorted(line for line in modules if line not in have)
    last = 0
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            last = node.end_lineno or last
        else:
            break
    lines = sliced.splitlines()
    head = "\n".join([*lines[:last], *new])
    rest = "\n".join(lines[last:]).strip("\n")
    blocks = [head, setting, rest, *helpers, body + expected]
    return "\n\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _import_text(node: ast.stmt, alias: ast.alias) -> str:
    """One name of an import as a separate statement."""
    bound = f" as {alias.asname}" if alias.asname else ""
    origin = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
    return f"{origin}import {alias.name}{bound}"


def _head(
    taken: Taken, program: str, packages: Mapping[str, str | None], missing: list[str], licences: list[str], code: str
) -> str:
    needed = {name: version for name, version in packages.items() if version is not None}
    rows = [f"{name}=={version}" if version else name for name, version in sorted(needed.items())]
    block = ["# /// script", f"# dependencies = {json.dumps(rows)}", "# [tool.repro]"]
    if taken.outcome is not None and taken.outcome.get("outcome") in ("rejected", "deadlock", "trap", "fault"):
        kind = taken.outcome.get("kind") if taken.outcome["outcome"] == "fault" else None
        block.append(f'# outcome = "{kind or taken.outcome["outcome"]}"')
    block += _closeness(taken)
    if taken.seconds > 10:
        block.append(f"# timeout = {int(30 + 4 * taken.seconds)}")
    block.append("# ///")
    said = [f"# missing: {line}" for line in missing]
    claim = _claim(taken, program)
    licences = [private.sentence(text) for text in licences]
    legal = [licence.filled(text) for text in licences]
    return "\n".join([*said, *block, f'"""{claim}"""', "", *legal]).rstrip() + "\n\n"


def _closeness(taken: Taken) -> list[str]:
    """How near an output must come to its reference: as `--differs` judges it."""
    rows = []
    for name, value in taken.expected.items():
        bounds = CLOSE.get(str(getattr(value, "dtype", "")).removeprefix("torch."))
        rows += [f'{name} = "close:{bounds}"'] if bounds else []
    return [f"# compare = {{ {', '.join(rows)} }}"] if rows else []


def _claim(taken: Taken, program: str) -> str:
    verb = "gives what it gave there"
    if taken.outcome is not None:
        verb = f"ends there in: {taken.outcome.get('kind') or taken.outcome.get('outcome')}"
    elif taken.expected:
        verb = "differs from its reference"
    text = f"Call {taken.number} of {taken.call.name} in {program} {verb}."
    return "\n".join(textwrap.wrap(text, WIDTH - 8))
