"""PTX text read and asked about: parsed modules, constants, known bits, loops that poll."""
