"""Instruction forms: a kernel for each form of an instruction that the emulator runs, with operands and predictions."""
