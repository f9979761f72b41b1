"""Products: mma atoms, tiled mmas, products of fragments, and products of a warpgroup."""
