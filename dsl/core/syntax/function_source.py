"""Source text and code objects: the `def` of a function, what its names refer to,
and a rewritten `def` compiled again."""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import functools
import linecache
import os
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dsl.core.errors import DSLUserCodeError
from dsl.core.syntax.liveness import Placed
from dsl.span import Span, is_installed_file, is_library_file, is_our_file, is_part, source_lines


def find_definition(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The `def` or `lambda` of `function` in its file's AST, with the file's own lines and columns.

    Raises DSLUserCodeError where there is no source to read.
    """
    code = function.__code__
    text = _noted.get(function) or _text(function)
    kinds = _lambdas if code.co_name == "<lambda>" else _definitions
    candidates = kinds(code.co_filename, text).get((code.co_name, code.co_firstlineno), []) if text else []
    candidates = [node for node in candidates if len(candidates) == 1 or _is_where(node, code)]
    if len(candidates) == 1:
        return candidates[0]
    raise DSLUserCodeError(
        f"the source of `{code.co_name}` cannot be read: {_why(code.co_filename, text, candidates)}",
        fix="put it in a file, or run the program with `python -m dsl FILE`, `python -m dsl -` or, "
        "as a prompt, `python -m dsl -i`",
        place=Span(code.co_filename, code.co_firstlineno),
    )


_Tree = TypeVar("_Tree", bound=ast.AST)


def copy_of(node: _Tree) -> _Tree:
    """A copy of an AST: new nodes and lists, the same constants and words."""
    if not node._fields:  # `Load()`, `Add()`
        return node
    copied = type(node).__new__(type(node))  # its __init__ would ask for the fields
    for name, value in vars(node).items():
        if isinstance(value, ast.AST):
            value = copy_of(value)
        elif isinstance(value, list):
            value = [copy_of(each) if isinstance(each, ast.AST) else each for each in value]
        setattr(copied, name, value)
    return copied


def place_in(file: str, node: Placed) -> Span:
    """The place of a node of a file's AST."""
    end = node.end_col_offset
    return Span(file, node.lineno, node.col_offset + 1, node.end_lineno, None if end is None else end + 1)


_noted: weakref.WeakKeyDictionary[types.FunctionType, str] = weakref.WeakKeyDictionary()
_texts: dict[str, tuple[list[str], str]] = {}


def note(function: types.FunctionType) -> None:
    """Keep the text of the file of `function` as it is now, when it has just been executed: it may be changed later."""
    linecache.checkcache(function.__code__.co_filename)
    _noted[function] = _text(function)


def _text(function: types.FunctionType) -> str:
    """The text of the file of `function`, '' where there is none."""
    file = function.__code__.co_filename
    # Python 3.13 keeps the program of `python -c` under this name, which texts of exec have too.
    lines = [] if file == "<string>" else linecache.getlines(file, function.__globals__)
    if not lines:
        return _text_of_c(function.__code__)
    cached = _texts.get(file)
    if cached is None or cached[0] is not lines:
        cached = _texts[file] = lines, "".join(lines)
    return cached[1]


def _text_of_c(code: types.CodeType) -> str:
    """The program that `python -c` was given, where `code` is of it."""
    if code.co_filename != "<string>" or "-c" not in sys.orig_argv[:-1]:
        return ""
    text = sys.orig_argv[sys.orig_argv.index("-c") + 1]
    try:
        whole = compile(text, "<string>", "exec", dont_inherit=True)
    except SyntaxError:
        return ""
    pending = [whole]
    while pending:
        one = pending.pop()
        if one == code:
            return text
        pending += [const for const in one.co_consts if isinstance(const, types.CodeType)]
    return ""


def _why(file: str, text: str, candidates: list) -> str:
    if candidates:
        return "several functions of one line look alike"
    if file == "<stdin>":
        return "it was typed at Python's prompt, or piped into it"
    if file.startswith("<string>"):
        return "it was made by exec or eval"
    return f"{file} has no such function now" if text else f"there is no file {file} to read, only what was made of it"


@functools.lru_cache(maxsize=64)
def _definitions(file: str, text: str) -> dict[tuple[str, int], list]:
    """The functions of a file by name and first line (at the first decorator)."""
    definitions: dict[tuple[str, int], list] = {}
    for node in _statements(_parsed(file, text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            definitions.setdefault((node.name, first), []).append(node)
    return definitions


@functools.lru_cache(maxsize=64)
def _lambdas(file: str, text: str) -> dict[tuple[str, int], list]:
    """The lambdas of a file, named `<lambda>`, by name and line."""
    definitions: dict[tuple[str, int], list] = {}
    for node in ast.walk(_parsed(file, text)):
        if isinstance(node, ast.Lambda):
            definitions.setdefault(("<lambda>", node.lineno), []).append(node)
    return definitions


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> ast.Module:
    return ast.parse(text, file)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a node, without a look at their expressions: a file has ten times as many."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for each in getattr(node, name, ()):
            yield each
            yield from _statements(each)


def _is_where(node: ast.FunctionDef | ast.Lambda, code: types.CodeType) -> bool:
    """Whether `code` was compiled from `node`, of several functions that begin on its line."""
    body = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    last = (body.end_lineno, body.end_col_offset)
    return max(((end, column) for _, end, _, column in code.co_positions() if end and column), default=None) == last


def assignment_to(slot: Any, statement: Span) -> Span | None:
    """The last assignment to an attribute `slot`, or to an item, in the statement whose head is at `statement`."""
    tree = _tree(statement.file, "".join(linecache.getlines(statement.file)))
    heads = (
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.If, ast.For, ast.While)) and node.lineno <= statement.line <= node.body[0].lineno
    )
    last = None
    for node in ast.walk(max(heads, key=lambda node: node.lineno, default=ast.Module([], []))):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            if node.attr == slot if isinstance(node, ast.Attribute) else not isinstance(slot, str):
                last = node
    return place_in(statement.file, last) if last is not None else None


@functools.lru_cache(maxsize=8)
def _tree(file: str, text: str) -> ast.Module:
    try:
        return ast.parse(text, file)
    except SyntaxError:
        return ast.Module([], [])


def is_authors(file: str) -> bool:
    """Whether a code object's file is by the author: not in Python's library, in an installed package that imports no
    language of ours, or in this package."""
    cached = _authors.get(file)
    if cached is None:
        cached = _authors[file] = not (is_library_file(file) or is_our_file(file)) and (
            not is_installed_file(file) or _imports_a_language(file)
        )
    return cached


_languages: list[str] = []


def register_language(name: str) -> None:
    """Let the files of installed packages that import `name` be read as the author's own are."""
    _languages.append(name)
    _authors.clear()


def _imports_a_language(file: str) -> bool:
    names = "|".join(_languages)
    return bool(names) and bool(
        re.search(rf"^\s*(?:import|from)\s+(?:{names})\b", "".join(linecache.getlines(file)), re.M)
    )


_authors: dict[str, bool] = {}


def compile_definition(definition: ast.FunctionDef | ast.Lambda, function: types.FunctionType) -> types.CodeType:
    """The code object of `definition`, compiled where its free variables and the hooks are closure variables.

    A method is compiled in a class with the name of its class, so that `self.__name` is mangled as it was.
    """
    freevars = list(dict.fromkeys(["__dsl__", *function.__code__.co_freevars]))  # inside a rewritten one it has both
    owner = function.__qualname__.split(".")[-2:-1]
    in_class = bool(owner) and owner[0].isidentifier()
    is_lambda = isinstance(definition, ast.Lambda)
    body: list[ast.stmt] = [ast.copy_location(ast.Expr(definition), definition) if is_lambda else definition]
    if in_class:
        body = [ast.ClassDef(name=owner[0], bases=[], keywords=[], body=body, decorator_list=[])]
    bound = owner[0] if in_class else None if is_lambda else definition.name
    if bound and bound not in freevars:  # what it calls itself is a global there
        body.insert(0, ast.Global([bound]))
    factory = ast.FunctionDef(name="__dsl_factory", args=arguments_named(freevars), body=body, decorator_list=[])
    ast.copy_location(factory, definition)
    module = ast.fix_missing_locations(ast.Module([factory], type_ignores=[]))
    future = function.__code__.co_flags & __future__.annotations.compiler_flag  # of the author's file, not this file
    compiled = compile(module, function.__code__.co_filename, "exec", flags=future, dont_inherit=True)
    code = _inner_code(compiled, "__dsl_factory")
    if in_class:
        code = _inner_code(code, owner[0])
    code = _with_parts_named(_inner_code(code, "<lambda>" if is_lambda else definition.name))
    _note_outer(code, frozenset(function.__code__.co_freevars))
    return code


def _with_parts_named(code: types.CodeType) -> types.CodeType:
    """`code` with the functions that its statements became named, in tracebacks, as the function they are parts of."""
    consts = []
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            const = _with_parts_named(const.replace(co_name=code.co_name) if is_part(const) else const)
        consts.append(const)
    return code.replace(co_consts=tuple(consts))


# By id, and held: two equal codes nested n deep are compared by Python in time that doubles with each level.
_outer_names: dict[int, tuple[types.CodeType, frozenset[str]]] = {}


def _note_outer(code: types.CodeType, names: frozenset[str]) -> None:
    _outer_names[id(code)] = code, names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            _note_outer(const, names)


def is_outer(code: types.CodeType, name: str) -> bool:
    """Whether the free variable `name` of `code` belongs to Python around the traced function, as a global does."""
    cached = _outer_names.get(id(code))
    return cached is None or name in cached[1]


def refuses_rewriting(definition: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a plain function has what becomes another thing in closures: generators, global and nonlocal names."""
    return any(
        isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal))
        for node in ast.walk(definition)
    )


def _inner_code(code: types.CodeType, name: str) -> types.CodeType:
    return next(const for const in code.co_consts if isinstance(const, types.CodeType) and const.co_name == name)


def arguments_named(names: list[str]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


class Resolver:
    """The objects that names and dotted names of a function refer to before it runs: globals, closure and builtins."""

    def __init__(self, function: types.FunctionType):
        self.globals = function.__globals__
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

    def __call__(self, node: ast.expr, local_names: set[str]) -> Any:
        if isinstance(node, ast.Attribute):
            base = self(node.value, local_names)
            return getattr(base, node.attr, None) if base is not None else None
        if not isinstance(node, ast.Name) or node.id in local_names:
            return None
        if node.id in self.cells:
            try:
                return self.cells[node.id].cell_contents
            except ValueError:
                return None
        return self.globals.get(node.id, getattr(builtins, node.id, None))


# --- texts that a program executes ---------------------------------------------------------------------------------


@contextlib.contextmanager
def executed_texts_kept() -> Iterator[None]:
    """While this lasts, what the author's files give to exec, eval and compile as text can be read again later.

    A text without its own file name is named after the place that executes it. Nothing else has the text of a function
    that exec made: its code knows a file name, and linecache no file of that name. An audit hook would get it too, but
    could not name it, and would stay for good. So the three builtins are replaced meanwhile.
    """
    before = {name: getattr(builtins, name) for name in ("compile", "exec", "eval")}
    if any(function in _replacements for function in before.values()):  # by whoever called this one
        yield
        return
    replacing = {name: make(before) for name, make in _REPLACEMENTS.items()}
    _replacements.update(replacing.values())
    for name, function in replacing.items():
        setattr(builtins, name, function)
    try:
        yield
    finally:
        for name, function in replacing.items():
            if getattr(builtins, name) is function:  # else somebody has replaced it since, and calls it
                setattr(builtins, name, before[name])


_replacements: weakref.WeakSet[Callable] = weakref.WeakSet()


def _executing(name: str, before: dict[str, Callable]) -> Callable:
    """exec or eval, which keeps a text of the author."""
    python, python_compile = before[name], before["compile"]

    @functools.wraps(python)
    def executing(source, globals=None, locals=None, /, **options):
        __tracebackhide__ = True  # in tracebacks of IPython and pytest
        frame = sys._getframe(1)
        if globals is None:
            globals, locals = frame.f_globals, frame.f_locals if locals is None else locals
        if isinstance(source, (str, bytes)) and is_authors(frame.f_code.co_filename):
            text = source.lstrip() if name == "eval" else source  # as eval does
            source = python_compile(text, _kept(text, "<string>", frame), name, _future(frame), True)
        try:
            return python(source, globals, locals, **options)
        except BaseException as error:  # as it was raised, without this frame
            if error.__traceback__ is not None:
                error.__traceback__ = error.__traceback__.tb_next
            raise

    return executing


def _compiling(before: dict[str, Callable]) -> Callable:
    """compile, which keeps a text of the author."""
    python = before["compile"]

    @functools.wraps(python)
    def compiling(source, filename, mode, flags=0, dont_inherit=False, *rest, **options):
        frame = sys._getframe(1)
        if isinstance(source, (str, bytes)) and isinstance(filename, str) and is_authors(frame.f_code.co_filename):
            filename = _kept(source, filename, frame)
        flags = flags if dont_inherit else flags | _future(frame)
        return python(source, filename, mode, flags, True, *rest, **options)

    return compiling


_REPLACEMENTS: dict[str, Callable[[dict[str, Callable]], Callable]] = {
    "compile": _compiling,
    "exec": functools.partial(_executing, "exec"),
    "eval": functools.partial(_executing, "eval"),
}


def _future(frame: types.FrameType) -> int:
    """The flags of the future imports of the code in `frame`."""
    every = (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
    return frame.f_code.co_flags & sum(set(every))


def _kept(source: str | bytes, file: str, frame: types.FrameType) -> str:
    """`source` in linecache; returns the name it has there."""
    text = source.decode() if isinstance(source, bytes) else source
    if file == "<string>":
        file = f"<text at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}>"  # the same in any folder
    return file if os.path.exists(file) else keep_text(text, file)


def keep_text(text: str, file: str) -> str:
    """Let `text` be read again as the file `file`, or by another name where that is another text; returns the name."""
    lines = source_lines(text)
    name, number = file, 1
    while name in linecache.cache and linecache.cache[name][2:3] != (lines,):
        number += 1
        name = f"{file[:-1]} #{number}>" if file.endswith(">") else f"{file} #{number}"
    linecache.cache[name] = (len(text), None, lines, name)
    return name
