"""`quadrants.lang.exception`: the error classes."""

from dsl.quadrants.errors import (
    QuadrantsAssertionError,
    QuadrantsCompilationError,
    QuadrantsIndexError,  # noqa: F401
    QuadrantsNameError,
    QuadrantsRuntimeError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
