"""Errors in the author's words: tracebacks, misspelt names, operators and arguments that do not fit."""
