"""The text around what moved."""


def test_comments_and_spacing_stay(adopt):
    text, _ = adopt(
        '''
        """c"""
        import numpy as np
        # how many
        N = 3
        # the input
        x = np.arange(N)

        # the answer
        print(x)

        # the check
        assert x[0] == 0
        '''
    )
    assert text.endswith(
        "import numpy as np\n\n# how many\nN = 3\n\n\ndef run():\n    # the input\n    x = np.arange(N)\n\n"
        "    # the check\n    assert x[0] == 0\n    # the answer\n"
        '    return {"x": x}\n\n\nif __name__ == "__main__":\n    print(run())\n'
    )


def test_a_function_that_prints_fills_a_table_of_the_module(adopt):
    text, outputs = adopt('"""c"""\nimport numpy as np\ndef f(k):\n    print(np.full(2, k))\nf(1)\nf(2)\n')
    assert "import numpy as np\n\noutputs = {}\n" in text
    assert '    outputs[f"full_2_k_{k}"] = np.full(2, k)\n' in text
    assert "def run():\n    outputs.clear()\n    f(1)\n    f(2)\n    return dict(outputs)\n" in text
    assert list(outputs) == ["full_2_k_1", "full_2_k_2"]


def test_a_loop_that_did_more_than_print_stays(adopt):
    text, _ = adopt(
        '"""c"""\nimport numpy as np\nx = np.arange(2)\nt = 0\nfor i in range(2):\n    t += i\n    print(x[i])\n'
    )
    assert "    for i in range(2):\n        t += i\n    return" in text
    text, _ = adopt('"""c"""\nimport numpy as np\nx = np.arange(2)\nfor i in range(2):\n    print(x[i])\n')
    assert "for i" not in text


def test_printed_numbers_become_arrays(adopt):
    text, outputs = adopt("# c\nimport numpy\nx = numpy.arange(3)\nprint(sum(v for v in x.tolist()))\n")
    assert "import numpy\nimport numpy as np\n" in text and list(outputs.values()) == [3]
    assert "return {" in text and "np.array(sum(v for v in x.tolist()))" in text


def test_the_name_outputs_is_the_authors(adopt):
    text, _ = adopt("# c\nimport numpy as np\noutputs = np.zeros(1)\nfor i in (1, 2):\n    print(outputs + i)\n")
    assert 'printed[f"outputs_i_{i}"] = outputs + i' in text
