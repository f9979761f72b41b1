"""wgmma. PTX ISA 9.7.15."""
