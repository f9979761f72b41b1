"""`quadrants.lang.exception`: the error classes."""

from dsl.quadrants.errors import errors
from dsl.quadrants.errors.errors import *  # noqa: F403

__all__: list[str] = []
__all__ += errors.__all__
