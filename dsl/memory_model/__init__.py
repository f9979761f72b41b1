"""The memory consistency model of the PTX ISA, as axioms over the events of a few threads."""
