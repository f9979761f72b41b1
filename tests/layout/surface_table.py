"""The layout functions of `cutlass.cute` on arguments an author might give, and what NVIDIA's compiler makes of each.

`python tests/layout/surface_table.py` (with nvidia-cutlass-dsl) writes surface_table.json again from its own
expressions: `same` has the values of both compilers, `differs` NVIDIA's value and our value. `!` is an error.
`n` and `m` are arguments, 12 and 5. With --print it prints what it finds for the expressions on standard input, one
line each.
"""

import json
import re
import sys
import warnings
from pathlib import Path

from tests import fork_server

TABLE = Path(__file__).with_name("surface_table.json")


def shown(x: object) -> str:
    """The text of a value, with enough of its type to compare types."""
    if isinstance(x, (tuple, list)):
        ends = "()" if isinstance(x, tuple) else "[]"
        return ends[0] + ",".join(map(shown, x)) + ends[1]
    name = type(x).__name__.lstrip("_")
    if name in ("Int16", "Int32", "Int64", "Boolean", "IntValue", "Float32"):
        return f"a number: {'Int32' if name == 'IntValue' else name}"
    return repr(x) if isinstance(x, (int, float, str, type(None))) else f"{name} {x}"


def outcome(expression: str, names: dict) -> str:
    try:
        return shown(eval(expression, names))
    except Exception:
        return "!"


def values(expressions: list[str], in_jit: bool = True) -> list[str]:
    """The values of the expressions in the compiler imported here, in a jit function each, or in plain Python."""
    warnings.simplefilter("ignore")
    import cutlass
    import cutlass.cute as cute

    names = {
        "cute": cute,
        "cutlass": cutlass,
        "L": cute.make_layout,
        "E": cute.E,
        "SB": cute.ScaledBasis,
        "Int32": cutlass.Int32,
        "Int64": cutlass.Int64,
    }
    if not in_jit:
        return [outcome(expression, names) for expression in expressions]
    found: list[str] = []
    now = ""

    @cute.jit
    def program(n: cutlass.Int32, m: cutlass.Int32):
        found.append(outcome(now, {**names, "n": n, "m": m}))

    for number, now in enumerate(expressions):
        try:
            program(12, 5)
        except Exception:  # NVIDIA's compiler: an op that was refused stays in the function
            found.extend("!" * (number + 1 - len(found)))
    return found[: len(expressions)]


def _printed(*command: str, expressions: list[str]) -> list[str]:
    run = fork_server.run([*command, __file__, "--print"], input="\n".join(expressions), check=True)
    return re.findall(r"^= (.*)$", run.stdout, re.MULTILINE)


def theirs(expressions: list[str]) -> list[str]:
    """The values of the expressions in NVIDIA's compiler, in another process."""
    return _printed(expressions=expressions)


def _write(expressions: list[str]) -> None:
    pairs = list(zip(expressions, theirs(expressions), _printed("-m", "dsl", expressions=expressions), strict=True))
    table = {
        "same": {text: nvidia for text, nvidia, ours in pairs if nvidia == ours},
        "differs": {text: [nvidia, ours] for text, nvidia, ours in pairs if nvidia != ours},
    }
    TABLE.write_text(json.dumps(table, indent=0) + "\n")


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(*("= " + value for value in values(sys.stdin.read().splitlines())), sep="\n")
    else:
        table = json.loads(TABLE.read_text())
        _write([*table["same"], *table["differs"]])
