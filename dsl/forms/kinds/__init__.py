"""The forms of each kind of instruction, in the order of the PTX ISA."""
