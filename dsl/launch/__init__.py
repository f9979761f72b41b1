"""Calls of traced functions: arguments, compilation, and the device that runs the kernels."""
