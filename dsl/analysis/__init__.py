"""Readers of traced MLIR text: its module as Python objects, thread values, divergence."""
