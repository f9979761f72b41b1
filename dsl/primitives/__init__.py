"""The low-level API of CuTe DSL: arrays, vectors, raw pointers, tensor maps, and one function an instruction."""
