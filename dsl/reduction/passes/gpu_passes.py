"""Passes over what makes a GPU program large: sizes of launches, problems and tiles; data; kinds of numbers; waits."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from dsl.reduction.edit import Edit
from dsl.reduction.passes.value_passes import instead_of
from dsl.reduction.program import Program

LAUNCH_SIZES = ("grid", "cluster", "block", "smem", "block_dim", "grid_dim")
STAGES = re.compile(r"stage|pipe|depth|buffer|iteration|warmup|batch|repeat|trip|num_head|loop", re.IGNORECASE)
# Data that a generator makes becomes data that is easy to read; by the name of the function.
RANDOM = ("randn", "rand", "randint", "empty", "normal", "uniform", "random", "full", "randperm")
# Kinds of numbers that are one step plainer.
PLAINER = {
    "BFloat16": "Float16", "bfloat16": "float16", "Float64": "Float32", "float64": "float32", "Float16": "Float32",
    "float16": "float32", "Float8E4M3FN": "Float16", "Float8E5M2": "Float16", "float8_e4m3fn": "float16",
    "float8_e5m2": "float16", "TFloat32": "Float32", "Int64": "Int32", "int64": "int32", "Uint64": "Uint32",
    "Int8": "Int32", "int8": "int32", "Uint8": "Uint32", "uint8": "uint32",
}  # fmt: skip
# Which thread it is: the same wherever a thread asks.
PLACES = re.compile(
    r"(thread|block|cluster|lane|warp)_(idx|id|dim)(_[xyz])?|grid_dim(_[xyz])?|cta_id_[xyz]|block_in_cluster_idx"
)
MOST_PLACES = 4  # reads of one, each of which becomes the call
WAITS = ("sync", "barrier", "fence", "wait", "commit", "arrive", "prefetch", "copy")


def _numbers(program: Program) -> Iterator[tuple[ast.Constant, int]]:
    """Whole numbers above 1, except for places in tuples and the like."""
    for node in program.nodes:
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
            if not any(isinstance(each, ast.JoinedStr) for each in program.around(node)):
                yield node, node.value


def launches(program: Program) -> Iterator[Edit]:
    """Grids, clusters and blocks of a launch become 1 in each extent, then all of them."""
    for node in program.nodes:
        if not isinstance(node, ast.keyword) or node.arg not in LAUNCH_SIZES:
            continue
        value = node.value
        if isinstance(value, ast.Tuple | ast.List):
            extents = [each for each in value.elts if program.of(each) != "1"]
            changes = [program.replacement(each, "1") for each in extents]
            if changes:
                yield Edit(f"one {node.arg} element", node.value.lineno, changes)
            if len(changes) > 1:
                for each, change in zip(extents, changes):
                    yield Edit(f"`{node.arg}` with 1 in place of `{program.of(each)}`", each.lineno, [change])
        elif not isinstance(value, ast.Constant):
            text = "0" if node.arg == "smem" else "(1, 1, 1)"
            yield Edit(f"`{node.arg}` as {text}", value.lineno, [program.replacement(value, text)])


def stages(program: Program) -> Iterator[Edit]:
    """Numbers of stages, iterations, batches and buffers become 1 or 2."""
    for name, value in _named_values(program):
        if STAGES.search(name) and isinstance(value, ast.Constant) and type(value.value) is int and value.value > 1:
            for less in (1, 2) if value.value > 2 else (1,):
                yield Edit(f"`{name}` as {less}", value.lineno, [program.replacement(value, str(less))])


def _named_values(program: Program) -> Iterator[tuple[str, ast.expr]]:
    """Values with the names that they are given."""
    for node in program.nodes:
        match node:
            case ast.keyword(arg=str(name), value=value):
                yield name, value
            case ast.Assign(targets=[ast.Name(name) | ast.Attribute(attr=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                yield name, value
            case ast.arguments(args=args, defaults=defaults) if defaults:
                yield from ((each.arg, value) for each, value in zip(args[-len(defaults) :], defaults))


def sizes(program: Program) -> Iterator[Edit]:
    """Every number of one value halved together, the largest first; all powers of two above some halved."""
    numbers: dict[int, list[ast.Constant]] = {}
    for node, value in _numbers(program):
        numbers.setdefault(value, []).append(node)
    powers = sorted((value for value in numbers if value & (value - 1) == 0 and value > 2), reverse=True)
    for least in (64, 16, 4):
        some = [(node, value) for value in powers if value > least for node in numbers[value]]
        if some:
            changes = [program.replacement(node, str(value // 2)) for node, value in some]
            yield Edit(f"half of all powers of two above {least}", some[0][0].lineno, changes)
    for value in sorted(numbers, reverse=True):
        if value % 2 == 0:
            nodes = numbers[value]
            changes = [program.replacement(node, str(value // 2)) for node in nodes]
            yield Edit(f"{value // 2} in place of every {value}", nodes[0].lineno, changes)


def extents(program: Program) -> Iterator[Edit]:
    """A number halved in one place."""
    for node, value in sorted(_numbers(program), key=lambda each: -each[1]):
        change = program.replacement(node, str(value // 2))
        yield Edit(f"{value // 2} in place of {value}", node.lineno, [change])


def small_numbers(program: Program) -> Iterator[Edit]:
    """A number becomes 1 in one place, or 0 where it is 1."""
    for node in program.nodes:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0, False):
            if any(isinstance(each, ast.JoinedStr) for each in program.around(node)):
                continue
            less = "0" if node.value == 1 else "1"
            yield Edit(f"{less} in place of {node.value}", node.lineno, [program.replacement(node, less)])


def data(program: Program) -> Iterator[Edit]:
    """Random data, and data that was captured, becomes ones, zeros, or numbers that count up."""
    yield from _captured(program)
    for node in program.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[_, *_] as args) if attr in RANDOM:
                shape = args[2] if attr == "randint" and len(args) > 2 else args[0] if attr != "randint" else None
                words = {each.arg: program.of(each.value) for each in node.keywords}
                text = program.of(shape) if shape is not None else words.pop("size", None)
                if text is None:
                    continue
                if attr not in ("randint", "full", "normal", "uniform") and len(args) > 1:
                    text = ", ".join(program.of(each) for each in args)
                rest = "".join(f", {name}={words[name]}" for name in words if name in ("dtype", "device"))
                owner = program.of(value)
                for plain in ("zeros", "ones"):
                    change = program.replacement(node, f"{owner}.{plain}({text}{rest})")
                    yield Edit(f"{plain} in place of `{attr}`", node.lineno, [change])
                if isinstance(shape, ast.Constant | ast.Name) and len(args) == 1:
                    change = program.replacement(node, f"{owner}.arange({text}{rest})")
                    yield Edit(f"arange in place of `{attr}`", node.lineno, [change])


def _captured(program: Program) -> Iterator[Edit]:
    """Tensors whose bytes `repro capture` wrote to files."""
    for node in program.nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name("_stored"), args=[_, dtype, device]), attr="reshape"),
                args=[ast.Tuple(elts=extents) as shape],
            ) if all(isinstance(each, ast.Constant) for each in extents):
                rest = f", dtype={program.of(dtype)}, device={program.of(device)}"
                text = program.of(shape)
                for plain in ("zeros", "ones"):
                    change = program.replacement(node, f"torch.{plain}({text}{rest})")
                    yield Edit(f"{plain} in place of captured data", node.lineno, [change])
                count = math.prod(ast.literal_eval(shape))
                counted = f"torch.arange({count}{rest}).reshape({text})"
                yield Edit("arange in place of captured data", node.lineno, [program.replacement(node, counted)])


def kinds(program: Program) -> Iterator[Edit]:
    """A kind of numbers becomes a plainer one, in all places and of all libraries together, then by its spelling."""
    places: dict[str, list] = {}
    for name in PLAINER:
        places[name] = [*(node for node in program.attributes.get(name, []) if isinstance(node.value, ast.Name))]
    for name in PLAINER:
        same = [each for each in PLAINER if each.lower().replace("_", "") == name.lower().replace("_", "")]
        nodes = [node for each in same for node in places[each]]
        if nodes and name == same[0]:
            yield _as_kinds(program, nodes)
        if places[name] and len(nodes) > len(places[name]):
            yield _as_kinds(program, places[name])


def _as_kinds(program: Program, nodes: list[ast.Attribute]) -> Edit:
    changes = [program.replacement(node, f"{program.of(node.value)}.{PLAINER[node.attr]}") for node in nodes]
    return Edit(f"{PLAINER[nodes[0].attr]} in place of {nodes[0].attr}", nodes[0].lineno, changes)


def thread_places(program: Program) -> Iterator[Edit]:
    """A thread's place, such as `thread_idx()`, is asked for where it is read, if that is in few places."""
    for statement in program.statements:
        match statement:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                parts = [(target, program.of(value))]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                parts = [(each, f"{program.of(value)}[{index}]") for index, each in enumerate(targets)]
            case _:
                continue
        call = value.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) else value
        match call:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(name), args=[], keywords=[]) if PLACES.fullmatch(
                name
            ):
                changes = instead_of(program, statement, parts)
                if changes is not None and len(changes) <= MOST_PLACES:
                    yield Edit(f"`{name}` where it is read", statement.lineno, [program.deletion(statement), *changes])


def waits(program: Program) -> Iterator[Edit]:
    """A barrier, fence, wait or copy goes; by the name of what is called."""
    for statement in program.statements:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(name))):
                if any(word in name.lower() for word in WAITS) and statement in program.block_of:
                    yield program.delete(f"drop a call of `{name}`", statement)


def outputs(program: Program) -> Iterator[Edit]:
    """One output of `run()` alone, or without one of several."""
    for function in program.functions:
        if function.name != "run":
            continue
        for node in ast.walk(function):
            match node:
                case ast.Return(value=ast.Dict(keys=keys, values=values) as table) if len(keys) > 1:
                    for key, value in zip(keys, values):
                        if key is not None:
                            text = f"{{{program.of(key)}: {program.of(value)}}}"
                            about = f"only the output {program.of(key)}"
                            yield Edit(about, node.lineno, [program.replacement(table, text)])
