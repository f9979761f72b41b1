"""The author's `for` and `while`, and what they carry."""
