"""The statements and expressions of a Quadrants program."""
