"""Checkers: each file finds one kind of mistake and its place."""
