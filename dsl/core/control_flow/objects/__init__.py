"""The author's objects that run-time control flow reaches."""
