"""The environment of a repro on a host: its Python, and what it can import."""
