"""Tensors: an iterator and a layout, and what is asked of both."""
