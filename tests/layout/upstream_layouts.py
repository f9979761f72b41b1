"""Run by test_upstream.py: prints what nvidia-cutlass-dsl makes of the expressions on stdin, one line each.

An expression names CuTe functions without a prefix. A line starting with `!` is a refusal.
"""

import sys

import cutlass.cute as cute


def evaluate(expression: str) -> str:
    try:
        return str(eval(expression, dict(vars(cute))))
    except Exception as error:
        return f"! {type(error).__name__}"


if __name__ == "__main__":
    lines = sys.stdin.read().splitlines()

    @cute.jit
    def host():
        print("\n".join(evaluate(line) for line in lines))

    host()
