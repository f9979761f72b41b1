"""A program that makes no claim: what of its text is needed to run it, here or on a host."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

from harness.claim import languages, repro_file
from harness.claim.repro_file import Repro, Script

STDIN = Path("<stdin>")
NO_LIMIT_S = 1e6  # eleven days: a script ends when it ends
MOST_MODULES = 500
MOST_BYTES = 16 << 20  # of modules that go with a script


def is_script(text: str) -> bool:
    """Whether a file without a [tool.repro] block is a program to run as it is: it has no `run`, or its `run` is none
    of ours: it needs arguments and the file calls something itself, the file calls it, or there is a main block."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # whoever reads it as a repro shows the mistake
    runs = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "run"]
    if not runs or any(map(_is_main_block, body)):
        return True
    calls = [call for statement in body for call in _calls(statement)]
    is_called = any(isinstance(call.func, ast.Name) and call.func.id == "run" for call in calls)
    return is_called or (_needs_arguments(runs[-1]) and bool(calls))


def is_program(path: Path, data: bytes) -> bool:
    """Whether a file without a block is a program to run as it is: CUDA C++ is one."""
    return path.suffix == languages.CUDA or is_script(data.decode("utf-8", "replace"))


def _calls(statement: ast.stmt) -> list[ast.Call]:
    """The calls that a statement of a module makes at once, not in a function."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    return [node for node in ast.walk(statement) if isinstance(node, ast.Call)]


def _needs_arguments(function: ast.FunctionDef) -> bool:
    spec = function.args
    required = len(spec.posonlyargs + spec.args) > len(spec.defaults)
    return required or any(default is None for default in spec.kw_defaults)


def _is_main_block(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test)


def read(path: Path, data: bytes, args: tuple[str, ...] = ()) -> Repro:
    """The program, as a repro that claims nothing. Raises ReproError with the line, a caret and the fix.

    `imports` has what the modules that go with it import too, where it imports nothing that uses a GPU.
    """
    source = repro_file.source(path, data)
    names = frozenset({"cuda"}) if path.suffix == languages.CUDA else repro_file.imports(source.parse())
    source.table()
    repro = Repro(
        path=path,
        text=source.text,
        claim="",
        arch=None,
        params={},
        compare={},
        outcome="outputs",
        timeout_s=NO_LIMIT_S,
        checks=(),
        has_expected=False,
        imports=names,
        needs=source.needs(),
        requires_python=source.requires_python(),
        script=Script(args),
    )
    if repro.warm:
        return repro
    of_modules = (name for _, text in modules(repro).values() for name in imported(text, ""))
    return dataclasses.replace(repro, imports=names | {name.partition(".")[0] for name in of_modules})


def modules(repro: Repro) -> dict[str, tuple[str, str]]:
    """The author's own modules that the program imports, from its folder: name -> path, source.

    They go with it to a host, where its folder is not.
    """
    folder = Path.cwd() if repro.path == STDIN else repro.path.parent
    found: dict[str, tuple[str, str]] = {}
    todo, size = [(repro.text, "")], 0
    while todo and len(found) < MOST_MODULES and size < MOST_BYTES:
        text, package = todo.pop()
        for name in imported(text, package):
            path = _file_of(folder, name)
            if path is not None and name not in found:
                try:
                    source = path.read_text()
                except (OSError, UnicodeDecodeError):
                    continue
                found[name] = (str(path), source)
                size += len(source)
                todo.append((source, name if path.name == "__init__.py" else name.rpartition(".")[0]))
    return found


def _file_of(folder: Path, name: str) -> Path | None:
    base = folder.joinpath(*name.split("."))
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


def imported(text: str, package: str) -> list[str]:
    """Every name that a text may import, with the packages above it."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    every = [".".join(name.split(".")[: n + 1]) for name in names for n in range(name.count(".") + 1)]
    return [name for name in dict.fromkeys(every) if re.fullmatch(r"[\w.]+", name)]
