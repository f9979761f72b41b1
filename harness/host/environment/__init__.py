"""Where a repro runs on a host: its Python, and what it can import."""
