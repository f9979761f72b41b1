"""Bulk copies, their reductions, and asynchronous stores. PTX ISA 9.7.9.25.4, 9.7.9.27."""
