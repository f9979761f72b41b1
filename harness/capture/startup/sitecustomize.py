"""Python runs this before a program that is started under `repro capture`: it puts capture's hooks in place.

A sitecustomize that the program's own environment has runs after it.
"""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _begin():
    folder = os.path.dirname(os.path.dirname(_here))
    if importlib.util.find_spec("harness") is None:
        spec = importlib.util.spec_from_file_location(
            "harness", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["harness"] = module
        spec.loader.exec_module(module)
    from harness.capture import program  # noqa: PLC0415

    program.begin(os.environ["GPU_REPRO_CAPTURE"])


def _next():
    """The sitecustomize that would have run without this one."""
    path = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "GPU_REPRO_CAPTURE" in os.environ:
    _begin()
_next()
