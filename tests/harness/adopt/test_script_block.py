"""The head of a script, and the block of the repro."""

import pytest

from harness.adopt import script_block


@pytest.mark.parametrize(
    "text, comment, rest",
    [
        ("# one\n# two\n\nimport a\n", "one\ntwo", ()),
        ("#!/bin/x\n# one\nimport a\n", "one", ()),
        ("# Copyright\n# text\n\n# one\nimport a\n", "one", ("", "# Copyright", "# text")),
        (
            "# -*- coding: utf-8 -*-\n\n# one\n\n# other\nimport a\n",
            "one",
            ("", "# -*- coding: utf-8 -*-", "", "# other"),
        ),
        ("import a\n# one\n", "", ()),
        ("", "", ()),
    ],
)
def test_the_first_comment(text, comment, rest):
    head = script_block.read(text)
    assert (head.comment, head.rest) == (comment, rest) and head.text.count("\n") == text.count("\n")


def test_a_block_below_a_comment():
    head = script_block.read('# one\n# /// script\n# dependencies = ["a"]\n#\n# ///\nimport a\n')
    assert head.comment == "one" and head.block == 'dependencies = ["a"]\n\n' and head.text == "\n\n\n\n\nimport a\n"


def test_a_block_with_parameters():
    assert script_block.write("", ["sys", "numpy", "cutlass"], {"width": [8, True, 0.5, "max"]}) == (
        '# /// script\n# requires-python = ">=3.11"\n# dependencies = ["numpy", "nvidia-cutlass-dsl"]\n'
        '# [tool.repro]\n# params = { width = [8, true, 0.5, "max"] }\n# ///'
    )
