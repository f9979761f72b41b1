"""TensorSSA: elements of a tensor as one value in registers."""
