"""Whose module it is."""

import json
import sys

import packaging.version

import harness.errors
from harness.capture.author.places import is_author


def test_modules_of_an_author(module):
    assert is_author(module("A = 1")) and is_author(sys.modules["__main__"])
    assert not any(map(is_author, (json, packaging.version, harness.errors, sys)))
