"""A repro runs again whenever it, or a file that it needs, is saved."""
