"""The levels of the real package's log. Nothing is logged here: the level is only kept, for is_logging_effective."""

from __future__ import annotations

from dsl.core.phrase import shown
from dsl.quadrants.errors.errors import WrongValue

TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = LEVELS = ("trace", "debug", "info", "warn", "error", "critical")
_level = [INFO]


def set_logging_level(level: str) -> None:
    """Log messages of this level and above. Raises WrongValue for an unknown level."""
    _level[:] = [_checked(level)]


def is_logging_effective(level: str) -> bool:
    """Whether messages of this level are logged."""
    return LEVELS.index(_checked(level)) >= LEVELS.index(_level[0])


def _checked(level: str) -> str:
    if level not in LEVELS:
        raise WrongValue(
            f"a logging level must be one of {', '.join(LEVELS)}, got {shown(level)}", 'for example "info"'
        )
    return level
