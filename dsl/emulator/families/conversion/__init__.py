"""Moves, conversions and comparisons. PTX ISA 9.7.6, 9.7.9."""
