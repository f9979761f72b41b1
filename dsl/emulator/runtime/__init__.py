"""Native code that runs beside a kernel: scheduling, barriers, warp collectives, copies on their way, device memory."""
