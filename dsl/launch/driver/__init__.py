"""The CUDA driver and runtime APIs of the emulator, in a libcuda.so.1 that the real cuda.bindings load."""
