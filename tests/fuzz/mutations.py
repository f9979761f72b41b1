"""Mistakes that authors make, as changes of a program's AST: each function changes one place or returns False.

`mutant(text, number)` gives the program with one to three mistakes, the same for the same number.
"""

from __future__ import annotations

import ast
import builtins
import copy
import random
from collections.abc import Callable, Iterator

from tests.fuzz.mutation_texts import IMPORTS, STATEMENTS, VALUES, WRAPPERS

Mistake = Callable[[ast.Module, random.Random], bool]
MISTAKES: list[Mistake] = []


def mistake(function: Mistake) -> Mistake:
    MISTAKES.append(function)
    return function


def mutant(text: str, number: int) -> str:
    """The program with one to three mistakes. Raises SyntaxError where it is none."""
    chance = random.Random(number)
    for _ in range(20):
        tree = ast.parse(text)
        made = 0
        for _ in range(chance.choices((1, 2, 3), (8, 2, 1))[0]):
            made += chance.choices(MISTAKES, [WEIGHTS.get(each.__name__, 2) for each in MISTAKES])[0](tree, chance)
        if made:
            try:
                found = f"{IMPORTS}{ast.unparse(ast.fix_missing_locations(tree))}\n"
                compile(found, "mutant", "exec")
            except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                continue
            if found != f"{IMPORTS}{ast.unparse(ast.parse(text))}\n":
                return found
    raise SyntaxError("no mistake makes a program of it")


def parameters(function: Callable) -> dict:
    """Arguments for a repro's `run`."""
    import inspect

    return {name: 8 for name, each in inspect.signature(function).parameters.items() if each.default is each.empty}


WEIGHTS = {"wrap": 8, "insert": 8, "replace_value": 4}


# --- where ------------------------------------------------------------------------------------------------------------


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _traced(tree: ast.Module) -> list[ast.FunctionDef]:
    """The decorated functions, and else all."""
    return [node for node in _functions(tree) if node.decorator_list] or _functions(tree)


def _places(tree: ast.AST, kinds: type | tuple) -> Iterator[tuple[ast.AST, str, int | None]]:
    """(parent, field, position) of each node of these kinds that a program reads."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if (
                isinstance(parent, (ast.arg, ast.alias))
                or name in ("decorator_list", "returns", "targets", "target")
                or (name == "func" and not isinstance(value, ast.Attribute))
            ):
                continue
            for position, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if (
                    isinstance(child, kinds)
                    and not isinstance(getattr(child, "ctx", None), (ast.Store, ast.Del))
                    and not _of_module(child)
                ):
                    yield parent, name, position


MODULES = {"cute", "cutlass", "np", "numpy", "torch", "cuda", "math", "operator", "functools"}


def _of_module(node: ast.AST) -> bool:
    """Whether this is `cute.arch.thread_idx` and the like, in which few authors err as in values."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in MODULES


def _get(place: tuple) -> ast.AST:
    parent, name, position = place
    return getattr(parent, name) if position is None else getattr(parent, name)[position]


def _put(place: tuple, node: ast.AST | None) -> None:
    parent, name, position = place
    if position is None:
        setattr(parent, name, node)
    elif node is None:
        del getattr(parent, name)[position]
    else:
        getattr(parent, name)[position] = node


def _one(tree: ast.Module, chance: random.Random, kinds: type | tuple, anywhere: float = 0.2) -> tuple | None:
    """A place, mostly in a decorated function."""
    root = tree if chance.random() < anywhere else chance.choice(_traced(tree) or [tree])
    found = list(_places(root, kinds))
    return chance.choice(found) if found else None


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(chance: random.Random) -> ast.expr:
    return copy.deepcopy(chance.choice(_expression(f"({VALUES})").elts))


def _names(tree: ast.AST) -> list[str]:
    return sorted(
        (
            {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        )
        - MODULES
        - {"self"}
        - set(dir(builtins))
    )


# --- the mistakes -----------------------------------------------------------------------------------------------------


@mistake
def rename(tree, chance) -> bool:
    """A name misspelt, or another one of the program."""
    place = _one(tree, chance, ast.Name)
    if place is None:
        return False
    name = _get(place).id
    other = chance.choice([name + "x", name[:-1] or "q", *_names(tree)])
    _put(place, ast.Name(other, ast.Load()))
    return True


@mistake
def other_attribute(tree, chance) -> bool:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    if not found:
        return False
    others = sorted({node.attr for node in found})
    node = chance.choice(found)
    node.attr = chance.choice([node.attr + "s", node.attr[:-1] or "q", node.attr.capitalize(), *others])
    return True


@mistake
def without_attribute(tree, chance) -> bool:
    place = _one(tree, chance, ast.Attribute)
    if place is not None:
        _put(place, _get(place).value)
    return place is not None


@mistake
def statements(tree, chance) -> bool:
    """A statement left out, written twice, or before another."""
    blocks = [
        node.body
        for node in ast.walk(chance.choice(_traced(tree) or [tree]))
        if isinstance(getattr(node, "body", None), list)
    ]
    block = chance.choice(blocks) if blocks else []
    if not block:
        return False
    at = chance.randrange(len(block))
    what = chance.choice(["drop", "twice", "swap"])
    if what == "drop":
        block[at : at + 1] = [] if len(block) > 1 else [ast.Pass()]
    elif what == "twice":
        block.insert(at, copy.deepcopy(block[at]))
    elif len(block) > 1:
        other = chance.randrange(len(block))
        block[at], block[other] = block[other], block[at]
    return True


@mistake
def arguments(tree, chance) -> bool:
    place = _one(tree, chance, ast.Call, 0.4)
    if place is None:
        return False
    call = _get(place)
    what = chance.choice(["drop", "more", "unknown", "word", "positional", "swap", "star", "double"])
    if what == "drop" and call.args + call.keywords:
        at = chance.randrange(len(call.args) + len(call.keywords))
        del (
            (call.args + call.keywords)[at:at],
            (call.args if at < len(call.args) else call.keywords)[at if at < len(call.args) else at - len(call.args)],
        )
    elif what == "unknown":
        call.keywords.append(ast.keyword(chance.choice(["foo", "grid", "stride", "dtype", "loc"]), _value(chance)))
    elif what == "word" and call.keywords:
        chance.choice(call.keywords).arg = chance.choice(["foo", "blocks", "shape"])
    elif what == "positional" and call.keywords:
        call.args.append(call.keywords.pop().value)
    elif what == "swap" and len(call.args) > 1:
        call.args.reverse()
    elif what == "star":
        call.args.append(ast.Starred(_value(chance), ast.Load()))
    elif what == "double":
        call = ast.Call(call, [], [])
        _put(place, call)
    else:
        call.args.insert(chance.randint(0, len(call.args)), _value(chance))
    return True


@mistake
def replace_value(tree, chance) -> bool:
    place = _one(tree, chance, (ast.Constant, ast.Tuple, ast.Name), 0.3)
    if place is not None:
        _put(place, _value(chance))
    return place is not None


@mistake
def replace_expression(tree, chance) -> bool:
    place = _one(tree, chance, ast.expr)
    if place is not None:
        _put(place, _value(chance))
    return place is not None


@mistake
def index(tree, chance) -> bool:
    place = _one(tree, chance, ast.Subscript)
    if place is None:
        return False
    node, names = _get(place), _names(tree)
    texts = [
        "0",
        "-1",
        "99999",
        "-99999",
        "'k'",
        "None",
        "1.5",
        "(0, 0)",
        "(0, 0, 0)",
        "(None, 0)",
        "(0, (1, 2))",
        "()",
        "...",
        "True",
        "2 ** 40",
        f"({chance.choice(names)}, None)",
        chance.choice(names),
    ]
    node.slice = _expression(chance.choice(texts))
    return True


@mistake
def phase(tree, chance) -> bool:
    """`const_expr` and `range_constexpr` forgotten, or where they should not be."""
    calls = [
        place
        for place in _places(tree, ast.Call)
        if (isinstance(_get(place).func, ast.Attribute) and _get(place).func.attr in ("const_expr", "range_constexpr"))
        or (isinstance(_get(place).func, ast.Name) and _get(place).func.id == "range")
    ]
    if calls and chance.random() < 0.6:
        place = chance.choice(calls)
        call = _get(place)
        if getattr(call.func, "attr", "") == "const_expr" and call.args:
            _put(place, call.args[0])
        elif getattr(call.func, "attr", "") == "range_constexpr":
            call.func = ast.Name("range", ast.Load())
        else:
            call.func = _expression("cutlass.range_constexpr")
        return True
    place = _one(tree, chance, (ast.Compare, ast.BoolOp, ast.Name))
    if place is not None:
        _put(place, ast.Call(_expression("cutlass.const_expr"), [_get(place)], []))
    return place is not None


@mistake
def launches(tree, chance) -> bool:
    """A launch left out, or one that no GPU runs."""
    found = [place for place in _places(tree, ast.Call) if getattr(_get(place).func, "attr", "") == "launch"]
    if not found:
        return False
    place = chance.choice(found)
    call = _get(place)
    what = chance.choice(["drop", "grid", "block", "smem", "word", "cluster", "stream", "twice"])
    if what == "drop":
        _put(place, call.func.value)
    elif what == "twice":
        _put(place, ast.Tuple([call, copy.deepcopy(call)], ast.Load()))
    else:
        call.keywords = [keyword for keyword in call.keywords if keyword.arg != what] + [
            ast.keyword(
                what,
                chance.choice(
                    [
                        _value(chance),
                        _expression(
                            chance.choice(
                                [
                                    "0",
                                    "-1",
                                    "2000",
                                    "(1, 1, 1, 1)",
                                    "(32, 32, 2)",
                                    "(0, 1)",
                                    "1.5",
                                    "None",
                                    "'x'",
                                    "(1 << 32, 1, 1)",
                                    "300000",
                                ]
                            )
                        ),
                    ]
                ),
            )
        ]
    return True


@mistake
def decorators(tree, chance) -> bool:
    functions = [node for node in _functions(tree) if node.decorator_list]
    if not functions:
        return False
    node = chance.choice(functions)
    node.decorator_list = [
        _expression(text)
        for text in chance.choice(
            [
                [],
                ["cute.jit"],
                ["cute.kernel"],
                ["cute.jit", "cute.kernel"],
                ["cute.kernel", "cute.jit"],
                ["staticmethod", "cute.jit"],
                ["cute.jit", "functools.lru_cache"],
                ["cute.jit()"],
                ["cute.jit(preprocess=True)"],
                ["property", "cute.jit"],
            ]
        )
    ]
    return True


@mistake
def moved_inside(tree, chance) -> bool:
    """A function of the module defined, and called, inside another."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) < 2:
        return False
    inner, outer = chance.sample(functions, 2)
    tree.body.remove(inner)
    outer.body.insert(0, inner)
    return True


@mistake
def annotations(tree, chance) -> bool:
    found = [argument for node in _traced(tree) for argument in node.args.args]
    if not found:
        return False
    texts = [
        "None",
        "int",
        "float",
        "cutlass.Int32",
        "cutlass.Float16",
        "cute.Tensor",
        "cutlass.Constexpr",
        "cute.Pointer",
        "str",
        "'no_such'",
        "cutlass.Constexpr[int]",
        "list",
        "cute.Layout",
        "3",
    ]
    text = chance.choice(texts)
    chance.choice(found).annotation = None if text == "None" else _expression(text)
    return True


@mistake
def defaults(tree, chance) -> bool:
    node = chance.choice(_traced(tree) or [None])
    if node is None or not node.args.args:
        return False
    node.args.defaults = [_value(chance)]
    return True


@mistake
def operators(tree, chance) -> bool:
    place = _one(tree, chance, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp))
    if place is None:
        return False
    node = _get(place)
    if isinstance(node, ast.BinOp):
        node.op = chance.choice(
            [ast.MatMult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd]
        )()
    elif isinstance(node, ast.Compare):
        node.ops = [chance.choice([ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Eq])() for _ in node.ops]
    else:
        _put(place, ast.UnaryOp(chance.choice([ast.Invert, ast.USub, ast.Not])(), node))
    return True


@mistake
def wrap(tree, chance) -> bool:
    """An expression given to something that it is not for."""
    place = _one(tree, chance, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp), 0.1)
    if place is None:
        return False
    made = _with(chance.choice(WRAPPERS.replace("\n", " ").split("; ")).strip(), _get(place))
    _put(place, made.body[0].value)
    return True


def _with(text: str, given: ast.expr) -> ast.Module:
    """The text with `given` for each X."""

    class Filled(ast.NodeTransformer):
        def visit_Name(self, node):
            return copy.deepcopy(given) if node.id == "X" and isinstance(node.ctx, ast.Load) else node

    return Filled().visit(ast.parse(text))


@mistake
def insert(tree, chance) -> bool:
    """A statement that does not belong there."""
    node = chance.choice(_traced(tree) or [None])
    if node is None:
        return False
    name = chance.choice(_names(node) or ["n"])
    text = chance.choice(STATEMENTS.rstrip("\n").split("\n"))
    lines = [line.rstrip("; ") for line in text.split("¶ ")]
    try:
        made = ast.parse("def f():\n" + "\n".join("  " + line for line in lines).replace("X", name))
    except SyntaxError:
        return False
    blocks = [inner.body for inner in ast.walk(node) if isinstance(getattr(inner, "body", None), list)]
    block = chance.choice(blocks)
    at = chance.randint(0, len(block))
    block[at:at] = made.body[0].body
    return True


@mistake
def one_line(tree, chance) -> bool:
    """An assignment's value computed in a lambda, or by a helper."""
    place = _one(tree, chance, ast.expr)
    if place is None or isinstance(_get(place), ast.Starred):
        return False
    _put(place, ast.Call(ast.Lambda(ast.arguments([], [], None, [], [], None, []), _get(place)), [], []))
    return True
