"""What no captured file can have."""


class CannotBeCaptured(Exception):
    """A call has something that no file can have; the text says what, and what helps."""
