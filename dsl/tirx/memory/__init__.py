"""Buffers, and the memory that a kernel allocates."""
