"""`repro exec`: any program on the emulator's libcuda.so.1, and what was found in its kernels."""
