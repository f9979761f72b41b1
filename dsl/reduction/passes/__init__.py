"""Passes: the edits of a program that may make it smaller."""
