"""Refusals of calls that cannot become a captured file."""


class CannotBeCaptured(Exception):
    """A call has something that no file can have; the text names it and the fix."""
