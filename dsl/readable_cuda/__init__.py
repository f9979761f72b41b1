"""Traced kernels as CUDA C++ for people to read."""
