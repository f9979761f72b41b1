"""Matrix products of a warp and of a warpgroup."""
