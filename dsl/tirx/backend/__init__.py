"""tvm.backend: modules whose names may be imported, and are refused where they are used."""
