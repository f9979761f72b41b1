"""Products: mma atoms, tiled mmas, products of fragments, and those of a warpgroup."""
