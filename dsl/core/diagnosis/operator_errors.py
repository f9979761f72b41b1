"""Python's errors of operations that a value of this package does not have, in the author's words:
`'Int32' object is not iterable`. Each row is a text of Python and the message in its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number import dtypes
from dsl.core.number.dtypes import NumericMeta
from dsl.core.syntax.raise_place import innermost, place_of
from dsl.span import is_for_python, is_our_file

_TENSOR = "index it, `t[i]`, or load its elements, `t.load()`"
_NUMBER = "loop over a range, `for i in range(n)`"
_NONE = "a function without `return` gives None, and so does an optional argument that is not passed"
_ELEMENTS = "index a tensor, a tuple or a list"
_OF_PYTHON = (
    "expected",
    "concatenate",
    "object is not iterable",
    "converted",
    "format string",
)  # also in errors about Python's values
_WORDS = {
    "NoneType": "None",
    "function": "a function",
    "method": "a method",
    "type": "a type",
    "module": "a module",
    "builtin_function_or_method": "a function",
    "NumericMeta": "a type",
}


def explained(error: BaseException) -> DSLUserCodeError | None:
    """The error in the author's words, or None where no value of this package has a part in it."""
    code = innermost(error)
    if code is None:
        return None
    if is_our_file(code.co_filename) and not is_for_python(code.co_filename, operators=True):
        return None
    text = str(error)
    for pattern, explain in _ROWS:
        if (match := re.fullmatch(pattern, text)) is not None:
            kinds = [name for name in match.groupdict().values() if name]
            in_hook = is_our_file(code.co_filename)
            if in_hook or any(map(_is_ours, kinds)) or "function" in kinds or any(map(text.__contains__, _OF_PYTHON)):
                kind = DSLUserCodeValueError if isinstance(error, ValueError) else DSLUserCodeTypeError
                what, fix = explain(match)
                return kind(what, fix=fix, place=place_of(error)).with_traceback(error.__traceback__)
            return None
    if any(map(_is_ours, re.findall(r"(?:'|\b(?:not|got|of|to) )([A-Z]\w+)\b(?!\()", text))):
        fix = "compute with it in the kernel, or pass the value as cutlass.Constexpr"
        what = f"Python cannot use a value known only at run time here: {text}"
        return DSLUserCodeTypeError(what, fix=fix, place=place_of(error)).with_traceback(error.__traceback__)
    return None


def _is_ours(name: str) -> bool:
    """Whether a class of this package is called `name`."""
    return any(
        isinstance(vars(module).get(name), type)
        for spelt, module in list(sys.modules.items())
        if spelt.startswith("dsl.") and module is not None
    )


def _is_number(name: str) -> bool:
    return isinstance(vars(dtypes).get(name), NumericMeta)


def _word(name: str) -> str:
    """A class as the author knows its values."""
    bare = name.lstrip("_")
    return _WORDS.get(bare) or (
        f"Python {bare}" if bare in ("str", "int", "float", "bool", "complex", "bytes") else bare
    )


def _row(what: str, fix: Callable[[str], str]) -> Callable[[re.Match], tuple[str, str]]:
    return lambda match: (what.format(_word(match["kind"])), fix(match["kind"]))


def _operands(match: re.Match | dict[str, str]) -> tuple[str, str]:
    """An operator between two values."""
    sign, left, right = match["sign"].partition(" or ")[0], match["left"], match["right"]
    kinds = {left, right}
    if "Tensor" in kinds:
        fix = "load its elements: `t.load()`, or one of them: `t[i]`"
    elif "Pointer" in kinds:
        fix = "a pointer takes `+` and `-` of an integer; `p.toint()` is its address"
    elif "NoneType" in kinds:
        fix = _NONE
    elif kinds & {"function", "method", "builtin_function_or_method", "JitFunction"}:
        fix = "call the function: `f(...)`"
    elif "str" in kinds:
        fix = "text is known while compiling and has no number in it: use `cute.printf` to print one"
    elif kinds & {"tuple", "list"}:
        fix = "index it for one element: `x[0]`"
    elif sign == "divmod()":
        fix = "write the quotient `a // b` and the rest `a % b`"
    elif sign == "@":
        fix = "`*` multiplies numbers; `cute.gemm` multiplies matrices"
    else:
        fix = "use numbers of the DSL, or elements of tensors"
    return f"`{sign}` is not defined for {_word(left)} and {_word(right)}", fix


def _unassigned(kind: str) -> tuple[str, str]:
    """An assignment to an element."""
    if kind == "TensorSSA":
        return "elements of a TensorSSA are not assigned", (
            "keep it in registers, `r = cute.make_rmem_tensor(x.shape, x.dtype)`, `r.store(x)`, and assign to `r[i]`; "
            "`cute.where` chooses elements"
        )
    if kind == "Layout":
        return "modes of a Layout are not assigned", "make another layout: `cute.make_layout(shape, stride=...)`"
    return f"{_word(kind)} has no elements", _NONE if kind == "NoneType" else _ELEMENTS


def _unpacked(match: re.Match) -> tuple[str, str]:
    names = f"{match[1]} name{'s' * (match[1] != '1')}"
    if text := (match.groups() + ("",))[1]:
        return f"unpacks {text} value{'s' * (text != '1')} into {names}", "write as many names as there are values"
    return (
        f"unpacks more values than there are names ({match[1]})",
        "write a name for each: `x, y, z = cute.arch.thread_idx()`",
    )


_ROWS: list[tuple[str, Callable[[re.Match], tuple[str, str]]]] = [
    (
        r"cannot unpack non-iterable (?P<kind>\w+) object",
        _row("unpacks {}, which is one value", lambda kind: "assign it to one name"),
    ),
    (
        r"(?:'(?P<kind>\w+)' object is not iterable"
        r"|(?:.*argument|Value) after \* must be an iterable, not (?P<other>\w+))",
        lambda match: (
            f"{_word(match['kind'] or match['other'])} is not iterated",
            _NUMBER
            if _is_number(match["kind"] or match["other"])
            else _NONE
            if "NoneType" in match.groups()
            else "give a tuple, a list or a range",
        ),
    ),
    (
        r"argument of type '(?P<kind>\w+)' is not iterable",
        _row("`in` does not search {}", lambda kind: "give a tuple, a list or a range"),
    ),
    (
        r"object of type '(?P<kind>\w+)' has no len\(\)",
        _row("{} has no len()", lambda kind: "`cute.size(x)` is the size of a shape, a layout or a tensor"),
    ),
    (
        r"'(?P<kind>\w+)' object is not callable",
        _row(
            "{} is not called",
            lambda kind: (
                _NONE
                if kind == "NoneType"
                else "index it with [ ]: `t[i]`"
                if kind in ("Tensor", "Pointer", "TensorSSA")
                else "leave out the parentheses, or look at what has this name"
            ),
        ),
    ),
    (
        r"'(?P<kind>\w+)' object is not subscriptable",
        _row("{} has no elements", lambda kind: _NONE if kind == "NoneType" else _ELEMENTS),
    ),
    (r"'(?P<kind>\w+)' object does not support item (assignment|deletion)", lambda match: _unassigned(match["kind"])),
    (r"unsupported operand type\(s\) for (?P<sign>[^:]+): '(?P<left>[\w.]+)' and '(?P<right>[\w.]+)'", _operands),
    (r"'(?P<sign>[<>=!]+)' not supported between instances of '(?P<left>[\w.]+)' and '(?P<right>[\w.]+)'", _operands),
    (
        r"bad operand type for (?:unary |abs\(\))(?P<sign>[-+~]?)(?:: )?'(?P<kind>\w+)'",
        lambda match: (
            f"{'`' + match['sign'] + '`' if match['sign'] else 'abs()'} is not defined for {_word(match['kind'])}",
            _TENSOR if match["kind"] == "Tensor" else "give a number",
        ),
    ),
    (
        r"can only concatenate (?P<left>\w+) \(not \"(?P<right>\w+)\"\) to \w+",
        lambda match: _operands({"sign": "+", "left": match["left"], "right": match["right"]}),
    ),
    (
        r"(?P<kind>list|tuple|string|range object|bytes) ind(?:ices|ex) must be integers(?: or slices)?, "
        r"not '?(?P<other>\w+)'?",
        lambda match: (
            f"the index of a {match['kind'].removesuffix(' object')} must be an integer, got {_word(match['other'])}",
            "give an integer",
        ),
    ),
    (
        r"type (?P<kind>\w+) doesn't define (?P<name>__\w+__) method",
        lambda match: (
            f"`{match['name'].strip('_')}` is not defined for {_word(match['kind'])}",
            "`cute.math` has floor, ceil, round and trunc; convert with `cutlass.Int32(x)`",
        ),
    ),
    (
        r"'(?P<kind>\w+)' object cannot be interpreted as an integer",
        _row("an integer is needed, got {}", lambda kind: "convert it, `cutlass.Int32(x)`, or give an int"),
    ),
    (r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)", _unpacked),
    (r"too many values to unpack \(expected (\d+)\)", _unpacked),
    (
        r"(?P<kind>\w+) expected at least (\d+) arguments?, got (\d+)",
        lambda match: (
            f"`{match[1]}` needs at least {match[2]} argument{'s' * (match[2] != '1')}, got {match[3]}",
            f"call it as `{match[1]}(a, b)`",
        ),
    ),
    (
        r"not (all|enough) arguments (?:converted|for format string).*",
        lambda match: (
            f"the text has {'fewer' if match[1] == 'all' else 'more'} places than there are values",
            "write one place, %d, %f or %s, for each value",
        ),
    ),
    (
        r"unhashable type: '(?P<kind>\w+)'",
        _row("{} is not a key of a dict or a member of a set", lambda kind: "use a number or a text as the key"),
    ),
]
