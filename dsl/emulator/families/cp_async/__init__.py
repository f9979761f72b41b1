"""cp.async. PTX ISA 9.7.9.25.3."""
