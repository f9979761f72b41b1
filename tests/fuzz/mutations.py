"""Mistakes that authors make, as changes of a program's AST: each function changes one place, or says that it cannot.

`mutant(text, number)` gives the program with one to three mistakes, the same for the same number.
"""

from __future__ import annotations

import ast
import builtins
import copy
import random
from collections.abc import Callable, Iterator

Mistake = Callable[[ast.Module, random.Random], bool]
MISTAKES: list[Mistake] = []

IMPORTS = """\
import copy, functools, itertools, json, math, operator, pickle, random, sys, threading, time, warnings
import numpy as np, torch
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
"""
VALUES = """0, 1, -1, 2, 7, 1 << 20, 1 << 31, 1 << 40, 2 ** 70, 1.5, -0.0, 1e300, float("nan"), "text", b"bytes", "", None, True,
(), (1,), (1, (2, 3)), (0, 0), (0, 0, 0, 0), (None, 0), [1, 2], [], {"a": 1}, {1, 2}, ..., slice(None), slice(1, 2), object(),
int, float, cutlass.Int32, cutlass.Int32(3), cutlass.Float32(0.5), cutlass.Boolean(True), cutlass.Float16, cutlass.Int8,
lambda: 0, lambda x: x, print, len, cute, cutlass, 1j, range(3), cute.make_layout((2, 3)), (-1, 2), (4, 0),
__import__("numpy").zeros(3), __import__("numpy").float32(2), __import__("torch").zeros(2, 3), iter([1]), NotImplemented""".replace(
    "\n", " ")
WRAPPERS = """int(X); float(X); str(X); bool(X); repr(X); complex(X); bytes(X); len(X); iter(X); next(X); hash(X); list(X); tuple(X);
set(X); sorted(X); sorted([X, X]); {X: 1}; {X}; dict(X); {"a": X}["a"]; [X][X]; X[X]; X[0]; X[0, 0]; X[None]; X[99999]; X[-1]; X["k"];
X[1.5]; X[:]; X(); X(1); X.foo; X.shape; X.ir; X.value; X.__dict__; X.dtype; X.iterator; X.load(); X.store(1); X.item(); X.to(cutlass.Float32);
-X; ~X; not X; abs(X); round(X); round(X, 2); X @ X; X ** X; X // 0; X % 0; X << 40; X >> -1; X in [1, 2]; 1 in X; X is 3; X < X < X; X == "a"; X + "a";
X + None; X * (1, 2); X if X else "b"; X and "x"; X or None; divmod(X, 2); pow(X, 2, 3); sum([X, X]); sum(X); max(X); min(X, "a"); max(X, X); any([X]); all(X);
range(X); list(range(X)); enumerate(X); zip(X, X); reversed(X); map(X, [1]); filter(X, [1]); chr(X); hex(X); format(X, "d"); f"{X}"; f"{X:04}";
"%d" % X; "{}".format(X); "a" * X; [0] * X; isinstance(X, int); isinstance(X, cute.Tensor); isinstance(1, X); issubclass(X, int); callable(X);
type(X); type(X)(X); id(X); vars(X); dir(X); getattr(X, "y"); hasattr(X, "y"); copy.copy(X); copy.deepcopy(X); pickle.dumps(X); json.dumps(X);
operator.index(X); functools.reduce(lambda a, b: a + b, [X, X]); functools.partial(X)(); itertools.chain(X, X); math.sqrt(X); math.floor(X);
np.sin(X); np.asarray(X); np.array([X, X]); np.float32(X); np.add(X, X); np.zeros(X); torch.sin(X); torch.tensor(X); torch.zeros(X);
cutlass.Int32(X); cutlass.Float32(X); cutlass.Boolean(X); cutlass.Int8(X); cutlass.const_expr(X); cutlass.range_constexpr(X); cutlass.range(X);
cute.size(X); cute.make_layout(X); cute.make_layout(X, stride=X); cute.rank(X); cute.shape(X); cute.ceil_div(X, 0); cute.ceil_div(X, X);
cute.make_rmem_tensor(X, cutlass.Float32); cute.make_rmem_tensor((2, 2), X); cute.zipped_divide(X, X); cute.local_tile(X, X, X); cute.slice_(X, X);
cute.composition(X, X); cute.complement(X); cute.coalesce(X); cute.logical_divide(X, X); cute.make_tensor(X, X); cute.recast_ptr(X, dtype=X); cute.copy(X, X, X);
cute.cosize(X); cute.crd2idx(X, X); cute.idx2crd(X, X); cute.group_modes(X, 0, 9); cute.append(X, X); cute.select(X, [5]); cute.make_fragment_like(X);
cute.arch.shuffle_sync(X, X); cute.arch.shuffle_sync_bfly(X, 99); cute.arch.vote_ballot_sync(X); cute.arch.barrier(barrier_id=99, number_of_threads=7);
cute.arch.sync_warp(X); cute.arch.atomic_add(X, X); cute.math.exp(X); cute.math.sqrt(X); cute.where(X, X, X); cute.printf(X); cute.printf("{} {}", X);
cute.printf("%s %d", X); cute.print_tensor(X); from_dlpack(X); eval("X"); exec("X"); open(X); super(); X.launch(grid=1, block=1); await_(X); lambda X=X: X;
(yield_ for yield_ in X); [y for y in X]; [y for y in range(X)]; {y: y for y in (X, X)}; (lambda *a: a[X])(X); print(X, file=X); print(X, sep=X);
cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, X); cutlass.utils.SmemAllocator().allocate(X); X.foo(); X.__class__; random.choice(X);
random.randint(0, X); time.sleep(X); str.join(",", X); (X := 5); [*X]; {**X}; print(*X); (X, *X); X[X:X]; X[::X]; X.a.b; -(X) ** X; (X,)[X]; "abc"[X]"""
STATEMENTS = """yield X
yield from X
global Q; Q = X
nonlocal X; X = 1
def inner(): nonlocal X; X = 1
def inner(): return X; ¶ X = inner()
def inner(): yield X; ¶ X = list(inner())
async def inner(): return X; ¶ X = inner()
class Inner: a = X; ¶ X = Inner().a
class Inner: pass; ¶ Inner.a = X
exec("X = 1")
exec("for i in range(X): pass")
import numpy
from math import *
from cutlass import no_such
import no_such_module
import cutlass.cute.no_such
with open("/no/such/file") as file: pass
with X: pass
with X as y: y = 1
try: ¶  X = X + 1; ¶ except: ¶  pass
try: ¶  X.foo; ¶ except AttributeError: ¶  X = 0
try: ¶  return X; ¶ finally: ¶  X = 1
try: ¶  if X: raise ValueError("x"); ¶ except ValueError: ¶  X = 0
raise ValueError(X)
raise X
raise
return
return X
return X, X
return "text"
return lambda: X
break
continue
del X
del X, X
del X[0]
del X.foo
assert X
assert X, X
assert False, "never"
assert (X, "always")
match X: ¶  case 1: pass; ¶  case _: X = 2
match X: ¶  case [a, b]: pass; ¶  case {"k": v}: X = v; ¶  case int(): X = 1
def recursive(k): return recursive(k + 1); ¶ X = recursive(X)
def recursive(k): ¶  if k > 0: return recursive(k - 1); ¶  return k; ¶ X = recursive(X)
recursive = lambda k: recursive(k); ¶ X = recursive(X)
_ = X; ¶ X = _
X = None
X = "text"
X = 1.5
X = (1, 2)
X = [X]
X = {"a": X}
X = lambda: X
X: int = "text"
X += "a"
X += None
X += 1.5
X @= X
X //= 0
X <<= 99
X[0] = X
X[X] = X
X["a"] = 1
X[0, 0, 0] = 1.5
X[:] = 0
X.foo = 1
X.foo += 1
X.shape = (1, 2)
setattr(X, "y", 1)
a, b = X
a, *b = X
(a, b), c = X, 1
for i in X: X = i
for i, j in range(3): X = i
for i in range(X): late = i; ¶ X = late
for i in range(3, X, 0): X = i
for i in range(X): i = "text"
for X in range(X): pass
for i in cutlass.range(3, unroll=X): X = i
for i in cutlass.range(X, unroll_full=True): X = i
for i in cutlass.range(X, vectorize=True): X = i
for i in cutlass.range_constexpr(X): X = i
for i in cutlass.range_constexpr(10 ** 12): break
for i in cutlass.range_dynamic(X): X = X + i
for i in range(X, X, X, X): pass
for i in range(): pass
for i in range("3"): pass
for i in range(1.5): pass
for i in [X, X]: X = i
for k, v in {"a": X}.items(): X = v
for i in range(X): lst = []; lst.append(i); ¶ X = lst[0]
lst = []; ¶ for i in range(X): lst.append(i)
lst = [X]; ¶ for i in range(X): lst[i] = i
lst = [1, 2]; ¶ if X: lst.pop()
d = {}; ¶ if X: d["a"] = X; ¶ X = d["a"]
while X: X = X - 1
while X > 0: X = 1.5
while cutlass.const_expr(X): pass
while True: ¶  X = X + 1; ¶  if X > 9: break
if X: late = 1; ¶ X = late
if X: X = 1.5
if X: X = None
if X: X = "a"
if X: X = (1, 2)
if X: return
if X: return X
if X: ¶  return 1; ¶ else: ¶  return "a"
if X: pass; ¶ elif X > "a": pass
if cutlass.const_expr(X): X = 1
if X is None: X = 1
if not X: X = X; ¶ else: del X
if X == X: ¶  class Inner: pass
if X > 1: ¶  def inner(): return X; ¶ X = inner()
for i in range(X): ¶  for j in range(i): ¶   if j == X: break; ¶  else: ¶   continue; ¶  break
for i in range(2): ¶  def inner(a=X, *, b=i): return a + b; ¶  X = inner()
x, y, z = cute.arch.thread_idx(); ¶ X = x
x, y = cute.arch.block_idx()
x = cute.arch.block_dim()[5]
cute.arch.sync_threads()
cute.arch.barrier()
cute.arch.cp_async_wait_group(X)
cute.arch.cp_async_commit_group()
cute.printf("{}")
cute.printf("%d %f %s", X)
cute.printf(X)
cute.printf("x", "y")
print(locals()); print(globals)
print(X, X.foo)
print(f"{X!r:>10}")
smem = cutlass.utils.SmemAllocator(); ¶ t = smem.allocate_tensor(cutlass.Float32, cute.make_layout(1 << 20)); ¶ t[0] = 1
smem = cutlass.utils.SmemAllocator(); ¶ t = smem.allocate_tensor(cutlass.Float32, cute.make_layout((8, 8)), 3); ¶ t[9, 9] = 1
smem = cutlass.utils.SmemAllocator(); ¶ t = smem.allocate_tensor(cutlass.Float32, cute.make_layout((8, 8)), 16); ¶ t[X] = X
r = cute.make_rmem_tensor((2, 3), cutlass.Float32); ¶ r[2, 3] = X
r = cute.make_rmem_tensor((2, 3), cutlass.Float32); ¶ X = r[X, X]
r = cute.make_rmem_tensor((2, 3), cutlass.Float32); ¶ r.store(X)
r = cute.make_rmem_tensor(X, cutlass.Float32); ¶ r.fill(X)
r = cute.make_rmem_tensor((2,), cutlass.Boolean); ¶ r.fill(X); ¶ cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), X), r, r, pred=r)
atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=X); ¶ cute.copy(atom, X, X)
atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=24)
tiled = cute.make_tiled_copy_tv(X, cute.make_layout((4, 8)), cute.make_layout((1, 4))); ¶ s = tiled.get_slice(X); ¶ s.partition_S(X)
gX = cute.zipped_divide(X, (4, 8)); ¶ X = gX[(None, None), 0]
gX = cute.local_tile(X, (4, 8, 2), (X, X)); ¶ X = gX[0]
c = cute.make_identity_tensor(X); ¶ X = c[X]
sys.exit(3)
threading.Thread(target=lambda: X).start()
warnings.warn("x")
self.x = X
X.append(X)
X.update(a=X)
kernel(X)
host(X)
run()
"""


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
            if isinstance(parent, (ast.arg, ast.alias)) or name in ("decorator_list", "returns", "targets", "target") or \
                    name == "func" and not isinstance(value, ast.Attribute):
                continue
            for position, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(child, kinds) and not isinstance(getattr(child, "ctx", None), (ast.Store, ast.Del)) and \
                        not _of_module(child):
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
    return sorted(({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} |
                   {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}) - MODULES - {"self"} - set(dir(builtins)))


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
    blocks = [node.body for node in ast.walk(chance.choice(_traced(tree) or [tree]))
              if isinstance(getattr(node, "body", None), list)]
    block = chance.choice(blocks) if blocks else []
    if not block:
        return False
    at = chance.randrange(len(block))
    what = chance.choice(["drop", "twice", "swap"])
    if what == "drop":
        block[at:at + 1] = [] if len(block) > 1 else [ast.Pass()]
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
        del (call.args + call.keywords)[at:at], (call.args if at < len(call.args) else call.keywords)[
            at if at < len(call.args) else at - len(call.args)]
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
    texts = ["0", "-1", "99999", "-99999", "'k'", "None", "1.5", "(0, 0)", "(0, 0, 0)", "(None, 0)", "(0, (1, 2))", "()", "...",
             "True", "2 ** 40", f"({chance.choice(names)}, None)", chance.choice(names)]
    node.slice = _expression(chance.choice(texts))
    return True


@mistake
def phase(tree, chance) -> bool:
    """`const_expr` and `range_constexpr` forgotten, or where they should not be."""
    calls = [place for place in _places(tree, ast.Call) if isinstance(_get(place).func, ast.Attribute) and
             _get(place).func.attr in ("const_expr", "range_constexpr") or
             isinstance(_get(place).func, ast.Name) and _get(place).func.id == "range"]
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
            ast.keyword(what, chance.choice([_value(chance), _expression(chance.choice(
                ["0", "-1", "2000", "(1, 1, 1, 1)", "(32, 32, 2)", "(0, 1)", "1.5", "None", "'x'", "(1 << 32, 1, 1)", "300000"]))]))]
    return True


@mistake
def decorators(tree, chance) -> bool:
    functions = [node for node in _functions(tree) if node.decorator_list]
    if not functions:
        return False
    node = chance.choice(functions)
    node.decorator_list = [_expression(text) for text in chance.choice(
        [[], ["cute.jit"], ["cute.kernel"], ["cute.jit", "cute.kernel"], ["cute.kernel", "cute.jit"], ["staticmethod", "cute.jit"],
         ["cute.jit", "functools.lru_cache"], ["cute.jit()"], ["cute.jit(preprocess=True)"], ["property", "cute.jit"]])]
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
    texts = ["None", "int", "float", "cutlass.Int32", "cutlass.Float16", "cute.Tensor", "cutlass.Constexpr", "cute.Pointer", "str",
             "'no_such'", "cutlass.Constexpr[int]", "list", "cute.Layout", "3"]
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
        node.op = chance.choice([ast.MatMult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd])()
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
