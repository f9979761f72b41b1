"""A call of a jit function: traced, compiled, kept, called again."""
