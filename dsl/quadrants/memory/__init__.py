"""Fields and arrays."""
