"""Textures and surfaces by the objects that programs create. PTX ISA 9.7.11, 9.7.12."""
