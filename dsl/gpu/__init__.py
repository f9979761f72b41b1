"""GPU instructions: one short function an instruction, named as in the PTX ISA."""
