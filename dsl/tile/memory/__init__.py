"""Shared memory of a kernel, and structures in it."""
