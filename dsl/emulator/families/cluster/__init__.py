"""Addresses and barriers of a cluster. PTX ISA 9.7.9.23, 9.7.13.3."""
