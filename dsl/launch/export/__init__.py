"""Compiled functions as object files: machine code, PTX, a C header, and what Python has to know to call them."""
