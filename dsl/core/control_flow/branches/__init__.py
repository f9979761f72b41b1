"""The author's `if`, and the values that two paths give."""
