"""Data types, and what is known of values while compiling."""
