"""A script becomes a repro: what it prints of tensors becomes what run() returns, and both are run and compared."""
