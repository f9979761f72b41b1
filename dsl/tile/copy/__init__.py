"""Copy atoms, tiled copies, and copies of whole tensors."""
