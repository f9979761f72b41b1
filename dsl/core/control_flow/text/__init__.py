"""Texts of a program: f-strings, what it prints while it is compiled, names of results."""
