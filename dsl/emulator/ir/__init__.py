"""What writes the LLVM IR of a kernel, and what a row of the instruction table is."""
