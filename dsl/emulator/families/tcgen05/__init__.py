"""tcgen05: the tensor memory of a block, and the products and copies of its tensor core. PTX ISA 9.7.16."""
