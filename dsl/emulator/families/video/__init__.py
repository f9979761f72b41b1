"""Video instructions: parts of registers, and vectors of two or four in a register. PTX ISA 9.7.18."""
