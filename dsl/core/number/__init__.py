"""Numeric types, their operators and conversions, pointers."""
