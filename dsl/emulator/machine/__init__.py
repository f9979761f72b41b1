"""The parts that run a kernel: the context, the scheduler, device memory, machine code."""
