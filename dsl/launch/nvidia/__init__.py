"""NVIDIA's compiler with this project's devices."""
