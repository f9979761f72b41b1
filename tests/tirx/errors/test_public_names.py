"""The names of T by namespace, and the names that stand for CUDA C++ names.

Modules tested here: dsl/tirx/script/tirx.py.
"""

from __future__ import annotations

from dsl.tirx.errors.public_names import CUDA_NAMES, NAMESPACES
from dsl.tirx.script import tirx as T


def test_the_namespaces_hold_the_names_of_the_modules():
    assert NAMESPACES == {"T": vars(T), "T.cuda": vars(T.cuda), "T.ptx": vars(T.ptx)}


def test_the_replacement_of_a_cuda_name_exists():
    for spelling in CUDA_NAMES.values():
        if spelling.startswith("T."):
            name = spelling.partition("(")[0].removeprefix("T.")
            owner, _, function = name.rpartition(".")
            assert hasattr(getattr(T, owner) if owner else T, function), spelling
