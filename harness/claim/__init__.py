"""A repro file as text: its claim, its table, its CHECK lines."""

# The files that can be repros; languages.py reads them.
PYTHON, CUDA, PTX = ".py", ".cu", ".ptx"
SUFFIXES = (PYTHON, CUDA, PTX)
