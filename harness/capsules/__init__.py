"""Capsules: recorded cases in one file, and their replay on a GPU."""
