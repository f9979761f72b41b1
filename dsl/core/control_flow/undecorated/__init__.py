"""Functions of the author without a decorator."""
