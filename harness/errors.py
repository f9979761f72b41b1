"""What a command cannot do as it was asked: the text says why, and what to do."""

from __future__ import annotations


class UsageError(Exception):
    """What was asked for cannot be done; the text says why."""


class NoDevice(UsageError):
    """A host that was named has no device."""
