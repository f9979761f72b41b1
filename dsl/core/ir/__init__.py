"""The MLIR bindings and the ops that are made through them."""
