"""Errors that Python itself raises at an author's expression, in the author's words and with a fix."""

from __future__ import annotations

import contextlib
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

from dsl.core.diagnosis import python_sentences
from dsl.core.diagnosis.spelling import alike, visible_names
from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Numeric
from dsl.core.phrase import with_article
from dsl.span import Span, is_between, of_traceback
from dsl.tirx.errors import error_wording
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.errors.public_names import CUDA_NAMES, NAMESPACES
from dsl.tirx.syntax import loops


@contextlib.contextmanager
def of_the_author() -> Iterator[None]:
    """Exceptions of Python at the author's expressions become errors with the place, the author's words and a fix."""
    try:
        yield
    except DSLUserCodeError as error:
        error_wording.translate(error)
        raise
    except Exception as error:
        last = error.__traceback__
        assert last is not None
        while last.tb_next is not None:
            last = last.tb_next
        if is_between(last.tb_frame.f_code) and not _is_of_call(error):
            raise
        raise explained(error, of_traceback(error.__traceback__)) from error


def _is_of_call(error: Exception) -> bool:
    """Whether the arguments of a call did not fit its parameters."""
    return isinstance(error, TypeError) and re.search(r"\(\) (missing|takes|got) ", str(error)) is not None


def explained(error: Exception, place: Span | None) -> DSLUserCodeError:
    """A Python exception as an error at the author's expression. It is also an instance of the exception's class."""
    message, fix = _words(error)
    kind = next((python for python in _CLASSES if isinstance(error, python)), None)
    if kind is None:
        return DSLUserCodeError(message, fix, "PYTHON", place)
    return _CLASSES[kind](message, fix, "PYTHON", place)


_CLASSES = {
    kind: type(f"DSLUserCode{kind.__name__}", (DSLUserCodeError, kind), {"__str__": DSLUserCodeError.__str__})
    for kind in (NameError, AttributeError, IndexError, KeyError, AssertionError, TypeError, ValueError)
}


def _words(error: Exception) -> tuple[str, str]:
    if isinstance(error, UnboundLocalError):
        name = _quoted(error)
        return f"`{name}` has no value here", f"assign `{name}` before"
    if isinstance(error, NameError):
        return _of_name(error)
    if isinstance(error, AttributeError) and error.name:
        return _of_attribute(error.obj, error.name)
    if isinstance(error, AssertionError):
        return str(error) or "this does not hold", "it is tested while compiling: give what it asks for"
    if _is_of_call(error):
        return _of_call(str(error))
    sentence = python_sentences.read(error)
    if sentence is not None and sentence.kind in _OF_PYTHON:
        message, fix = _OF_PYTHON[sentence.kind]
        return message.format(**{name: _type_word(value) for name, value in sentence.fields.items()}), fix
    return (
        f"{type(error).__name__}: {error}",
        "plain Python runs once while compiling: compute with T's values and functions",
    )


_TYPE_WORDS = {
    "NoneType": "None",
    "str": "text",
    "Buffer": "a buffer",
    "function": "a function",
    "int": "a Python int",
    "float": "a Python float",
    "list": "a list",
    "tuple": "a tuple",
    "dict": "a dict",
    "TensorSSA": "a vector",
    "Pointer": "an address",
    "Handle": "a T.handle",
    "Boolean": "a bool",
}
# The message and the fix for Python's error in an operation, by its kind.
_OF_PYTHON = {
    "BINARY": (
        "`{operator}` is not defined for {left} and {right}",
        "compute with numbers: elements of buffers, registers, literals",
    ),
    "COMPARE": ("`{operator}` does not compare {left} with {right}", "compare numbers"),
    "UNARY": ("`{operator}` is not defined for {type}", "compute with numbers"),
    "CALL": ("{type} is not called", "multiply with `*`; take an element with `A[i]`"),
    "SUBSCRIPT": ("{type} has no elements", "index a buffer: `A[i]`"),
    "STORE": ("{type} has no elements to store in", "store in a buffer: `A[i] = x`"),
    "LENGTH": ("{type} has no length", "take an extent of the buffer: `A.shape[0]`"),
    "WITH": ("{type} cannot be used with `with`", 'with T.launch_thread("threadIdx.x", 128) as tx: ...'),
    "ITERATE": ("{type} is not iterated", "loop over its places: `for i in T.serial(n)`"),
    "ROUND": ("Python's round does not take {type}", "T.round(x)"),
    "INTEGRAL": ("Python's math does not take {type}", "T.floor(x), T.ceil(x) or T.trunc(x)"),
    "UFUNC": (
        "numpy computes while compiling, but {type} is known only at run time",
        "use T's function: `T.exp(x)`, `T.sin(x)`, ...",
    ),
    "UNPACK": ("{type} is one value, but several names are assigned", "write one name"),
}


def _type_word(name: str) -> str:
    if name in _TYPE_WORDS:
        return _TYPE_WORDS[name]
    if not name.isidentifier() or name[:1].islower():
        return name
    return with_article(error_wording.TYPE_WORDS.get(name, name))


def _quoted(error: Exception) -> str:
    quoted = re.search(r"'(\w+)'", str(error))
    return quoted[1] if quoted else ""


def _of_name(error: NameError) -> tuple[str, str]:
    name = error.name or _quoted(error)
    if name in CUDA_NAMES:
        return f"`{name}` is not defined", f"in T it is {CUDA_NAMES[name]}"
    visible = visible_names(error)
    names = NAMESPACES["T"]
    own = next((alias for alias, value in visible.items() if getattr(value, "__dict__", None) is names), "T")
    if name in names and not name.startswith("_"):
        return f"`{name}` is not defined", f"write `{own}.{name}`"
    meant = alike(name, visible)
    return (
        f"`{name}` is not defined",
        f"did you mean `{meant}`?" if meant else f"assign `{name}` before, or define it outside the function",
    )


def _of_attribute(owner: Any, name: str) -> tuple[str, str]:
    meant = alike(name, dir(owner))
    if isinstance(owner, types.ModuleType):
        told = f"the module `{owner.__name__.removeprefix('dsl.')}` has no `{name}`"
    else:
        told = f"{_described(owner)} has no `{name}`"
    if meant:
        return told, f"did you mean `{meant}`?"
    if isinstance(owner, Numeric):
        return told, "a number has no parts: `tx, ty = T.thread_id([16, 8])` gives one name an axis"
    public = [each for each in dir(type(owner)) if not each.startswith("_") and each not in _OWN]
    if _is_buffer(owner):
        return told, f"it has {', '.join(f'`{each}`' for each in public)}"
    return told, "use a name that it has"


_OWN = {"at", "load", "store", "check_value", "is_single", "is_no_operand", "type_text", "handle", "array", "name"}


def _is_buffer(owner: Any) -> bool:
    return type(owner).__name__ == "Buffer"


def _described(value: Any) -> str:
    if isinstance(value, Numeric):
        return with_article(error_wording.type_word(type(value)))
    if _is_buffer(value):
        return f"the buffer `{value.name}`"
    return type_name(value)


def _of_call(text: str) -> tuple[str, str]:
    """The message and the fix for arguments that do not fit: "serial() missing 1 required positional argument: 'x'"."""
    called, _, rest = text.partition("() ")
    name = called.rpartition(".")[2]
    spelt, signature = called_as(name)
    missing = re.findall(r"'(\w+)'", rest) if rest.startswith("missing") else []
    unknown = re.search(r"unexpected keyword argument '(\w+)'", rest)
    count = re.search(r"but (\d+) (?:positional argument)?", rest)
    if missing:
        told = f"`{spelt}` lacks {' and '.join(f'`{each}`' for each in missing)}"
    elif unknown:
        told = f"`{spelt}` has no parameter `{unknown[1]}`"
    elif count:
        told = f"`{spelt}` takes fewer arguments, got {count[1]}"
    else:
        told = f"`{spelt}` {rest}"
    return told, f"{spelt}{signature}" if signature else "pass the parameters that its `def` names"


def called_as(name: str) -> tuple[str, str]:
    """How a function of T is called by its author, and its parameters: ("T.serial", "(start, stop=None, *, ...)")."""
    if name in ("serial", "unroll", "vectorized"):
        return f"T.{name}", parameters(vars(loops)[name])
    for prefix, names in NAMESPACES.items():
        function = names.get(name)
        if callable(function) and not isinstance(function, type):
            return f"{prefix}.{name}", parameters(function)
    return name, ""


def parameters(function: Any) -> str:
    """The parameters of a function as an author writes them, without annotations."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    bare = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
        if not each.name.startswith("_")
    ]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
