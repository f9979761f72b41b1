"""Functions of a captured file; test_driver_hooks.py runs them."""

import importlib.metadata

from harness.capture.launches import driver_text


def test_each_is_a_function_of_its_name():
    for name, text in {**driver_text.HELPERS, "_launch": driver_text.LAUNCH_EX}.items():
        names: dict = {"cuda": type("cuda", (), {"cuMemAlloc": None})}
        exec(text, names)
        assert callable(names[name]) and names[name].__doc__


def test_versions():
    assert driver_text.version("numpy") == importlib.metadata.version("numpy").partition("+")[0]
    assert driver_text.version("no-such-package") == ""
