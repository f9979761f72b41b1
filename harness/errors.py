"""Errors of a command that cannot do what was asked: the text names the reason, and what to do."""

from __future__ import annotations


class UsageError(Exception):
    """The request cannot be carried out; the text names the reason."""


class NoDevice(UsageError):
    """A host that was named has no device."""
