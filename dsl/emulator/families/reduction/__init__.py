"""Reductions by bulk copies: cp.reduce.async.bulk and its kin."""
