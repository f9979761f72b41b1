"""Adopt a script: run it and record what it prints, write the repro, run that, and compare every value."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.adopt import plan as planning, prints, recorder, rewrite, script_block, statements
from harness.adopt.plan import Plan
from harness.adopt.prints import Prints
from harness.adopt.refusal import NotAdopted, at
from harness.claim.repro_file import Case, Repro, ReproError, read
from harness.run.result import Array, Outcome

Run = Callable[[Case], Outcome]
Value = bool | int | float | str
_NAME = prints.RECORD


@dataclass(frozen=True)
class Adopted:
    """The text of the repro, and what its outputs are."""

    text: str
    outputs: Mapping[str, Array]


def adopt(
    path: Path, out: Path, run: Run, claim: str = "", wanted: Mapping[str, Sequence[Value]] | None = None,
    arguments: Sequence[str] = (), note: Callable[[str], None] = lambda text: None,
) -> Adopted:  # fmt: skip
    """The script at `path` as a repro for `out`, which is not written; `run` runs a case.

    `wanted`: values for constants that become parameters. Raises NotAdopted, OSError.
    """
    name = path.name
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    _refuse_by_name(name, text)
    head = script_block.read(text)
    script = statements.read(name, head.text)
    written_claim = _claim(script, head, claim)
    if written_claim is None:
        fix = 'begin the script with a comment or a docstring that can be false, or give one: --claim "..."'
        raise NotAdopted(f"{name}: it does not state a claim\nfix: {fix}")
    found = prints.find(head.text)
    note(f"running {name} as it is")
    arrays, plan = _before(path, head, found, run, list(arguments))
    _refuse_prints(name, script, found, plan)
    chosen = rewrite.parameters(script, wanted or {})
    params = {one.name: one.own for one in chosen}
    expected = {key: arrays[number] for key, number in plan.values.items()}
    trouble = ""
    for level in _levels(script, found, plan):
        written = rewrite.program(script, head, found.sites, plan, level, written_claim, chosen, arguments)
        note(f"running the repro ({len(expected)} outputs)")
        trouble = _differs(run(Case(_as_repro(written, out), params)), expected)
        if not trouble:
            return Adopted(written, expected)
    again, second = _before(path, head, found, run, list(arguments))
    now = {key: again[number] for key, number in second.values.items()}
    changed = [key for key in expected if key not in now or not _equal(now[key], expected[key])]
    if changed:
        fix = "seed its random numbers (torch.manual_seed(0)), and write every element before it is printed"
        raise NotAdopted(f"{name}: {changed[0]} differs from run to run of the script itself\nfix: {fix}")
    raise NotAdopted(f"{name}: as a repro it does otherwise than as a script: {trouble}")


def _claim(script: statements.Script, head: script_block.Head, given: str) -> str | None:
    """The docstring to write, '' where the script's own stays, None where there is no claim."""
    own = script.module.get_docstring(clean=True) or ""
    if given:
        return f"{given}\n\n{own}\n" if own.strip() else given
    if own.strip():
        return ""
    return head.comment or inspect.cleandoc(script.docstring) or None


def _refuse_by_name(name: str, text: str) -> None:
    """Refuse scripts that do what a repro cannot do. Raises NotAdopted."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise at(name, error.lineno or 1, f"it is not Python: {error.msg}", "correct it") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "input":
            raise at(name, node.lineno, "it reads from a person by input()", "write the answer as a constant")
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdin", "sys.argv"):
            why = f"it reads {ast.unparse(node)}, and a repro is called without"
            raise at(name, node.lineno, why, "write a constant in its place, and name it by --param")
    if any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body):
        has_table = "[tool.repro]" in text
        why = "it is a repro already" if has_table else "it has a function run() already"
        fix = (
            f"run it: repro run {name}"
            if has_table
            else "call it otherwise, or add a `# /// script` block with [tool.repro]"
        )
        raise NotAdopted(f"{name}: {why}\nfix: {fix}")


def _before(
    path: Path, head: script_block.Head, found: Prints, run: Run, arguments: list[str]
) -> tuple[dict[int, Array], Plan]:
    """Run the script with a recorder; its arrays, and what becomes of them. Raises NotAdopted."""
    sites = [[[piece.names for piece in site.pieces], site.scope] for site in found.sites]
    source = (
        "import sys\nfrom harness.adopt import recorder\n\n\ndef run():\n"
        f"    sys.argv = [{str(path)!r}, *{arguments!r}]\n"
        f"    return recorder.execute({str(path)!r}, {head.text!r}, {found.recorded!r}, {sites!r}, {_NAME!r})\n"
    )
    block = script_block.write(head.block, [], {})
    like = _as_repro(f'{block}\n"""What a script prints."""\n\n\ndef run(): ...\n', path)
    imports = {name.partition(".")[0] for name in _imports(head.text)}
    warm = frozenset(imports)
    outcome = run(Case(dataclasses.replace(like, text=source, imports=warm), {}))
    if outcome.kind != "outputs":
        raise NotAdopted(f"{path.name}: the script itself does not run: {outcome.kind}\n{outcome.text.strip()}")
    events = json.loads(outcome.outputs[recorder.EVENTS].raw.tobytes())
    arrays = {int(name.rpartition("_")[2]): one for name, one in outcome.outputs.items() if name != recorder.EVENTS}
    return arrays, planning.make(found.sites, events)


def _imports(text: str) -> list[str]:
    nodes = list(ast.walk(ast.parse(text)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return names + [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def _refuse_prints(name: str, script: statements.Script, found: Prints, plan: Plan) -> None:
    """Raises NotAdopted where there is nothing to judge, or where a print cannot be taken out."""
    if not plan.outputs:
        line = found.sites[0].line if found.sites else 1
        fix = (
            "print the tensors that hold the answer, as in print(out). If the answer is text, add a `# /// script` "
            'block with [tool.repro] and compare = { stdout = "text" }: that claims what it prints'
        )
        raise at(name, line, "it prints no tensor", fix)
    kept = {unit.line for unit in script.kept if not unit.is_definition}
    for number in sorted(plan.sites):
        site = found.sites[number]
        if not site.is_statement:
            raise at(name, site.line, "this print() is part of another statement", "write it on a separate line")
        if site.line in kept:
            raise at(name, site.line, "it prints a tensor that a definition needs", "print it below all functions")


def _levels(script: statements.Script, found: Prints, plan: Plan) -> Sequence[str]:
    """The ways to take the outputs, the most readable first."""
    inside = all(found.sites[output.site].function in ("", script.main) for output in plan.outputs)
    if inside and not any(output.is_dynamic for output in plan.outputs):
        return rewrite.LEVELS
    return rewrite.LEVELS[1:]


def _as_repro(text: str, path: Path) -> Repro:
    """A text as the repro at `path`. Raises NotAdopted."""
    with tempfile.TemporaryDirectory(prefix="gpu-repro-adopt-") as folder:
        file = Path(folder, path.name if path.suffix == ".py" else f"{path.name}.py")
        file.write_text(text)
        try:
            return dataclasses.replace(read(file), path=path.absolute())
        except ReproError as error:
            raise NotAdopted(f"the file that was written is not a repro: {error}") from None


def _differs(outcome: Outcome, expected: Mapping[str, Array]) -> str:
    """How the repro's run differs from what was recorded, or ''."""
    if outcome.kind != "outputs":
        return f"{outcome.kind}\n{outcome.text.strip()}"
    for name in expected.keys() ^ outcome.outputs.keys():
        return f"{name} is an output of only one of the two"
    for name, array in expected.items():
        if not _equal(outcome.outputs[name], array):
            got, want = outcome.outputs[name], array
            if (got.dtype, got.shape) != (want.dtype, want.shape):
                return f"{name} is {got.dtype.name} {list(got.shape)}, and was {want.dtype.name} {list(want.shape)}"
            return f"{name} has other values"
    return ""


def _equal(one: Array, other: Array) -> bool:
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.raw.tobytes() == other.raw.tobytes()
