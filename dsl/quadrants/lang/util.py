"""`quadrants.lang.util`: which packages there are."""

import importlib.util


def has_pytorch() -> bool:
    """Whether torch can be imported."""
    return importlib.util.find_spec("torch") is not None
