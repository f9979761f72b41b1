"""What runs a kernel: the context, the scheduler, device memory, machine code."""
