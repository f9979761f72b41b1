"""The front end every surface shares: typed values, tracing into MLIR, control flow."""
