"""`quadrants.lang`: the few of upstream's inner names that programs use."""

from dsl.quadrants.lang import exception, impl, misc, util  # noqa: F401
