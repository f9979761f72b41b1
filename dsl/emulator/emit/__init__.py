"""The meaning of every instruction as LLVM IR: one file a family, one short function an instruction."""
