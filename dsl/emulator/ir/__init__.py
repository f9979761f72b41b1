"""Builders of the LLVM IR of a kernel, and the rows of the instruction table."""
