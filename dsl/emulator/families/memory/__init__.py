"""Loads, stores, atomics, fences and address spaces. PTX ISA 9.7.9, 9.7.13."""
