"""Numbers, vectors and matrices, and functions of them."""
