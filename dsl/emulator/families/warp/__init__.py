"""Lanes of a warp that meet. PTX ISA 9.7.9.6, 9.7.13.9 to 9.7.13.14."""
