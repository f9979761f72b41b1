"""A `.ptx` file: the kernel of its text that is launched, and with what.

    // /// script
    // [tool.repro]
    // arch = "sm_80"
    // [tool.repro.ptx]
    // entry = "reverse"             the kernel; not needed if the text has one
    // grid = [1]                    blocks (default 1), up to three numbers
    // block = [32]                  threads of a block
    // shared_bytes = 0              dynamic shared memory
    // arguments = [                 in the order of the kernel's parameters
    //   { dtype = "int32", value = 3 },                               a number
    //   { name = "x", dtype = "int32", values = [1, 2, 3] },          an array that the kernel reads
    //   { name = "out", dtype = "float32", shape = [32] },            an array of zeros, an output of the claim
    //   { name = "y", dtype = "int32", shape = [2], expected = [0, 1] },     the values that the claim expects
    // ]
    // ///

`output = true` makes an output of an array with `values`. An array without `values` is one.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from harness.claim import expectation, languages, output_rules, silenced

KEY = "ptx"
MEANING = "the launch: { entry, grid, block, shared_bytes, arguments }"
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = (*INTEGERS, "float16", "float32", "float64")
MOST_ELEMENTS = 1 << 24
_KEYS = ("entry", "grid", "block", "shared_bytes", "arguments")
_ARRAY_KEYS = ("name", "dtype", "shape", "values", "expected", "output")
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)")
_EXAMPLE = '{ name = "out", dtype = "int32", shape = [32] }'


def read(source: Any, table: dict[str, Any]) -> dict[str, Any]:
    """Read the table, as arguments of Repro. Raises ReproError."""
    if "params" in table:
        source.key_error("params", "NOT_FOR_PTX", "is for Python repros", "remove params; a .ptx file is one case")
    launch = _launch(source, table.get(KEY))
    has_expected = any("expected" in one for one in launch["arguments"])
    functions = ast.parse("def expected(): ..." if has_expected else "")
    return {
        "claim": languages.claim(source),
        "arch": source.arch(table),
        "params": {},
        "compare": output_rules.implied(source.compare(table), table),
        "outcome": source.outcome(table),
        "timeout_s": source.timeout_s(table),
        "checks": source.checks({}),
        "has_expected": has_expected,
        "needs": source.needs(),
        "requires_python": source.requires_python(),
        "nvidia": expectation.read(source, table),
        "silenced": silenced.read(source),
        "launch": launch,
        **output_rules.read(source, table, functions),
    }


def _launch(source: Any, table: Any) -> dict[str, Any]:
    fix = f"add a table [tool.repro.ptx] with block = [32] and arguments = [{_EXAMPLE}]"
    if not isinstance(table, dict):
        source.key_error(KEY, "NO_LAUNCH", "is not there: nothing names the launch", fix)
    for key in table:
        if key not in _KEYS:
            source.key_error(key, "UNKNOWN_KEY", "is not a key of [tool.repro.ptx]", f"one of {', '.join(_KEYS)}")
    arguments = table.get("arguments", [])
    if not isinstance(arguments, list) or not all(isinstance(one, dict) for one in arguments):
        source.key_error("arguments", "BAD_ARGUMENTS", "is not a list of tables", f"write [{_EXAMPLE}]")
    made = [_argument(source, one) for one in arguments]
    names = [one["name"] for one in made if "name" in one]
    if len(set(names)) < len(names) or not any(one.get("output") for one in made):
        why = "has a name twice" if len(set(names)) < len(names) else "has no output"
        source.key_error("arguments", "BAD_ARGUMENTS", why, f"give each array a name: {_EXAMPLE}")
    shared_bytes = table.get("shared_bytes", 0)
    if not _is_count(shared_bytes, 0):
        source.key_error("shared_bytes", "BAD_LAUNCH", f"is {shared_bytes!r}", "write a number of bytes")
    return {
        "entry": _entry(source, table.get("entry")),
        "grid": _extent(source, table, "grid"),
        "block": _extent(source, table, "block"),
        "shared_bytes": shared_bytes,
        "arguments": made,
    }


def _entry(source: Any, name: Any) -> Any:
    names = _ENTRY.findall(source.text)
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        why = f"is {name!r}, and" if name is not None else "is not there, and"
        message = f"{why} the text has the kernels {', '.join(names) or '(none)'}"
        source.key_error("entry", "BAD_ENTRY", message, f'write entry = "{names[0] if names else "NAME"}"')
    return name


def _extent(source: Any, table: dict[str, Any], key: str) -> list[int]:
    sizes = table.get(key, [1])
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= 3 or not all(_is_count(one, 1) for one in sizes):
        source.key_error(key, "BAD_LAUNCH", f"is {sizes!r}", f"write one to three numbers: {key} = [32]")
    return [*sizes, *[1] * (3 - len(sizes))]


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**31


def _argument(source: Any, table: dict[str, Any]) -> dict[str, Any]:
    def wrong(message: str, fix: str = f"write {_EXAMPLE}, or a number: {{ dtype = 'int32', value = 3 }}") -> None:
        source.key_error("arguments", "BAD_ARGUMENTS", f"holds {table!r}, which {message}", fix)

    dtype = table.get("dtype")
    if dtype not in DTYPES:
        wrong(f"has the dtype {dtype!r}", f"one of {', '.join(DTYPES)}")
    if "value" in table:
        if set(table) != {"dtype", "value"} or not _fits([table["value"]], dtype):
            wrong("is not a number with dtype and value")
        return dict(table)
    name, values = table.get("name"), table.get("values")
    if unknown := [key for key in table if key not in _ARRAY_KEYS]:
        wrong(f"has the key {unknown[0]}", f"one of {', '.join(_ARRAY_KEYS)}")
    if not isinstance(name, str) or not name.isidentifier():
        wrong("has no name")
    shape = table.get("shape", [len(values)] if isinstance(values, list) else None)
    if not isinstance(shape, list) or not all(_is_count(one, 1) for one in shape) or math.prod(shape) > MOST_ELEMENTS:
        wrong("has no shape")
    for key in ("values", "expected"):
        given = table.get(key)
        if given is not None and not (
            isinstance(given, list) and len(given) == math.prod(shape) and _fits(given, dtype)
        ):
            wrong(f"has {key} that are not {math.prod(shape)} numbers of {dtype}")
    is_output = table.get("output", values is None)
    if not isinstance(is_output, bool) or ("expected" in table and not is_output):
        wrong("is not an output, but has expected values", "write output = true")
    return {**table, "shape": shape, "output": is_output}


def _fits(values: list[Any], dtype: Any) -> bool:
    """Whether these are numbers of the dtype."""
    if dtype not in INTEGERS:
        return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    bits = int(re.sub(r"\D", "", dtype))
    low, high = (0, 1 << bits) if dtype[0] == "u" else (-(1 << (bits - 1)), 1 << (bits - 1))
    return all(isinstance(one, int) and not isinstance(one, bool) and low <= one < high for one in values)
