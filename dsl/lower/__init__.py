"""MLIR text -> llvm dialect text -> LLVM IR text -> PTX text or a native host function: a file a stage."""
