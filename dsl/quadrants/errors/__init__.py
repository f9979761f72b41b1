"""Errors in the words of Quadrants' authors, and names that are refused."""
