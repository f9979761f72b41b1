"""TMA: boxes and columns of pixels between global and shared memory, and tensor maps."""
