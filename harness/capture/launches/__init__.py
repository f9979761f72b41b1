"""Launches by the CUDA driver: of programs that use cuda.bindings or cuda.core."""
