"""Traced text to a callable, and what a compile keeps."""
