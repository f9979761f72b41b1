"""Which arrays hold values that the PTX ISA leaves open: by which instructions of a kernel, and within which bounds."""
