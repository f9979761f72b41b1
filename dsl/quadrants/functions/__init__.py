"""Kernels and funcs: their parameters, their calls, their tasks."""
