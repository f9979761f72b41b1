"""mbarriers. PTX ISA 9.7.13.15."""
