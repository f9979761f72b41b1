"""Tensor maps, and copies of boxes by them. PTX ISA 5.5, 9.7.9.28."""
