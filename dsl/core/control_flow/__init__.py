"""Control flow at trace time: branches, loops, values that merge after them and values that loops carry."""
