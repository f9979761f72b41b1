"""A program loaded and launched: machine code, slots, workers, what was printed."""
