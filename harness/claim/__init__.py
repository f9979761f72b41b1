"""A repro file as text: its claim, its table, its CHECK lines."""
