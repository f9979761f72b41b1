"""The CUDA driver and runtime APIs of the embedded device, in a libcuda.so.1 that the real cuda.bindings load."""
