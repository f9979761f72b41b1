"""Integer and floating-point arithmetic, logic and shifts. PTX ISA 9.7.1 to 9.7.5, 9.7.8."""
