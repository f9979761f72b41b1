"""The adopted program: the author's text with run() around what moved, and without the prints that became outputs."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from harness.adopt import script_block
from harness.adopt.plan import Output, Plan
from harness.adopt.prints import Site
from harness.adopt.refusal import NotAdopted, at
from harness.adopt.script_block import Head
from harness.adopt.statements import Script, Unit

LEVELS = ("returned", "kept", "copied")  # at the end of run(); where they are printed; a copy there


@dataclass
class Parameter:
    """A constant that becomes a parameter of run()."""

    constant: str
    name: str
    values: Sequence[bool | int | float | str]
    own: bool | int | float | str  # its value in the script
    is_shared: bool = False  # functions read it: run() sets it
    follow: list[Unit] = field(default_factory=list)  # constants that are computed of it


def parameters(script: Script, wanted: Mapping[str, Sequence[bool | int | float | str]]) -> list[Parameter]:
    """The constants that are asked for, taken out of what stays. Raises NotAdopted."""
    found = []
    for constant, values in wanted.items():
        unit = script.constant(constant)
        if unit is None:
            known = ", ".join(sorted(name for one in script.constants for name in one.binds)) or "none"
            raise NotAdopted(f"--param {constant}: the script has no constant of this name; its constants are: {known}")
        try:
            own = ast.literal_eval(unit.tree.value)  # pyright: ignore[reportAttributeAccessIssue] - an assignment
        except ValueError:
            own = None
        if not isinstance(own, bool | int | float | str):
            raise at(script.path, unit.line, f"{constant} is not a number, bool or word", "name a constant that is one")
        found.append(_parameter(script, unit, constant, values, own))
    return found


def _parameter(script: Script, unit: Unit, constant: str, values: Sequence, own: bool | int | float | str) -> Parameter:
    unit.stays, moved = False, {constant}
    follow: list[Unit] = []
    for other in [one for one in script.units if one.stays or one.is_constant]:
        if not (other.reads & moved):
            continue
        if not isinstance(other.tree, ast.Assign):
            name = getattr(other.tree, "name", "this statement")
            fix = f"write the value in {name}, or leave out --param {constant}"
            raise at(
                script.path, other.line, f"{name} needs {constant} where it is defined, before run() is called", fix
            )
        other.stays = False
        moved |= other.binds
        follow.append(other)
    read_later = {name for other in script.kept for name in other.reads_later}
    script.units = [other for other in script.units if other is not unit and other not in follow]
    script.shared |= {name for other in follow for name in other.binds} & read_later
    is_shared = constant in read_later
    name = constant
    if is_shared:
        name = constant.lower() if constant.lower() != constant else f"{constant}_value"
        script.shared.add(constant)
    return Parameter(constant, name, values, own, is_shared, follow)


def program(
    script: Script, head: Head, sites: Sequence[Site], plan: Plan, level: str, claim: str, chosen: Sequence[Parameter],
    arguments: Sequence[str] = (),
) -> str:  # fmt: skip
    """The text of the repro. Raises NotAdopted."""
    for output in plan.outputs:
        output.code = output.code.replace("parse_args()", f"parse_args({list(arguments)!r})")
    places = {(site.line, site.column): number for number, site in enumerate(sites)}
    holder = "outputs" if "outputs" not in script.module.code else "printed"
    replace = _Replace(script.positions, sites, places, plan, level, holder, list(arguments))
    kept = [replace.statement(unit.node) for unit in script.kept]
    moved = [replace.statement(unit.node) for unit in _without_exit(script.moved)]
    is_module_level = any(sites[output.site].function not in ("", script.main) for output in plan.outputs)
    start: list[str] = []
    if script.shared:
        start.append(f"global {', '.join(sorted(script.shared))}")
    start += [f"{one.constant} = {one.name}" for one in chosen if one.is_shared]
    body: list[cst.BaseStatement] = [_line(text) for text in start]
    body += [unit.node for one in chosen for unit in one.follow]
    if level == LEVELS[0]:
        pairs = ", ".join(f'"{output.key}": {output.taken}' for output in plan.outputs)
        end = [f"return {{{pairs}}}"]
    elif is_module_level:
        body, end = [_line(f"{holder}.clear()"), *body], [f"return dict({holder})"]
        if script.shared:
            body[0], body[1] = body[1], body[0]
    else:
        body, end = [*body, _line(f"{holder} = {{}}")], [f"return {holder}"]
    body += _closed_up([one for part in moved for one in part])
    last = _line(end[0])
    last = last.with_changes(leading_lines=[cst.EmptyLine(comment=c, indent=True) for c in replace.comments])
    run = cst.FunctionDef(
        name=cst.Name("run"),
        params=cst.Parameters([cst.Param(cst.Name(one.name)) for one in chosen]),
        body=cst.IndentedBlock([*body, last]),
        leading_lines=[cst.EmptyLine(indent=False)] * 2,
    )
    first: list[cst.BaseStatement] = []
    if not claim:
        first = [script.module.body[0]]  # pyright: ignore[reportAssignmentType] - the docstring
    text = [one for part in kept for one in part]
    added = [] if level == LEVELS[0] or not is_module_level else [_line(f"{holder} = {{}}", blank=1)]
    if any(output.is_numbers for output in plan.outputs) and not _imports_numpy(script):
        text.insert(_after_imports(text), _line("import numpy as np"))
    position = _after_imports(text)
    text = [*text[:position], *added, *text[position:]]
    values = ", ".join(f"{one.name}={one.own!r}" for one in chosen)
    guard = cst.parse_statement(f'if __name__ == "__main__":\n    print(run({values}))\n')
    guard = guard.with_changes(leading_lines=[cst.EmptyLine(indent=False)] * 2)
    module = script.module.with_changes(header=[], footer=[], body=[*first, *_apart(text), run, guard])
    imports = [name.partition(".")[0] for name in _imported(script)]
    imports += ["numpy"] if any(output.is_numbers for output in plan.outputs) else []
    params = {one.name: one.values for one in chosen}
    top = [head.shebang] if head.shebang else []
    top.append(script_block.write(head.block, imports, params))
    top += [line for line in head.rest if line]
    if not first:
        top.append(_docstring(claim))
    code = module.code.strip("\n")
    gap = "" if first else "\n"
    return "\n".join(top) + "\n" + gap + code + "\n"


def _apart(nodes: list[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """With blank lines around definitions and after imports, where what stood between has moved."""
    spaced = nodes[:1]
    for before, node in itertools.pairwise(nodes):
        lines = list(getattr(node, "leading_lines", ()))
        is_import = [
            isinstance(n, cst.SimpleStatementLine) and isinstance(n.body[0], cst.Import | cst.ImportFrom)
            for n in (before, node)
        ]
        wanted = (
            2
            if isinstance(before, cst.FunctionDef | cst.ClassDef)
            and not isinstance(node, cst.FunctionDef | cst.ClassDef)
            else 0
        )
        wanted = wanted or int(is_import == [True, False])
        if wanted and not (lines and lines[0].comment is None):
            node = node.with_changes(leading_lines=[cst.EmptyLine(indent=False)] * wanted + lines)
        spaced.append(node)
    return spaced


def _docstring(claim: str) -> str:
    return (
        '"""' + claim.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + ('"""' if not claim.endswith('"') else ' """')
    )


def _line(text: str, blank: int = 0) -> cst.SimpleStatementLine:
    line = cst.parse_statement(text + "\n")
    assert isinstance(line, cst.SimpleStatementLine)
    return line.with_changes(leading_lines=[cst.EmptyLine(indent=False)] * blank)


def _closed_up(body: list[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Without blank lines at the start, and at most one between statements."""
    closed = []
    for place, node in enumerate(body):
        lines = list(getattr(node, "leading_lines", ()))
        while (
            len(lines) > (1 if place else 0) and lines[0].comment is None and (place == 0 or lines[1].comment is None)
        ):
            lines = lines[1:]
        lines = [line if line.comment else line.with_changes(indent=False) for line in lines]
        closed.append(node.with_changes(leading_lines=lines) if hasattr(node, "leading_lines") else node)
    return closed


def _after_imports(nodes: Sequence[cst.BaseStatement]) -> int:
    places = [place for place, node in enumerate(nodes) if isinstance(node, cst.SimpleStatementLine)
              and isinstance(node.body[0], cst.Import | cst.ImportFrom)]  # fmt: skip
    return places[-1] + 1 if places else 0


def _imported(script: Script) -> list[str]:
    trees = [node for unit in script.units for node in ast.walk(unit.tree)]
    names = [alias.name for node in trees if isinstance(node, ast.Import) for alias in node.names]
    return names + [
        node.module for node in trees if isinstance(node, ast.ImportFrom) and node.module and not node.level
    ]


def _imports_numpy(script: Script) -> bool:
    return any(
        alias.name == "numpy" and alias.asname == "np"
        for unit in script.kept for node in ast.walk(unit.tree) if isinstance(node, ast.Import) for alias in node.names
    )  # fmt: skip


def _without_exit(units: Sequence[Unit]) -> Sequence[Unit]:
    """Without a last `sys.exit()`, which ends a script and no function."""
    if units and ast.unparse(units[-1].tree) in ("sys.exit()", "sys.exit(0)", "exit()", "exit(0)", "raise SystemExit"):
        return units[:-1]
    return units


class _Replace(cst.CSTTransformer):
    """Takes outputs where they are printed."""

    def __init__(self, positions, sites, places, plan: Plan, level: str, holder: str, arguments: list[str]) -> None:
        self.positions, self.sites, self.places, self.plan = positions, sites, places, plan
        self.level, self.holder, self.arguments = level, holder, arguments
        self.comments: list[cst.Comment] = []
        self._loop_bodies: set[cst.CSTNode] = set()

    def statement(self, node: cst.BaseStatement) -> list[cst.BaseStatement]:
        """The statements that take the place of one."""
        new = node.visit(self)
        if isinstance(new, cst.FlattenSentinel):
            return [*new]  # pyright: ignore[reportReturnType]
        return [] if isinstance(new, cst.RemovalSentinel) else [new]  # pyright: ignore[reportReturnType]

    def _site(self, node: cst.CSTNode) -> int | None:
        place = self.positions.get(node)
        return self.places.get((place.start.line, place.start.column)) if place else None

    def leave_SimpleStatementLine(self, original_node, updated_node):
        if len(original_node.body) != 1 or not isinstance(original_node.body[0], cst.Expr):
            return updated_node
        number = self._site(original_node.body[0].value)
        outputs = self.plan.at(number) if number is not None else []
        if number is None or not self._is_taken(number):
            return updated_node
        lines = [] if self.level == LEVELS[0] else [self._assignment(one) for one in outputs if not one.after_loop]
        if not lines:
            self.comments += [line.comment for line in original_node.leading_lines if line.comment]
            return cst.RemoveFromParent()
        lines[0] = lines[0].with_changes(leading_lines=original_node.leading_lines)
        return cst.FlattenSentinel(lines)

    def _is_taken(self, number: int) -> bool:
        """Whether something that this print shows is an output; the same value may be one of another print."""
        return number in self.plan.sites

    def _assignment(self, output: Output) -> cst.SimpleStatementLine:
        value = output.taken + (output.copied if self.level == LEVELS[2] else "")
        if self.level == LEVELS[2] and output.copied and not output.code.replace("_", "").isalnum() and not output.how:
            value = f"({output.code}){output.copied}"
        key = output.key.replace("{COUNT}", f"{{len({self.holder})}}")
        return _line(f'{self.holder}[{"f" * output.is_dynamic}"{key}"] = {value}')

    def _after(self, original_node, updated_node):
        """A loop without its prints, and what is taken after it."""
        line = self.positions[original_node].start.line if original_node in self.positions else 0
        here = [o for o in self.plan.outputs if o.after_loop and self.sites[o.site].loop_line == line]
        more = [self._assignment(output) for output in here] if self.level != LEVELS[0] else []
        if _is_empty(updated_node.body):
            if isinstance(updated_node, cst.For) and _is_pure(updated_node.iter):
                return cst.FlattenSentinel(more) if more else cst.RemoveFromParent()
            updated_node = updated_node.with_changes(body=cst.IndentedBlock([_line("pass")]))
        return cst.FlattenSentinel([updated_node, *more]) if more else updated_node

    def leave_For(self, original_node, updated_node):
        return self._after(original_node, updated_node)

    def leave_While(self, original_node, updated_node):
        return self._after(original_node, updated_node)

    def leave_IndentedBlock(self, original_node, updated_node):
        parent_is_loop = original_node in self._loop_bodies
        if not updated_node.body and not parent_is_loop:
            return updated_node.with_changes(body=[_line("pass")])
        return updated_node

    def visit_For(self, node: cst.For) -> None:
        self._loop_bodies.add(node.body)

    def visit_While(self, node: cst.While) -> None:
        self._loop_bodies.add(node.body)

    def leave_Call(self, original_node, updated_node):
        if (
            isinstance(updated_node.func, cst.Attribute)
            and updated_node.func.attr.value == "parse_args"
            and not updated_node.args
        ):
            return updated_node.with_changes(args=[cst.Arg(cst.parse_expression(repr(self.arguments)))])
        return updated_node


def _is_empty(body: cst.BaseSuite) -> bool:
    return isinstance(body, cst.IndentedBlock) and not body.body


def _is_pure(node: cst.BaseExpression) -> bool:
    """Whether to iterate does nothing else."""
    tree = ast.parse(cst.Module([]).code_for_node(node).strip(), mode="eval")
    calls = [one.func for one in ast.walk(tree) if isinstance(one, ast.Call)]
    known = {"range", "enumerate", "zip", "len", "tolist", "cpu", "numpy", "detach"}
    return all(
        (f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else "") in known for f in calls
    )
