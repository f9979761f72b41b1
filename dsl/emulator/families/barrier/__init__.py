"""Barriers of a block. PTX ISA 9.7.13.1."""
