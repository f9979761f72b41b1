"""Branches, calls and the end of a thread. PTX ISA 9.7.12, 9.7.19."""
