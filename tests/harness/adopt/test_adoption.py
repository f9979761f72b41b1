"""Scripts as people write them, adopted, and scripts that are refused.

Modules tested here: harness/adopt/refusal.py.
"""

import pytest

from harness.adopt.refusal import NotAdopted

WHOLE = """
#!/usr/bin/env python3
# the sum of a row is a multiple of three

# Copyright somebody
import sys
import numpy as np

N = 4


def rows(n):
    # a table
    return np.arange(n * 3).reshape(n, 3)


x = rows(N)  # the input
print("sums:", x.sum(axis=1).tolist())
print(f"first {x[0]} of {N}")
sys.exit(0)
"""
ADOPTED = '''\
#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy"]
# [tool.repro]
# ///
# Copyright somebody
"""the sum of a row is a multiple of three"""

import sys
import numpy as np

N = 4


def rows(n):
    # a table
    return np.arange(n * 3).reshape(n, 3)


def run():
    x = rows(N)  # the input
    return {"x_sum_axis_1": x.sum(axis=1), "x_0": x[0]}


if __name__ == "__main__":
    print(run())
'''


def test_the_whole_text(adopt):
    text, outputs = adopt(WHOLE)
    assert text == ADOPTED
    assert outputs == {"x_sum_axis_1": [3, 12, 21, 30], "x_0": [0, 1, 2]}


def test_a_constant_becomes_a_parameter(adopt):
    """Functions read it, so run() sets it; what is computed of it follows."""
    text, outputs = adopt(
        '''
        """n squares"""
        import numpy as np
        N = 4
        TWICE = 2 * N
        def squares():
            return np.arange(TWICE) ** 2
        print(squares()[:N])
        ''',
        wanted={"N": [4, 8]},
    )
    assert "# params = { N = [4, 8] }\n" in text and "def run(N):\n    global TWICE\n    TWICE = 2 * N\n" in text
    assert outputs == {"squares_N": [0, 1, 4, 9]} and "print(run(N=4))" in text
    text, _ = adopt(
        '"""c"""\nimport numpy as np\nN = 4\ndef f():\n    return np.arange(N)\nprint(f())', wanted={"N": [2]}
    )
    assert "def run(n):\n    global N\n    N = n\n" in text


@pytest.mark.parametrize(
    "body, outputs",
    [
        ("print(x)", {"x": [0, 1, 2]}),
        ("print(x.tolist(), list(x), x)", {"x": [0, 1, 2]}),
        ('print(f"{x[1]:>4} and {x.sum():d}")', {"x_1": 1, "x_sum": 3}),
        ('print("%d of %s" % (x[2], x))', {"x_2": 2, "x": [0, 1, 2]}),
        ('print("{} {}".format(x[0], 7))', {"x_0": 0}),
        ('print("x = " + str(x))', {"x": [0, 1, 2]}),
        ('print(" ".join(hex(v) for v in x))', {"x": [0, 1, 2]}),
        ("print(*x)", {"x": [0, 1, 2]}),
        ("for i in range(3):\n    print(i, x[i])", {"x": [0, 1, 2]}),
        ("for v in x:\n    print(v)", {"x": [0, 1, 2]}),
        ("for i, v in enumerate(x.tolist()):\n    print(i, hex(v))", {"x": [0, 1, 2]}),
        ("print(x)\nx += 1\nprint(x)", {"x": [0, 1, 2], "x_2": [1, 2, 3]}),
        ("for w in (2, 5):\n    x[0] = w\n    print(w, x)", {"x_2": [2, 1, 2], "x_5": [5, 1, 2]}),
        ("for _ in range(2):\n    x = x + 1\n    print(x)", {"x_0": [1, 2, 3], "x_1": [2, 3, 4]}),
        ("def f(k):\n    print(x * k)\nf(1)\nf(3)", {"x_k_1": [0, 1, 2], "x_k_3": [0, 3, 6]}),
        ("if len(x) == 3:\n    print(x)\nelse:\n    print(-x)", {"x": [0, 1, 2]}),
        ("print(int(x.sum()), len(x), x.shape)", {"x_sum": 3}),
        ("print((x == x).all())", {"x_x_all": True}),
        ("def main():\n    y = x + 1\n    print(y)\n    return 0\nif __name__ == '__main__':\n    main()", {"y": [1, 2, 3]}),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, default=2)\nprint(x * p.parse_args().n)",
         {"x_p_parse_args_n": [0, 2, 4]}),
    ],
)  # fmt: skip
def test_printed_values_become_outputs(adopt, body, outputs):
    assert adopt(f'"""It is so."""\nimport numpy as np\nx = np.arange(3)\n{body}\n')[1] == outputs


def test_the_arguments_of_a_script(adopt):
    body = "import argparse, numpy as np\np = argparse.ArgumentParser()\np.add_argument('n', type=int)\n"
    text, outputs = adopt(f"# c\n{body}print(np.arange(p.parse_args().n))\n", arguments=["3"])
    assert list(outputs.values()) == [[0, 1, 2]] and "p.parse_args(['3'])" in text


def test_the_block_of_the_script_stays(adopt):
    block = '# /// script\n# dependencies = ["numpy>=2"]  # not the old one\n# ///\n'
    text, _ = adopt(f'{block}"""c"""\nimport numpy as np\nprint(np.zeros(1))\n')
    assert text.startswith(
        '# /// script\n# dependencies = ["numpy>=2"]  # not the old one\n# [tool.repro]\n# ///\n"""c"""'
    )


def test_a_claim_that_is_given(adopt):
    text, _ = adopt('"""Notes."""\nimport numpy as np\nprint(np.zeros(1))\n', claim="It is zero.")
    assert '\n"""It is zero.\n\nNotes.\n"""\n' in text


@pytest.mark.parametrize(
    "script, told",
    [
        ("import numpy as np\nprint(np.zeros(1))", "script.py: it does not state a claim\nfix: begin the script"),
        ("# c\nprint('hello')", "script.py:2: it prints no tensor\nfix: print the tensors that hold the answer"),
        ("# c\nn = input()\nprint(n)", "script.py:2: it reads from a person by input()\nfix: "),
        ("# c\nimport sys\nprint(sys.argv[1])", "script.py:3: it reads sys.argv, and a repro is called without\nfix: "),
        ("# c\nprint(", "script.py:2: it is not Python: "),
        ("# c\ndef run():\n    pass", "script.py: it has a function run() already\nfix: call it otherwise"),
        ("# c\nimport numpy as np\n1 / 0", "script.py: the script itself does not run: error\n"),
        ("# c\nimport numpy as np\nx = np.zeros(1)\ny = print(x)", "script.py:4: this print() is part of another statement"),
        ("# c\nimport os, numpy as np\nprint(np.frombuffer(os.urandom(8), np.uint8))",
         "script.py: frombuffer_os_urandom_8_uint8 differs from run to run of the script itself\nfix: seed"),
        ("# c\nimport numpy as np\nprint(np.array([__name__ == '__main__', 1]))",
         "script.py: as a repro it does otherwise than as a script: array___name_____main___1 has other values"),
    ],
)  # fmt: skip
def test_scripts_that_are_not_adopted(adopt, script, told):
    with pytest.raises(NotAdopted) as refused:
        adopt(script)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    "wanted, told",
    [
        ({"M": [1]}, "--param M: the script has no constant of this name; its constants are: N, S"),
        ({"S": [1]}, "script.py:4: S is not a number, bool or word\nfix: name a constant that is one"),
        ({"N": [1]}, "script.py:5: f needs N where it is defined, before run() is called\nfix: write the value in f"),
    ],
)
def test_constants_that_cannot_be_parameters(adopt, wanted, told):
    with pytest.raises(NotAdopted) as refused:
        adopt(
            '"""c"""\nimport numpy as np\nN = 2\nS = [1]\ndef f(n=N):\n    return n\nprint(np.zeros(f()))\n',
            wanted=wanted,
        )
    assert str(refused.value).startswith(told)
