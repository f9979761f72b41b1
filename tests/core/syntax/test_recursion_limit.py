"""Deep programs compile; endless recursion is an error that names the call,
and leaves a process that ends as it should."""

import subprocess
from pathlib import Path

import pytest

from tests import fork_server

HEAD = "import cutlass\nimport cutlass.cute as cute\n\n\n"
CHAIN = (
    HEAD
    + """\
@cute.jit
def main(n: cutlass.Int32):
    x = cutlass.Int32(-1)
{arms}
    cute.printf("{{}}", x)


main(149)
"""
)
ENDLESS = (
    HEAD
    + """\
@cute.jit
def again(n: cutlass.Int32):
    if n > 0:
        again(n + 1)


for _ in range(3):
    try:
        again(1)
    except RecursionError:
        print("caught")
print("end")
"""
)


def dsl(tmp_path: Path, text: str) -> subprocess.CompletedProcess:
    (tmp_path / "author.py").write_text(text)
    return fork_server.run(["-m", "dsl", "--device", "emulator", "author.py"], cwd=tmp_path)


@pytest.mark.parametrize("arms, printed", [(150, "447"), (149, "-1")])
def test_a_long_chain_of_elif_compiles(arms, printed, tmp_path):
    text = "\n".join(f"    {'el' if k else ''}if n == {k}:\n        x = n * 3" for k in range(arms))
    run = dsl(tmp_path, CHAIN.format(arms=text))
    assert (run.returncode, run.stdout.strip()) == (0, printed), run.stderr


@pytest.mark.slow
def test_endless_recursion_can_be_caught_any_number_of_times(tmp_path):
    run = dsl(tmp_path, ENDLESS)
    assert (run.returncode, run.stdout) == (0, "caught\ncaught\ncaught\nend\n"), run.stderr[-500:]


RECURSIVE = (
    HEAD
    + """\
def fact(n):
    if n <= 1:
        return 1
    return n * fact(n - 1)


@cute.jit
def main(n: cutlass.Int32):
    cute.printf("{}", fact(n))


main(3)
"""
)
ENDLESS_VALUE = (
    HEAD
    + """\
@cute.jit
def main(n: cutlass.Int32):
    xs = [n]
    xs.append(xs)
    return xs


main(3)
"""
)


@pytest.mark.parametrize(
    "text, error",
    (
        (
            RECURSIVE,
            "author.py:8:16: DSLUserCodeRecursionError\n"
            "    return n * fact(n - 1)\n"
            "               ^^^^^^^^^^^ `fact` calls itself without end while compiling, where a dynamic value "
            "cannot stop it\n"
            "fix: write a loop, or stop by a value known while compiling: `if cutlass.const_expr(n == 0)`\n",
        ),
        (
            ENDLESS_VALUE,
            "author.py:12:1: DSLUserCodeRecursionError\n"
            "    main(3)\n"
            "    ^^^^^^^ is nested too deeply, or contains itself\n"
            "fix: use its parts\n",
        ),
    ),
)
def test_endless_recursion_is_the_authors_error(text, error, tmp_path):
    run = dsl(tmp_path, text)
    assert run.returncode == 1 and run.stderr.endswith(error), run.stderr[-1000:]
    assert "Traceback" not in run.stderr


def test_a_deeply_nested_function_is_rewritten_again_as_quickly(tmp_path):
    """Python compares two equal codes, nested 60 deep, in time that doubles with each level."""
    from dsl.core.syntax import rewrite
    from dsl.cutlass.grammar import GRAMMAR

    file = tmp_path / "nested.py"
    file.write_text(
        "def nested(n):\n" + "".join(f"{'    ' * (k + 1)}if n > {k}:\n" for k in range(60)) + "    " * 61 + "n += 1\n"
    )
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    first, second = (rewrite.rewrite(namespace["nested"], GRAMMAR) for _ in range(2))
    assert first is not second
